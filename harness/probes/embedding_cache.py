"""A caching proxy before the embedding service: a text embedded once is not embedded again.

A real HTTP server that forwards everything. Answers of `/embed` and `/v1/embeddings` are kept on
disk per single text, under the model's id and revision, the route, the other parameters and the
text. Anything it does not understand goes through untouched. Off for load and resilience.
"""

import array
import contextlib
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from harness.errors import UsageMistake

ROUTES = {"/embed": "inputs", "/v1/embeddings": "input", "/embeddings": "input"}
TIMEOUT_S = 300.0
_TABLE = "CREATE TABLE IF NOT EXISTS embeddings (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}
Vector = list[float] | str


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer to pass on."""

    status: int
    body: bytes
    content_type: str = "application/json"


class Cache:
    """Vectors by key on disk; safe between threads, and between processes."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute(_TABLE)
            self._database.commit()
        except (OSError, sqlite3.Error) as err:
            raise UsageMistake(
                f"{path}: the cache of embeddings cannot be used ({err}); delete it, or name "
                "another with --cache"
            ) from err

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are kept."""
        found: dict[bytes, Vector] = {}
        with self._lock:
            for key in set(keys):
                row = self._database.execute(
                    "SELECT value FROM embeddings WHERE key = ?", (key,)
                ).fetchone()
                if row is not None:
                    found[key] = _unpacked(row[0])
        return found

    def put(self, vectors: dict[bytes, Vector]) -> None:
        """Keep vectors."""
        rows = [(key, _packed(vector)) for key, vector in vectors.items()]
        with self._lock, self._database:
            self._database.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def _packed(vector: Vector) -> bytes:
    """Doubles, so that what comes out is what the service said; a text stays one."""
    if isinstance(vector, str):
        return b"s" + vector.encode()
    return b"d" + array.array("d", vector).tobytes()


def _unpacked(value: bytes) -> Vector:
    if value[:1] == b"s":
        return value[1:].decode()
    doubles = array.array("d")
    doubles.frombytes(value[1:])
    return doubles.tolist()


class EmbeddingCache:
    """The proxy: forwards to `upstream`, counts what was cached and what was not."""

    def __init__(self, upstream: str, path: Path) -> None:
        self.hits = self.misses = 0
        self._upstream = upstream.rstrip("/")
        self._cache = Cache(path)
        self._count = threading.Lock()
        self._http = httpx.Client(timeout=TIMEOUT_S, trust_env=False)
        self._model = self._identity()

    def _identity(self) -> str:
        """What names the model: everything `/info` says about it."""
        answer = self._http.get(f"{self._upstream}/info")
        answer.raise_for_status()
        info = answer.json()
        named = {key: info.get(key) for key in ("model_id", "model_sha", "model_dtype")}
        return json.dumps(named | {"pooling": info.get("model_type")}, sort_keys=True)

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Pass a request on as it is."""
        kept = {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}
        answer = self._http.request(method, self._upstream + path, headers=kept, content=body)
        kind = answer.headers.get("content-type", "application/octet-stream")
        return Answer(answer.status_code, answer.content, kind)

    def embed(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Answer an embedding request from disk and, for what is not there, from upstream."""
        asked = _parsed(path, body)
        if asked is None:
            return self.forward("POST", path, headers, body)
        request, texts = asked
        keys = [self._key(path, request, text) for text in texts]
        vectors = self._cache.get(keys)
        missing = dict(zip(keys, texts, strict=True))
        missing = {key: text for key, text in missing.items() if key not in vectors}
        if missing:
            answer = self._ask(path, headers, request, list(missing.values()))
            if isinstance(answer, Answer):
                return answer
            fresh = dict(zip(missing, answer, strict=True))
            self._cache.put(fresh)
            vectors |= fresh
        with self._count:
            self.misses += len(missing)
            self.hits += len(keys) - len(missing)
        return _answer(path, request, [vectors[key] for key in keys])

    def _key(self, path: str, request: dict[str, Any], text: str) -> bytes:
        others = {name: value for name, value in request.items() if name != ROUTES[path]}
        named = json.dumps([path, self._model, others, text], sort_keys=True)
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()

    def _ask(
        self, path: str, headers: dict[str, str], request: dict[str, Any], texts: list[str]
    ) -> Answer | list[Vector]:
        body = json.dumps(request | {ROUTES[path]: texts}).encode()
        answer = self.forward("POST", path, headers, body)
        if answer.status != 200:
            return answer
        found = json.loads(answer.body)
        vectors = found if path == "/embed" else [one["embedding"] for one in found["data"]]
        if len(vectors) != len(texts):
            return Answer(502, b'{"error": "embedding service answered with too few vectors"}')
        return list(vectors)

    def close(self) -> None:
        """Close the connections and the file."""
        self._http.close()
        self._cache.close()


def _parsed(path: str, body: bytes) -> tuple[dict[str, Any], list[str]] | None:
    """The request and its texts; None for anything that is to go through untouched."""
    try:
        request = json.loads(body)
    except ValueError:
        return None
    texts = request.get(ROUTES[path]) if isinstance(request, dict) else None
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        return None
    return request, texts


def _answer(path: str, request: dict[str, Any], vectors: list[Vector]) -> Answer:
    if path == "/embed":
        return Answer(200, json.dumps(vectors).encode())
    data = [
        {"object": "embedding", "embedding": vector, "index": place}
        for place, vector in enumerate(vectors)
    ]
    model = request.get("model", "")
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    body = {"object": "list", "data": data, "model": model, "usage": usage}
    return Answer(200, json.dumps(body).encode())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    proxy: EmbeddingCache

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = dict(self.headers.items())
        try:
            if self.command == "POST" and self.path in ROUTES:
                answer = self.proxy.embed(self.path, headers, body)
            else:
                answer = self.proxy.forward(self.command, self.path, headers, body)
        except httpx.TransportError as err:
            reason = json.dumps({"error": f"embedding service: {err}", "error_type": "Unhealthy"})
            answer = Answer(503, reason.encode())
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_OPTIONS = _serve  # noqa: N815

    def log_message(self, *_: object) -> None:  # the base class's name
        """Say nothing: the memory server logs its own calls."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that went away is not news."""


@contextlib.contextmanager
def serving(upstream: str, path: Path) -> Iterator[tuple[str, EmbeddingCache]]:
    """The proxy on a free port: its URL, and the object that counts."""
    proxy = EmbeddingCache(upstream, path)
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        proxy.close()
