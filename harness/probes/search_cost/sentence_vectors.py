"""An embedding service for loading only: a text's vector is made of its sentences' real ones.

Real vectors of 200,000 texts would take an hour. Every sentence is embedded by the real service
once; a text of two is their weighed mean, which is about where the model puts it. So the vectors
lie where real ones lie, and real queries find their neighbours among them.
"""

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
import orjson

WEIGHTS = (1.0, 0.6)
NOISE = 0.1


class SentenceVectors:
    """The sentences' vectors, and texts' vectors made of them."""

    def __init__(self, service: str, sentences: list[str]) -> None:
        with httpx.Client(base_url=service, timeout=120, trust_env=False) as client:
            self.info = client.get("/info").content
            rows: list[list[float]] = []
            for start in range(0, len(sentences), 32):
                answer = client.post("/embed", json={"inputs": sentences[start : start + 32]})
                answer.raise_for_status()
                rows += answer.json()
        self._vectors = np.array(rows, np.float32)
        self._places = {text: place for place, text in enumerate(sentences)}

    def embed(self, text: str) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """A unit vector: the first sentence's, part of the second's, a little noise of its own."""
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        noise = np.random.default_rng(seed).standard_normal(self._vectors.shape[1])
        vector = np.asarray(NOISE * noise / np.linalg.norm(noise))
        said = [self._places[line] for line in text.split("\n") if line in self._places]
        for weight, place in zip(WEIGHTS, said, strict=False):
            vector += weight * self._vectors[place]
        unit: np.ndarray[Any, np.dtype[np.float32]] = (vector / np.linalg.norm(vector)).astype(
            np.float32
        )
        return unit


@contextmanager
def serving(vectors: SentenceVectors) -> Iterator[str]:
    """The service on a free port; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the base class's name
            self._answer(vectors.info if self.path == "/info" else b"")

        def do_POST(self) -> None:  # the base class's name
            asked = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
            texts = asked["inputs"]
            texts = [texts] if isinstance(texts, str) else texts
            if self.path == "/tokenize":
                self._answer(orjson.dumps([_tokens(text) for text in texts]))
                return
            rows = [vectors.embed(text) for text in texts]
            self._answer(orjson.dumps(rows, option=orjson.OPT_SERIALIZE_NUMPY))

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:  # the base class's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _tokens(text: str) -> list[dict[str, Any]]:
    """One token a word, by byte offsets: texts here never exceed the model's window."""
    tokens = []
    for found in re.finditer(r"\S+", text):
        start = len(text[: found.start()].encode())
        stop = start + len(found.group().encode())
        tokens.append(
            {"id": 0, "text": found.group(), "special": False, "start": start, "stop": stop}
        )
    return tokens
