"""Serves an adapter: `python -m harness.adapters.serving SPEC serve|migrate`.

It answers the tools the relevance and load suites call, as a memory server does: `CreateProject`,
`AddItems`, `AddItem`, `FindItems`. What the adapter itself took stands in `Server-Timing` as
`adapter`, so that what this server adds is seen as unattributed.
"""

import itertools
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.adapters import Adapter, Item, Place, Wanted, made

Arguments = dict[str, Any]
Content = dict[str, Any]
log = logging.getLogger(__name__)


class Tools:
    """The tools by name, each answered through the adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._numbers = itertools.count(1)
        self.by_name: dict[str, Callable[[Arguments], Content]] = {
            "CreateProject": self._create_project,
            "AddItems": self._add_items,
            "AddItem": self._add_item,
            "FindItems": self._find_items,
        }

    def _create_project(self, given: Arguments) -> Content:
        slug = str(given["slug"])
        return {"project": {"id": slug, "name": given["name"], "slug": slug}}

    def _add_items(self, given: Arguments) -> Content:
        ids = self._adapter.add(given["project"], [_item(one) for one in given["items"]])
        if len(ids) != len(given["items"]):
            raise ValueError(f"add gave {len(ids)} ids for {len(given['items'])} items")
        return {"items": [{"id": id_} for id_ in ids]}

    def _add_item(self, given: Arguments) -> Content:
        (id_,) = self._adapter.add(given["project"], [_item(given)])
        return {"item": {"id": id_}}

    def _find_items(self, given: Arguments) -> Content:
        limit = int(given.get("limit", 10))
        wanted = Wanted(
            texts=tuple(given["queries"]),
            project=given.get("project"),
            limit=limit,
            categories=tuple(given.get("category", ())),
            tags=tuple(given.get("tags", ())),
            statuses=tuple(given.get("status", ())),
        )
        most = int(given.get("maxContentChars", 2_000))
        hits = [
            {"item": {"id": hit.id, "content": hit.content[:most]}, "score": hit.score}
            for hit in self._adapter.find(wanted)[:limit]
        ]
        return {"hits": hits, "degraded": None, "nothingRelevant": False}


def _item(given: Arguments) -> Item:
    return Item(
        title=given["title"],
        content=given["content"],
        category=given.get("category", ""),
        tags=tuple(given.get("tags", ())),
        status=given.get("status", ""),
        extras=tuple(one["text"] for one in given.get("additionalEmbeddings", ())),
    )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    tools: Tools

    def do_GET(self) -> None:
        """Any address says that the server is well."""
        self._answer({"status": "ok"}, "")

    def do_POST(self) -> None:
        """One tool call; what goes wrong in the adapter is the tool's error, and is logged."""
        started = time.perf_counter()
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        took = 0.0
        try:
            tool = self.tools.by_name[asked["params"]["name"]]
            began = time.perf_counter()
            content = tool(asked["params"]["arguments"])
            took = time.perf_counter() - began
            text = [{"type": "text", "text": json.dumps(content, ensure_ascii=False)}]
            result: Content = {"structuredContent": content, "content": text}
        except Exception as err:
            log.exception("tool call failed")
            text = [{"type": "text", "text": f"{type(err).__name__}: {err}"}]
            result = {"isError": True, "content": text}
        total = time.perf_counter() - started
        timing = f"adapter;dur={took * 1000:.3f}, total;dur={total * 1000:.3f}"
        self._answer({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}, timing)

    def _answer(self, body: object, timing: str) -> None:
        raw = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        if timing:
            self.send_header("server-timing", timing)
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing of each call."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def main() -> None:
    """Prepare, or serve until killed."""
    spec, word = sys.argv[1:3]
    settings = os.environ  # noqa: TID251 - this is a server's own start: what it is to serve
    place = Place(
        database_url=settings.get("CORTEX_MEMORY_DATABASE_URL", ""),
        embedding_url=settings.get("CORTEX_MEMORY_EMBEDDING_URL", ""),
    )
    adapter = made(spec, place)
    if word == "migrate":
        adapter.prepare()
        return
    _Handler.tools = Tools(adapter)
    port = int(settings["CORTEX_MEMORY_PORT"])
    _Server(("127.0.0.1", port), _Handler).serve_forever()


if __name__ == "__main__":
    main()
