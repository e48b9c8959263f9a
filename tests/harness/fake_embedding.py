"""A small real embedding service for tests: letter trigrams hashed to 64 numbers, TEI's shape."""

import hashlib
import json
import math
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSION = 64


def vector(text: str) -> list[float]:
    """Near for texts that share letters, so that a typo is found and a synonym is not."""
    padded = f"  {' '.join(text.lower().split())}  "
    sums = [0.0] * DIMENSION
    for start in range(len(padded) - 2):
        lot = int.from_bytes(hashlib.sha256(padded[start : start + 3].encode()).digest()[:4], "big")
        sums[lot % DIMENSION] += 1.0 if lot & 0x40000000 else -1.0
    norm = math.sqrt(sum(value * value for value in sums)) or 1.0
    return [value / norm for value in sums]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    embedded = 0

    def do_GET(self) -> None:
        self._answer(
            {
                "model_id": os.environ.get("CORTEX_FAKE_MODEL", "fake-trigrams"),
                "model_sha": "1",
                "embedded": Handler.embedded,
            }
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        inputs = body.get("inputs", body.get("input"))
        texts = [inputs] if isinstance(inputs, str) else inputs
        Handler.embedded += len(texts)
        vectors = [vector(text) for text in texts]
        if self.path == "/embed":
            self._answer(vectors)
        else:
            data = [{"index": i, "embedding": v} for i, v in enumerate(vectors)]
            self._answer({"object": "list", "data": data})

    def _answer(self, body: object) -> None:
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def serve(port: int) -> None:
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
