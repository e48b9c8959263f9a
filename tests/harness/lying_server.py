"""A server that lies as its path says: errors as success, success as errors, nothing as all."""

import json
import time
from contextlib import AbstractContextManager, suppress
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any

from contrary_server import serving

HIT = {"item": {"id": "always-me", "content": "c"}, "score": 0.9}
TIMINGS = {
    "endless-names": ", ".join(f"s{n};dur=0.001;start={n}" for n in range(2_500)),
    "huge": "a;dur=1e308, a;dur=1e308, b;dur=nan, c;dur=-1, unattributed;dur=5, d;dur=inf",
}


def _result(content: object) -> bytes:
    whole = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": content}}
    return json.dumps(whole).encode()


class _Liar(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    numbers = count()

    def do_GET(self) -> None:
        self._lie(self.path.strip("/").partition("/")[0])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self._lie(self.path.strip("/").partition("/")[0])

    def _lie(self, lie: str) -> None:
        if lie in ("endless", "slow"):
            self._drip(lie)
            return
        number = next(self.numbers)
        mine = {"hits": [{**HIT, "item": {"id": f"i{number}"}}]}
        bodies: dict[str, Any] = {
            "status-500": _result(mine),
            "status-302": _result(mine),
            "error-200": json.dumps({"error": {"code": -1, "message": "no"}}).encode(),
            "empty": _result({}),
            "no-list": _result({"hits": "many"}),
            "no-hit": _result({"hits": []}),
            "html": b"<html>hello</html>",
            "json-list": b"[1, 2]",
            "json-null": b"null",
            "no-vectors": b"[[",
        }
        if lie.startswith("same"):
            mine = {"hits": [HIT]}
        status = int(lie.partition("-")[2]) if lie.startswith("status-") else 200
        body = bodies.get(lie, _result(mine))
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if lie == "new-names":
            self.send_header("server-timing", f"stage{number};dur=0.5")
        elif lie in TIMINGS:
            self.send_header("server-timing", TIMINGS[lie])
        self.end_headers()
        self.wfile.write(body)

    def _drip(self, lie: str) -> None:
        """An answer without an end: a flood, or a byte now and then."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"[1," * 20_000 if lie == "endless" else b" ")
                self.wfile.flush()
                time.sleep(0.0 if lie == "endless" else 0.05)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


def lying() -> AbstractContextManager[str]:
    """Its address; `ADDRESS/LIE/mcp` lies so."""
    return serving(_Liar)
