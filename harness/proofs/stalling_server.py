"""A server whose truth is known: answers any tool call in 5 ms, and stands still once.

`python stalling_server.py PORT_FILE STALL_AT_S STALL_S`: counted from its first request, every
request waits until the stall is over, as behind a collector that stops the world. When each request
came stands in PORT_FILE.arrivals, in seconds.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

SERVICE_S = 0.005
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"hits": []}}}


class Stalling:
    """The one answer, late by the stall."""

    def __init__(self, stall_at_s: float, stall_s: float, arrivals: Path) -> None:
        self._arrivals = arrivals.open("a", buffering=1)
        self._stall_at_s = stall_at_s
        self._stall_s = stall_s
        self._started: float | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of one connection, one after the other."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.partition(b":")[2])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                )
                await reader.readexactly(length)
                await self._wait()
                body = json.dumps(ANSWER).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n" % len(body) + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _wait(self) -> None:
        now = time.monotonic()
        self._arrivals.write(f"{now}\n")
        if self._started is None:
            self._started = now
        since = now - self._started
        left = self._stall_at_s + self._stall_s - since
        stalled = since >= self._stall_at_s and left > 0
        await asyncio.sleep(SERVICE_S + (left if stalled else 0.0))


def _tell(port_file: Path, port: int) -> None:
    port_file.write_text(str(port))


async def main(port_file: Path, stall_at_s: float, stall_s: float) -> None:
    """Serve until killed; the port stands in a file."""
    stalling = Stalling(stall_at_s, stall_s, port_file.with_suffix(".arrivals"))
    server = await asyncio.start_server(stalling.serve, "127.0.0.1", 0, backlog=1024)
    _tell(port_file, server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])))
