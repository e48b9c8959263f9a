"""The leanest callers: one kept connection, so that the client's own cost stays small."""

import http.client
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import orjson

from harness.mcp import content_of, request

IDLE_S = 2.0
"""Servers close a connection that idles; one that did so long is made anew before it is used."""


class _Kept:
    """A connection that is kept while it is used."""

    def __init__(self, base_url: str) -> None:
        place = urlsplit(base_url)
        self._connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=300)
        self._used = time.monotonic()

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> http.client.HTTPResponse:
        if time.monotonic() - self._used > IDLE_S:
            self._connection.close()
        self._connection.request("POST", path, body, headers)
        self._used = time.monotonic()
        return self._connection.getresponse()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Asker:
    """Calls tools of one memory server; one connection for each thread."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._own = threading.local()

    def _kept(self) -> _Kept:
        if not hasattr(self._own, "kept"):
            self._own.kept = _Kept(self._base_url)
        kept: _Kept = self._own.kept
        return kept

    def timed(self, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], float, str]:
        """The answer, seconds until all of it was read, and its `Server-Timing`."""
        return self.sent(*request(tool, arguments, None))

    def sent(self, headers: dict[str, str], body: bytes) -> tuple[dict[str, Any], float, str]:
        """As `timed`, of a call that was made before."""
        kept = self._kept()
        started = time.perf_counter()
        answer = kept.post("/mcp", body, headers)
        content = answer.read()
        took = time.perf_counter() - started
        timing = answer.headers.get("server-timing", "")
        return content_of(answer.status, content), took, timing

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer alone."""
        return self.timed(tool, arguments)[0]

    def close(self) -> None:
        """Close this thread's connection."""
        self._kept().close()


class Embedding:
    """Calls the embedding service."""

    def __init__(self, base_url: str) -> None:
        self._kept = _Kept(base_url)

    def embed(self, texts: list[str]) -> tuple[list[list[float]], float]:
        """Vectors, and seconds until they were read and parsed."""
        body = orjson.dumps({"inputs": texts})
        started = time.perf_counter()
        answer = self._kept.post("/embed", body, {"content-type": "application/json"})
        content = answer.read()
        assert answer.status == 200, content
        vectors: list[list[float]] = orjson.loads(content)
        return vectors, time.perf_counter() - started

    def close(self) -> None:
        """Close the connection."""
        self._kept.close()
