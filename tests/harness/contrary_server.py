"""Servers that keep no promise: one says yes to everything, one fails at everything."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

YES = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {}, "tools": []}}
FAULT = {"error": "out of order"}


class _Handler(BaseHTTPRequestHandler):
    """Answers every request alike, whatever its method, headers and body."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    status = 200
    body = json.dumps(YES).encode()

    def _answer(self) -> None:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            self.close_connection = True
        else:
            self.rfile.read(int(self.headers.get("content-length", "0")))
        self.send_response(self.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.body)

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


class _Faulty(_Handler):
    status = 500
    body = json.dumps(FAULT).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves is no news."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that answers so."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def saying_yes() -> AbstractContextManager[str]:
    """The address of a server that answers every request with 200 and an empty success."""
    return serving(_Handler)


def failing() -> AbstractContextManager[str]:
    """The address of a server that answers every request with 500."""
    return serving(_Faulty)
