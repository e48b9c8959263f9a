"""Requests written by hand, byte by byte: what no HTTP client would send."""

import socket
import threading
from typing import Any

import httpx

from harness.probes.contract.speaking import Broken, Speaker
from harness.probes.contract.variants import CannotRun

TIMEOUT_S = 5.0


def chunked(body: bytes, size: int = 65_536) -> bytes:
    """A body as it is sent in chunks, without its length."""
    parts = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def connected(speaker: Speaker) -> socket.socket:
    """A connection to a server; raises `CannotRun` where it is encrypted."""
    url = httpx.URL(speaker.url)
    if url.scheme != "http":
        raise CannotRun("bytes are written by hand, which needs plain http")
    return socket.create_connection((url.host, url.port or 80), timeout=TIMEOUT_S)


def head(speaker: Speaker, headers: dict[str, str], length: int) -> bytes:
    """A request line and headers; `length` is said unless the body is chunked."""
    url = httpx.URL(speaker.url)
    given = {"host": f"{url.host}:{url.port}", "connection": "close"} | headers
    if token := speaker.http.headers.get("authorization"):
        given["authorization"] = token
    if "transfer-encoding" not in given:
        given["content-length"] = str(length)
    lines = [f"POST {url.path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def raw_status(
    speaker: Speaker, headers: dict[str, Any], body: bytes, sent: int | None = None
) -> int:
    """The status a hand-written request gets; `sent` bytes of its body are sent, or all."""
    with connected(speaker) as link:

        def send() -> None:
            try:
                link.sendall(head(speaker, headers, len(body)) + body[:sent])
            except OSError:
                return  # the server has answered and closed; what it said is read below

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        try:
            first = link.makefile("rb").readline()
        except OSError as err:
            raise Broken("an HTTP answer", f"{type(err).__name__}: {err}") from err
        finally:
            sender.join(TIMEOUT_S)
    words = first.split()
    if len(words) < 2:
        raise Broken("an HTTP answer", first.decode(errors="replace"))
    return int(words[1])
