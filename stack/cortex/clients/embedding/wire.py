"""One HTTP connection pool to an embedding service: retries until a deadline, speaks our errors."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import httpx
import orjson

from cortex.shared.errors import InvalidInput, Unavailable

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
_RETRIED = frozenset({429, 502, 503, 504})
_CALLER = frozenset({400, 413, 422})
_CONNECTIONS = 16


class Wire:
    """Sends JSON, gets JSON; `jitter` draws the part of each pause that is waited, 0 to 1."""

    def __init__(
        self, base_url: str, api_key: str | None, jitter: Callable[[], float] = random.random
    ) -> None:
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self.base_url = base_url.rstrip("/")
        self._jitter = jitter
        self._client = httpx.AsyncClient(
            headers=headers,
            limits=httpx.Limits(max_connections=_CONNECTIONS, keepalive_expiry=30),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

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
            except httpx.TransportError as err:
                trouble, cause = f"{type(err).__name__}: {err}".rstrip(": "), err
            else:
                if answer.status_code not in _RETRIED:
                    return self._read(path, answer)
                trouble, cause = f"status {answer.status_code}", None
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
    ) -> httpx.Response:
        headers = {"content-type": "application/json"} if body is not None else None
        try:
            async with asyncio.timeout(timeout_s):
                return await self._client.request(
                    method, self.base_url + path, content=body, headers=headers, timeout=timeout_s
                )
        except TimeoutError as err:
            raise httpx.ReadTimeout(f"no answer in {timeout_s:.1f} s") from err

    def _read(self, path: str, answer: httpx.Response) -> Any:
        status = answer.status_code
        if status in _CALLER:
            raise InvalidInput(f"the embedding service refused: {_reason(answer)}")
        if status in (401, 403):
            raise Unavailable(f"{self.base_url} refuses our key ({status}); check the API key")
        if status != 200:
            raise Unavailable(f"{self.base_url}{path} answered {status}: {_reason(answer)}")
        if not answer.content:
            return None
        try:
            return orjson.loads(answer.content)
        except orjson.JSONDecodeError as err:
            raise Unavailable(f"{self.base_url}{path} answered what is not JSON") from err


def _reason(answer: httpx.Response) -> str:
    """The message of either error shape, or the start of a plain text body."""
    try:
        body = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        return answer.text[:200]
    if isinstance(body, dict):
        inner = body.get("error", body)
        told = inner.get("message") if isinstance(inner, dict) else inner
        return str(told)[:200]
    return answer.text[:200]
