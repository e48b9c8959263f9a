"""The HTTP edge: reads a request, asks the service, answers; a bare ASGI application.

Bare, because the interface's rules on statuses and bodies are exact, and a framework's own answers
would each have to be undone.
"""

import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cortex.embedding import answers
from cortex.embedding.actions import EmbeddingService
from cortex.embedding.answers import Headers
from cortex.embedding.bodies import PayloadTooLarge, is_json, read_body
from cortex.embedding.core import parsing
from cortex.embedding.core.parsing import Fields, Unreadable
from cortex.embedding.openapi import openapi_document
from cortex.embedding.records import Refused, Timings
from cortex.embedding.request_log import RequestLog

log = logging.getLogger(__name__)

JSON, PLAIN = b"application/json", b"text/plain; charset=utf-8"
_CORS: Headers = [
    (b"vary", b"origin, access-control-request-method, access-control-request-headers"),
    (b"access-control-allow-origin", b"*"),
]
_PREFLIGHT: Headers = [
    (b"access-control-allow-methods", b"GET,POST"),
    (b"access-control-allow-headers", b"content-type,authorization"),
]

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: a body, its type, and what the request took where that is told."""

    status: int = 200
    body: bytes = b""
    content_type: bytes | None = None
    timings: Timings | None = None
    headers: Headers = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Route:
    """Who answers a method of a path; `is_open` needs no key, `openai` words errors its way."""

    answer: Callable[[Any], Awaitable[Reply]]
    is_open: bool = False
    openai: bool = False


class EmbeddingApp:
    """The ASGI application of one embedding service."""

    def __init__(
        self, service: EmbeddingService, *, api_key: str | None, payload_limit_bytes: int
    ) -> None:
        self._service = service
        self._expected = f"Bearer {api_key}".encode() if api_key else None
        self._limit = payload_limit_bytes
        self._log = RequestLog()
        self._info = Reply(200, answers.info(service.identity, service.limits), JSON)
        self._openapi = Reply(200, answers.as_json(openapi_document(service.identity)), JSON)
        self._routes = self._table()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event, as ASGI has it."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            self._log.write()
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    def _table(self) -> dict[str, dict[str, Route]]:
        health = Route(self._health, is_open=True)
        embed, openai = Route(self._embed), Route(self._openai, openai=True)
        return {
            "/": {"GET": health, "POST": embed},
            "/embed": {"POST": embed},
            "/invocations": {"POST": embed},
            "/embed_all": {"POST": Route(self._embed_all)},
            "/embed_sparse": {"POST": Route(self._embed_sparse)},
            "/similarity": {"POST": Route(self._similarity)},
            "/rerank": {"POST": Route(self._rerank)},
            "/predict": {"POST": Route(self._predict)},
            "/tokenize": {"POST": Route(self._tokenize)},
            "/decode": {"POST": Route(self._decode)},
            "/vertex": {"POST": Route(self._vertex)},
            "/v1/embeddings": {"POST": openai},
            "/embeddings": {"POST": openai},
            "/info": {"GET": Route(self._tell)},
            "/health": {"GET": health},
            "/ping": {"GET": health},
            "/metrics": {"GET": Route(self._metrics, is_open=True)},
            "/docs": {"GET": Route(self._docs, is_open=True)},
            "/api-doc/openapi.json": {"GET": Route(self._describe, is_open=True)},
        }

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        methods = self._routes.get(path)
        if method == "OPTIONS":
            reply = Reply(headers=_PREFLIGHT)
        elif methods is None:
            reply = Reply(404)
        elif (route := methods.get("GET" if method == "HEAD" else method)) is None:
            reply = Reply(405, headers=[(b"allow", ",".join(methods).encode())])
        elif not self._may(route, scope):
            reply = Reply(401)
        else:
            reply = await self._answer(route, scope, receive)
        await _send(reply, send, with_body=method != "HEAD")

    def _may(self, route: Route, scope: Scope) -> bool:
        if self._expected is None or route.is_open:
            return True
        sent = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(sent, self._expected)

    async def _answer(self, route: Route, scope: Scope, receive: Receive) -> Reply:
        try:
            if scope["method"] != "POST":
                return await route.answer(None)
            if not is_json(scope["headers"]):
                message = b"Expected request with `Content-Type: application/json`"
                return Reply(415, message, PLAIN)
            fields = parsing.read_object(await read_body(receive, self._limit))
            reply = await route.answer(fields)
        except PayloadTooLarge:
            reply = Reply(413, b"Failed to buffer the request body: length limit exceeded", PLAIN)
        except Unreadable as unreadable:
            reply = Reply(unreadable.status, str(unreadable).encode(errors="replace"), PLAIN)
        except Refused as refused:
            kind = refused.error_kind
            reply = Reply(kind.status, answers.error_answer(kind, str(refused), route.openai), JSON)
        except Exception:
            log.exception("request failed", extra={"path": scope["path"]})
            return Reply(500)
        self._log.note(scope["path"], reply.status, reply.timings)
        return reply

    async def _health(self, _: None) -> Reply:
        return Reply()

    async def _tell(self, _: None) -> Reply:
        return self._info

    async def _describe(self, _: None) -> Reply:
        return self._openapi

    async def _docs(self, _: None) -> Reply:
        return Reply(303, headers=[(b"location", b"/api-doc/openapi.json")])

    async def _metrics(self, _: None) -> Reply:
        return Reply(200, self._service.metrics.text().encode(), PLAIN)

    async def _embed(self, fields: Fields) -> Reply:
        found = await self._service.embed(parsing.read_embed(fields))
        return Reply(200, answers.as_json(found.vectors), JSON, found.timings)

    async def _embed_all(self, fields: Fields) -> Reply:
        found = await self._service.embed_all(parsing.read_embed(fields))
        body = await self._service.beside_loop(answers.all_states, found.vectors)
        return Reply(200, body, JSON, found.timings)

    async def _openai(self, fields: Fields) -> Reply:
        asked = parsing.read_openai(fields)
        found = await self._service.embed(parsing.EmbedRequest(asked.texts, asked.wish))
        name = self._service.identity.served_name
        body = answers.openai_answer(found, name, asked.base64)
        return Reply(200, body, JSON, found.timings)

    async def _similarity(self, fields: Fields) -> Reply:
        found = await self._service.similarity(parsing.read_similarity(fields))
        return Reply(200, answers.similarity_answer(found), JSON, found.timings)

    async def _rerank(self, fields: Fields) -> Reply:
        asked = parsing.read_rerank(fields)
        found = await self._service.rerank(asked)
        return Reply(200, answers.as_json(answers.ranks(asked, found)), JSON, found.timings)

    async def _vertex(self, fields: Fields) -> Reply:
        predictions: list[object] = []
        for asked in parsing.read_vertex(fields):
            if isinstance(asked, parsing.RerankRequest):
                predictions.append(answers.ranks(asked, await self._service.rerank(asked)))
            else:
                predictions.append((await self._service.embed(asked)).vectors)
        return Reply(200, answers.as_json({"predictions": predictions}), JSON)

    async def _tokenize(self, fields: Fields) -> Reply:
        found = await self._service.list_tokens(parsing.read_tokenize(fields))
        body = await self._service.beside_loop(answers.token_lists, found)
        return Reply(200, body, JSON)

    async def _decode(self, fields: Fields) -> Reply:
        texts = await self._service.decode(parsing.read_decode(fields))
        return Reply(200, answers.as_json(texts), JSON)

    async def _predict(self, fields: Fields) -> Reply:
        parsing.read_predict(fields)
        raise self._service.not_a_classifier()

    async def _embed_sparse(self, fields: Fields) -> Reply:
        parsing.read_embed(fields)
        raise self._service.not_sparse()


async def _send(reply: Reply, send: Send, *, with_body: bool) -> None:
    headers = [*_CORS, *reply.headers, (b"content-length", b"%d" % len(reply.body))]
    if reply.content_type:
        headers.append((b"content-type", reply.content_type))
    if reply.timings is not None:
        headers += answers.compute_headers(reply.timings)
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body if with_body else b""})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
