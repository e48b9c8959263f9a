"""The HTTP edge: who may speak to /mcp and how, health and metrics."""

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cortex.memory.actions import EVERYBODY, Caller
from cortex.memory.mcp.direct import answer, plain_call
from cortex.memory.mcp.server import current_caller
from cortex.memory.mcp.tools import TOOLS, Actions
from cortex.shared.stages import Stages, request_stages, stage_histogram

MOST_BODY_BYTES = 4 * 1024 * 1024
BODY_WITHIN_S = 60.0
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A bearer token and the caller it makes."""

    secret: str
    caller: Caller


@dataclass(slots=True)
class Allowance:
    """A token bucket: so many calls a minute, saved up to one minute's worth."""

    per_minute: int
    left: float
    at: float

    def take(self, now: float) -> bool:
        """Whether one more call may be made at `now` (seconds)."""
        self.left = min(self.per_minute, self.left + (now - self.at) * self.per_minute / 60)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(slots=True, kw_only=True)
class Gate:
    """Who may call: hosts, origins, tokens, and how often."""

    hosts: Sequence[str]
    origins: Sequence[str]
    tokens: Sequence[Token]
    calls_per_minute: int
    allowances: dict[str, Allowance] = field(default_factory=dict)

    def refusal(self, headers: Mapping[str, str]) -> Response | None:
        """Why a request is not let in by its host or origin, if so (DNS rebinding)."""
        if not _is_allowed_host(headers.get("host", ""), self.hosts):
            return _refused(421, "this server does not answer to that Host; see allowed hosts")
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed_origin(origin):
            return _refused(403, "this server does not answer to that Origin; see allowed origins")
        return None

    def _is_allowed_origin(self, origin: str) -> bool:
        if origin in self.origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:  # as `http://[`
            return False
        plain = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
        return (
            plain and parts.scheme in ("http", "https") and _is_allowed_host(parts.netloc, LOOPBACK)
        )

    def caller(self, authorization: str | None) -> Caller | None:
        """The caller a header makes; None where its token is not known."""
        if not self.tokens:
            return EVERYBODY
        scheme, _, secret = (authorization or "").partition(" ")
        found = None
        sent = secret.strip(" \t").encode("latin-1")  # header text is bytes, one a character
        for token in self.tokens:  # each is compared, so that time tells nothing
            if hmac.compare_digest(token.secret.encode(), sent):
                found = token.caller
        return found if scheme.lower() == "bearer" else None

    def may_call(self, caller: Caller, now: float) -> bool:
        """Whether the caller's allowance has a call left."""
        if not self.calls_per_minute:
            return True
        fresh = Allowance(self.calls_per_minute, self.calls_per_minute, now)
        return self.allowances.setdefault(caller.name, fresh).take(now)


def _is_allowed_host(host: str, names: Sequence[str]) -> bool:
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, ""
    return name.lower() in names and (not port or (port.isascii() and port.isdigit()))


def _refused(status: int, message: str, **headers: str) -> Response:
    return JSONResponse({"error": message}, status, headers=headers)


def _protocol_error(code: int, message: str) -> Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return JSONResponse(body, 400)


class Metrics:
    """What `/metrics` tells."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.stages = stage_histogram("memory", self.registry)
        self.calls = Counter(
            "cortex_memory_calls", "MCP calls by tool.", ["tool"], registry=self.registry
        )
        self.seconds = Histogram(
            "cortex_memory_request_seconds", "Time of a whole request.", registry=self.registry
        )

    def record(self, stages: Stages, tool: str, seconds: float) -> None:
        """Count one request."""
        self.calls.labels(tool).inc()
        self.seconds.observe(seconds)
        for name, spent in stages.seconds.items():
            self.stages.labels(name).observe(spent)


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A request that was let in: its body, read and as it came, and who sent it."""

    body: bytes
    message: Mapping[str, Any]
    caller: Caller


class McpEndpoint:
    """`/mcp`: checks a request as the protocol asks, then answers it, or has the MCP app do so."""

    def __init__(self, app: ASGIApp, actions: Actions, gate: Gate, metrics: Metrics) -> None:
        self._app = app
        self._actions = actions
        self._gate = gate
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        started = time.perf_counter()
        with request_stages() as stages:
            admitted = await self._admitted(Request(scope, receive))
            if isinstance(admitted, Response):
                await admitted(scope, receive, send)
                return
            tool = _tool_of(admitted.message)
            try:
                plain = plain_call(scope["headers"], admitted.message)
                if plain is None:
                    await self._by_library(admitted, scope, receive, _timed(send, stages))
                else:
                    body = await answer(self._actions, admitted.caller, plain)
                    await _send_json(body, _timed(send, stages))
            finally:
                known = tool if tool in TOOLS else "other"
                self._metrics.record(stages, known, time.perf_counter() - started)

    async def _by_library(
        self, admitted: _Admitted, scope: Scope, receive: Receive, send: Send
    ) -> None:
        current = current_caller.set(admitted.caller)
        try:
            await self._app(_accepting(scope), _replay(admitted.body, receive), send)
        finally:
            current_caller.reset(current)

    async def _admitted(self, request: Request) -> "_Admitted | Response":
        if refused := self._gate.refusal(request.headers):
            return refused
        if request.method != "POST":
            return _refused(405, "use POST; this server keeps no streams", allow="POST")
        caller = self._gate.caller(request.headers.get("authorization"))
        if caller is None:
            hint = {"www-authenticate": 'Bearer realm="cortex-memory"'}
            return JSONResponse({"error": "a known bearer token is needed"}, 401, hint)
        if not self._gate.may_call(caller, time.monotonic()):
            pause = str(max(1, round(60 / self._gate.calls_per_minute)))
            return _refused(429, "too many calls; wait, then retry", **{"retry-after": pause})
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return _refused(415, "send Content-Type: application/json")
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                body = await _read_body(request)
        except (TimeoutError, ClientDisconnect):
            return _refused(408, f"the body did not come within {BODY_WITHIN_S:.0f} s")
        if body is None:
            return _refused(413, f"the body is over {MOST_BODY_BYTES} bytes")
        message = _message(body)
        if isinstance(message, Response):
            return message
        return _Admitted(body, message, caller)


async def _read_body(request: Request) -> bytes | None:
    """The body; None where it is too large, told by its length before it is read if it says so."""
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated) > MOST_BODY_BYTES:
        return None
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MOST_BODY_BYTES:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _message(body: bytes) -> dict[str, Any] | Response:
    """The JSON-RPC message, or the refusal of what the MCP library would drop or name wrongly."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _protocol_error(-32700, "the body is not valid JSON (UTF-8)")
    if not isinstance(message, dict):
        return _protocol_error(
            -32600, "send one JSON-RPC message, an object; batches are not served"
        )
    if message.get("jsonrpc") != "2.0":
        return _protocol_error(-32600, 'jsonrpc must be "2.0"')
    given = message.get("id", "")
    if isinstance(given, bool) or not isinstance(given, str | int):
        return _protocol_error(-32600, "id must be a string or an integer")
    return message


def _tool_of(message: Mapping[str, Any]) -> str:
    """The tool a message calls; empty for other methods."""
    params = message.get("params")
    if message.get("method") != "tools/call" or not isinstance(params, dict):
        return ""
    return str(params.get("name"))


async def _send_json(body: bytes, send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _accepting(scope: Scope) -> Scope:
    """A request that names no `Accept` accepts anything (RFC 9110, 12.5.1)."""
    if any(name == b"accept" for name, _ in scope["headers"]):
        return scope
    return dict(scope) | {"headers": [*scope["headers"], (b"accept", b"application/json")]}


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _timed(send: Send, stages: Stages) -> Send:
    async def timed(message: Message) -> None:
        if message["type"] == "http.response.start":
            header = (b"server-timing", stages.header().encode())
            message = dict(message) | {"headers": [*message.get("headers", []), header]}
        await send(message)

    return timed


Check = Callable[[], Awaitable[dict[str, Any]]]


def health_endpoint(check: Check) -> Callable[[Request], Awaitable[Response]]:
    """`/health`: each dependency named; 503 while the server cannot answer."""

    async def health(_request: Request) -> Response:
        body = await check()
        return JSONResponse(body, 503 if body["status"] == "unavailable" else 200)

    return health


async def alive(_request: Request) -> Response:
    """`/health/live`: the process runs."""
    return JSONResponse({"status": "ok"})


def metrics_endpoint(metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    """`/metrics`, as Prometheus reads it."""

    async def show(_request: Request) -> Response:
        return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")

    return show
