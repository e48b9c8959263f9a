"""Asks an address once and reads what it says, within a time and a size: it may be anybody's."""

import time

import httpx

from harness.errors import StackFailed

MOST_BYTES = 2**20


def get(url: str, within_s: float) -> tuple[int, bytes]:
    """The status and the body; raises `StackFailed` where there is no end, or no answer."""
    started = time.monotonic()
    body = b""
    try:
        with httpx.stream("GET", url, timeout=within_s, trust_env=False) as answer:
            for part in answer.iter_bytes():
                body += part
                if len(body) > MOST_BYTES:
                    raise StackFailed(f"the answer of {url} is longer than {MOST_BYTES} bytes")
                if time.monotonic() - started > within_s:
                    raise StackFailed(f"the answer of {url} has no end within {within_s:.0f} s")
            return answer.status_code, body
    except (httpx.HTTPError, httpx.InvalidURL) as err:
        raise StackFailed(f"{url} does not answer: {type(err).__name__}: {err}") from err
