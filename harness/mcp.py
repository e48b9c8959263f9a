"""A small MCP client over plain HTTP: calls one tool, gives its content and stage times."""

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Any

import httpx

from harness.measures.stages import RESTS, Stretch

PROTOCOL = "2026-07-28"
TIMEOUT_S = 120.0
MOST_BYTES = 64 * 2**20
MOST_STRETCHES = 100
LONGEST_STAGE_NAME = 64
LONGEST_STAGE_MS = 3_600_000.0
"""What a server tells of a call is not trusted: this much of it is read."""
_META = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class ToolRefused(Exception):
    """The tool answered with an error; the message is the tool's own."""


class BadAnswer(Exception):
    """The server answered with something that is not a tool result."""


class ProtocolRefused(BadAnswer):
    """The server answered with an error of the protocol, or with a status that says so."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's structured content, its stage times in ms, and how long the call took."""

    content: dict[str, Any]
    stages_ms: dict[str, float]
    took_s: float


def request(
    tool: str, arguments: dict[str, Any], token: str | None
) -> tuple[dict[str, str], bytes]:
    """The headers and body of a tool call, for any HTTP client."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": PROTOCOL,
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    if token:
        headers["authorization"] = f"Bearer {token}"
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": _META},
    }
    return headers, json.dumps(body, ensure_ascii=False).encode()


def content_of(status: int, body: bytes) -> dict[str, Any]:
    """The structured content of an answer; an error answer is raised in the server's words."""
    try:
        answer = json.loads(body)
    except ValueError as err:
        if status >= 400:
            raise ProtocolRefused(f"HTTP {status}: {body[:200]!r}") from err
        raise BadAnswer(f"HTTP {status}, and not JSON: {body[:200]!r}") from err
    if not isinstance(answer, dict):
        raise BadAnswer(f"HTTP {status}, and not a JSON-RPC answer: {body[:200]!r}")
    if "error" in answer:
        raise ProtocolRefused(f"HTTP {status}, protocol error: {json.dumps(answer['error'])[:400]}")
    result = answer.get("result", {})
    if not isinstance(result, dict):
        raise BadAnswer(f"HTTP {status}: the result is no object: {body[:200]!r}")
    if status >= 400:
        # A result below a status that says it failed: whoever reads the status alone saw an error.
        raise ProtocolRefused(f"HTTP {status}, though with a result")
    if not 200 <= status < 300:
        raise BadAnswer(f"HTTP {status}, though with a result")
    if result.get("isError"):
        texts = [part.get("text", "") for part in result.get("content", [])]
        raise ToolRefused(" ".join(texts) or "the tool gave no reason")
    content = result.get("structuredContent")
    if not isinstance(content, dict):
        raise BadAnswer(f"HTTP {status}: the result has no structuredContent")
    return content


def stages_of(header: str) -> dict[str, float]:
    """The stages of a `Server-Timing` header in ms; what has no number as duration is left out."""
    stages: dict[str, float] = {}
    for stretch in stretches_of(header):
        stages[stretch.name] = stages.get(stretch.name, 0.0) + stretch.took_ms
    return stages


def stretches_of(header: str) -> list[Stretch]:
    """Every entry of a `Server-Timing` header; a stage may have several, each with its start.

    What no call takes, names that are ours, and what is beyond the first so many is left out.
    """
    found = []
    for part in header.split(",", MOST_STRETCHES)[:MOST_STRETCHES]:
        name, *parameters = (word.strip() for word in part.split(";"))
        numbers: dict[str, float] = {}
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            with contextlib.suppress(ValueError):
                numbers[key.strip()] = float(value.strip().strip('"'))
        took_ms = numbers.get("dur", -1.0)
        if name and name not in RESTS and 0 <= took_ms <= LONGEST_STAGE_MS:
            start_ms = numbers.get("start")
            told = start_ms is not None and 0 <= start_ms <= LONGEST_STAGE_MS
            name = name[:LONGEST_STAGE_NAME]
            found.append(Stretch(name, took_ms, start_ms if told else None))
    return found


class Client:
    """Calls tools of one server; safe to share between threads."""

    def __init__(
        self, mcp_url: str, token: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.url = mcp_url
        self._token = token
        self._timeout_s = timeout_s
        limits = httpx.Limits(max_connections=16, max_keepalive_connections=16)
        self._http = httpx.Client(timeout=timeout_s, limits=limits, trust_env=False)

    def call(self, tool: str, **arguments: object) -> Answer:
        """Call a tool; raises `ToolRefused`, `BadAnswer` or `httpx.TransportError`."""
        headers, body = request(tool, arguments, self._token)
        started = time.perf_counter()
        with self._http.stream("POST", self.url, headers=headers, content=body) as answer:
            told = self._whole(answer, started)
        took_s = time.perf_counter() - started
        content = content_of(answer.status_code, told)
        return Answer(content, stages_of(answer.headers.get("server-timing", "")), took_s)

    def _whole(self, answer: httpx.Response, started: float) -> bytes:
        """An answer's body; one that never ends would be read for ever, a piece at a time."""
        parts, size = [], 0
        for part in answer.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise BadAnswer(f"the answer is longer than {MOST_BYTES} bytes")
            if time.perf_counter() - started > self._timeout_s:
                raise httpx.ReadTimeout(f"the answer has no end within {self._timeout_s:g} s")
        return b"".join(parts)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
