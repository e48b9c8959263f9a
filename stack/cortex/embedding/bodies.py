"""Reads request bodies as far as the service takes them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from cortex.shared.errors import StackError

_DRAIN_FACTOR = 16


class PayloadTooLarge(StackError):
    """The body is longer than the service reads."""

    status = 413


def is_json(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether the request says that its body is JSON."""
    sent = next((value for name, value in headers if name == b"content-type"), b"")
    media = sent.split(b";", 1)[0].strip().lower()
    return media == b"application/json" or (
        media.startswith(b"application/") and media.endswith(b"+json")
    )


async def read_body(receive: Callable[[], Awaitable[Mapping[str, Any]]], limit: int) -> bytes:
    """The whole body; raises `PayloadTooLarge` for more than `limit` bytes.

    What is over the limit is read and dropped, within reason: a client that is still sending
    would otherwise see a broken connection instead of the answer.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size <= limit:
            parts.append(part)
        if not message.get("more_body", False) or size > limit * _DRAIN_FACTOR:
            break
    if size > limit:
        raise PayloadTooLarge(f"the body has more than {limit} bytes")
    return parts[0] if len(parts) == 1 else b"".join(parts)
