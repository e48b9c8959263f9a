"""One HTTP connection pool to an embedding service: retries until a deadline, speaks our errors."""

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from cortex.clients.embedding.timing import stages_told
from cortex.shared.errors import InvalidInput, Unavailable
from cortex.shared.stages import tell_part

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
_RETRIED = frozenset({429, 502, 503, 504})
_CALLER = frozenset({400, 413, 422})
_CONNECTIONS = 16
_BROKEN = (aiohttp.ClientError, OSError, TimeoutError)
"""What a connection that breaks, or that answers nothing in time, is told by."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    content: bytes
    headers: Mapping[str, str]


class Wire:
    """Sends JSON, gets JSON; `jitter` draws the part of each pause that is waited, 0 to 1."""

    def __init__(
        self, base_url: str, api_key: str | None, jitter: Callable[[], float] = random.random
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._jitter = jitter
        self._opened: aiohttp.ClientSession | None = None

    def _session(self) -> aiohttp.ClientSession:
        """The pool; made at first use, since it belongs to the event loop that uses it."""
        if self._opened is None:
            connector = aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=30)
            self._opened = aiohttp.ClientSession(
                connector=connector, headers=self._headers, auto_decompress=True
            )
        return self._opened

    async def aclose(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()

    async def get(self, path: str, deadline_s: float) -> Any:
        """The JSON that a GET answers; None for an empty body."""
        return await self._ask("GET", path, None, deadline_s)

    async def post(self, path: str, asked: object, deadline_s: float) -> Any:
        """The JSON that a POST of JSON answers."""
        return await self._ask("POST", path, orjson.dumps(asked), deadline_s)

    async def _ask(self, method: str, path: str, body: bytes | None, deadline_s: float) -> Any:
        """Ask again after 429, 503 or a broken connection, until the deadline is spent.

        Raises `InvalidInput` with the service's reason for what the caller sent, `Unavailable`
        for all else.
        """
        deadline = time.monotonic() + deadline_s
        pause_s = _FIRST_PAUSE_S
        cause: Exception | None
        while True:
            left_s = deadline - time.monotonic()
            try:
                answer = await self._attempt(method, path, body, max(left_s, 0.001))
            except _BROKEN as err:
                trouble, cause = f"{type(err).__name__}: {err}".rstrip(": "), err
            else:
                if answer.status not in _RETRIED:
                    return self._read(path, answer)
                trouble, cause = f"status {answer.status}", None
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            wait_s = pause_s * self._jitter()
            if time.monotonic() + wait_s >= deadline:
                raise Unavailable(
                    f"{self.base_url}{path} gave no embeddings within {deadline_s:g} s ({trouble});"
                    " is the embedding service up?"
                ) from cause
            await asyncio.sleep(wait_s)

    async def _attempt(
        self, method: str, path: str, body: bytes | None, timeout_s: float
    ) -> _Answer:
        headers = {"content-type": "application/json"} if body is not None else None
        session = self._session()
        async with (
            asyncio.timeout(timeout_s),
            session.request(method, self.base_url + path, data=body, headers=headers) as answer,
        ):
            return _Answer(answer.status, await answer.read(), answer.headers)

    def _read(self, path: str, answer: _Answer) -> Any:
        status = answer.status
        if status in _CALLER:
            raise InvalidInput(f"the embedding service refused: {_reason(answer)}")
        if status in (401, 403):
            raise Unavailable(f"{self.base_url} refuses our key ({status}); check the API key")
        if status != 200:
            raise Unavailable(f"{self.base_url}{path} answered {status}: {_reason(answer)}")
        for name, seconds in stages_told(answer.headers).items():
            tell_part(name, seconds)
        if not answer.content:
            return None
        try:
            return orjson.loads(answer.content)
        except orjson.JSONDecodeError as err:
            raise Unavailable(f"{self.base_url}{path} answered what is not JSON") from err


def _reason(answer: _Answer) -> str:
    """The message of either error shape, or the start of a plain text body."""
    try:
        body = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        return answer.content[:200].decode("utf-8", "replace")
    if isinstance(body, dict):
        inner = body.get("error", body)
        told = inner.get("message") if isinstance(inner, dict) else inner
        return str(told)[:200]
    return answer.content[:200].decode("utf-8", "replace")
