"""An embedding service for loading only: a text's vector is the mean of its words' real ones.

Real vectors of 200,000 texts would take an hour. These lie in the same space (every word is
embedded by the real service once), so real queries find their neighbours among them.
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

_WORD = re.compile(r"[a-z]+")
NOISE = 0.25


class WordVectors:
    """The words' vectors, and texts' vectors made of them."""

    def __init__(self, service: str, words: list[str]) -> None:
        with httpx.Client(base_url=service, timeout=120, trust_env=False) as client:
            self.info = client.get("/info").content
            rows: list[list[float]] = []
            for start in range(0, len(words), 32):
                answer = client.post("/embed", json={"inputs": words[start : start + 32]})
                answer.raise_for_status()
                rows += answer.json()
        self._vectors = np.array(rows, np.float32)
        self._places = {word: place for place, word in enumerate(words)}

    def embed(self, text: str) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """A unit vector: mean of the words', and a little noise that hangs on the text alone."""
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        noise = np.random.default_rng(seed).standard_normal(self._vectors.shape[1])
        known = [self._places[word] for word in _WORD.findall(text.lower()) if word in self._places]
        mean = self._vectors[known].mean(0) if known else np.zeros(self._vectors.shape[1])
        mean = mean / max(float(np.linalg.norm(mean)), 1e-9)
        vector = mean + NOISE * noise / np.linalg.norm(noise)
        unit: np.ndarray[Any, np.dtype[np.float32]] = (vector / np.linalg.norm(vector)).astype(
            np.float32
        )
        return unit


@contextmanager
def serving(vectors: WordVectors) -> Iterator[str]:
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
    """One token a word: texts here never exceed the model's window."""
    return [
        {
            "id": 0,
            "text": found.group(),
            "special": False,
            "start": found.start(),
            "stop": found.end(),
        }
        for found in re.finditer(r"\S+", text)
    ]
