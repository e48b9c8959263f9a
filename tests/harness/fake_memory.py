"""A small real memory server for tests: the tools the harness calls, over HTTP, a plain ranking.

Settings are the product's names; `CORTEX_FAKE_FAULT` breaks it on purpose:

vector-off     the hybrid ranking forgets its vector arm
half-errors    every second search is a tool error
all-errors     every search is one
degraded       every search says it is degraded
unknown-item   every search has a hit that was never added
shaky          the order of hits differs between two servers
no-hits        nothing is ever found
slow           every search takes 0.2 s more
slow-vector    the vector arm takes 15 ms more
gappy-index    the vector index brings every second item only
"""

import http.client
import json
import math
import os
import sqlite3
import threading
import time
import uuid
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

FAULT = os.environ.get("CORTEX_FAKE_FAULT", "")
VECTOR_SEARCH = os.environ.get("CORTEX_MEMORY_VECTOR_SEARCH", "auto")
NOTHING_BELOW = 0.2


class Refused(Exception):
    """A tool error."""


class Store:
    """Items in a SQLite file, so that several servers answer over the same ones."""

    def __init__(self) -> None:
        path = os.environ["CORTEX_MEMORY_DATABASE_URL"].removeprefix("sqlite:")
        self._database = sqlite3.connect(path, timeout=30, check_same_thread=False)
        self._database.executescript(
            "CREATE TABLE IF NOT EXISTS projects (slug TEXT PRIMARY KEY, id TEXT);"
            "CREATE TABLE IF NOT EXISTS items (n INTEGER PRIMARY KEY, slug TEXT, item TEXT);"
        )
        self.lock = threading.Lock()
        self._items: list[dict[str, Any]] = []

    def add_project(self, slug: str) -> dict[str, str]:
        made = {"id": str(uuid.uuid4()), "name": slug, "slug": slug}
        with self._database:
            self._database.execute("INSERT INTO projects VALUES (?, ?)", (slug, made["id"]))
        return made

    def add(self, slug: str, items: list[dict[str, Any]]) -> None:
        rows = [(slug, json.dumps(item)) for item in items]
        with self._database:
            self._database.executemany("INSERT INTO items (slug, item) VALUES (?, ?)", rows)

    def items(self) -> list[dict[str, Any]]:
        rows = self._database.execute(
            "SELECT slug, item FROM items ORDER BY n LIMIT -1 OFFSET ?", (len(self._items),)
        )
        self._items += [{"slug": slug, **json.loads(item)} for slug, item in rows]
        return self._items


class Memory:
    def __init__(self) -> None:
        self.store = Store()
        self.fusion = os.environ.get("CORTEX_MEMORY_FUSION", "convex")
        self.searches = 0
        self._embedding = urlsplit(os.environ["CORTEX_MEMORY_EMBEDDING_URL"]).netloc

    def embed(self, texts: list[str]) -> list[list[float]]:
        connection = http.client.HTTPConnection(self._embedding, timeout=30)
        body = json.dumps({"inputs": texts, "normalize": True})
        connection.request("POST", "/embed", body, {"content-type": "application/json"})
        answer = connection.getresponse()
        vectors = json.loads(answer.read())
        connection.close()
        if answer.status != 200:
            raise Refused(f"embedding service answered {answer.status}")
        return list(vectors)

    def call(self, tool: str, given: dict[str, Any], stages: dict[str, float]) -> dict[str, Any]:
        with self.store.lock:
            if tool == "CreateProject":
                return {"project": self.store.add_project(given["slug"])}
            if tool == "AddItems":
                return self._add(given)
            if tool == "AddItem":
                item = {name: value for name, value in given.items() if name != "project"}
                return {
                    "item": self._add({"project": given["project"], "items": [item]})["items"][0]
                }
            if tool == "FindItems":
                return self._find(given, stages)
        raise Refused(f"unknown tool {tool}")

    def _add(self, given: dict[str, Any]) -> dict[str, Any]:
        made = []
        for item in given["items"]:
            texts = [f"{item['title']}\n{item['content']}"]
            texts += [extra["text"] for extra in item.get("additionalEmbeddings", [])]
            made.append({"id": str(uuid.uuid4()), **item, "vectors": self.embed(texts)})
        self.store.add(given["project"], made)
        return {"items": [{"id": item["id"]} for item in made]}

    def _find(self, given: dict[str, Any], stages: dict[str, float]) -> dict[str, Any]:
        self.searches += 1
        if FAULT == "all-errors" or (FAULT == "half-errors" and self.searches % 2):
            raise Refused("the store is on fire")
        if FAULT == "slow":
            time.sleep(0.2)
        started = time.perf_counter()
        asked = self.embed(given["queries"])
        stages["embed"] = time.perf_counter() - started
        started = time.perf_counter()
        items = [item for item in self.store.items() if self._fits(item, given)]
        text = _text_scores(given["queries"], items)
        stages["text"] = time.perf_counter() - started
        started = time.perf_counter()
        near = [max(_dot(q, v) for q in asked for v in item["vectors"]) for item in items]
        if FAULT == "slow-vector":
            time.sleep(0.015)
        stages["vector"] = time.perf_counter() - started
        fused = self._fuse(text, near)
        order = sorted(range(len(items)), key=lambda n: (-fused[n], n))
        if FAULT == "shaky" and os.getpid() % 2:
            order.reverse()
        hits = [_hit(items[n], fused[n]) for n in order[: given.get("limit", 10)] if fused[n] > 0]
        if FAULT == "no-hits":
            hits = []
        if FAULT == "gappy-index" and VECTOR_SEARCH == "indexed":
            hits = hits[::2]
        if FAULT == "unknown-item":
            hits.append({"item": {"id": "never-added"}, "score": 0.0})
        nothing = max(near, default=0.0) < NOTHING_BELOW and max(text, default=0.0) == 0
        degraded = "embedding service unavailable" if FAULT == "degraded" else None
        return {"hits": hits, "degraded": degraded, "nothingRelevant": nothing}

    def _fits(self, item: dict[str, Any], given: dict[str, Any]) -> bool:
        if "project" in given and item["slug"] != given["project"]:
            return False
        return not given.get("category") or item["category"] in given["category"]

    def _fuse(self, text: list[float], near: list[float]) -> list[float]:
        if self.fusion == "text-only" or (FAULT == "vector-off" and self.fusion == "convex"):
            return text
        if self.fusion == "vector-only":
            return near
        if self.fusion == "reciprocal-rank":
            return [
                1 / (60 + a) + 1 / (60 + b)
                for a, b in zip(_places(text), _places(near), strict=True)
            ]
        return [0.5 * a + 0.5 * b for a, b in zip(_scaled(text), _scaled(near), strict=True)]


def _text_scores(queries: list[str], items: list[dict[str, Any]]) -> list[float]:
    words = [set(f"{item['title']} {item['content']}".lower().split()) for item in items]
    df = Counter(word for found in words for word in found)
    wanted = {word for query in queries for word in query.lower().split()}
    return [
        sum(math.log(1 + len(items) / df[word]) for word in sorted(wanted & found))
        for found in words
    ]


def _dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _scaled(values: list[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def _places(values: list[float]) -> list[int]:
    order = sorted(range(len(values)), key=lambda n: (-values[n], n))
    places = [0] * len(values)
    for place, n in enumerate(order, start=1):
        places[n] = place
    return places


def _hit(item: dict[str, Any], score: float) -> dict[str, Any]:
    return {"item": {"id": item["id"], "title": item["title"]}, "score": score}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    memory: Memory

    def do_GET(self) -> None:
        self._answer({"status": "ok"}, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        started = time.perf_counter()
        stages: dict[str, float] = {}
        try:
            content = self.memory.call(body["params"]["name"], body["params"]["arguments"], stages)
            result: dict[str, Any] = {"structuredContent": content, "content": []}
        except Refused as err:
            result = {"isError": True, "content": [{"type": "text", "text": str(err)}]}
        stages["total"] = time.perf_counter() - started
        self._answer({"jsonrpc": "2.0", "id": body["id"], "result": result}, stages)

    def _answer(self, body: object, stages: dict[str, float]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        if FAULT == "renamed-stage" and "embed" in stages:
            stages["encode"] = stages.pop("embed")
        if stages and FAULT != "no-stages":
            timing = ", ".join(f"{name};dur={took * 1000:.3f}" for name, took in stages.items())
            self.send_header("server-timing", timing)
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def serve() -> None:
    Handler.memory = Memory()
    port = int(os.environ["CORTEX_MEMORY_PORT"])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
