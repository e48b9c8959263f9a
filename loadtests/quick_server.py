"""A server that does nothing but answer, to see how fast a load client is by itself.

`python loadtests/quick_server.py PORT_FILE`: any request is answered at once with a search result
of a usual size and its stages, by the barest protocol there is: the client is what is measured.
"""

import asyncio
import json
import sys
from pathlib import Path

TEXT = "words " * 140
HITS = [
    {"item": {"id": str(number), "content": TEXT}, "snippet": TEXT[:240]} for number in range(10)
]
CONTENT = {"hits": HITS}
STAGES = b"text;dur=1.9, embed;dur=8.1, vector;dur=2.7, fuse;dur=0.1, fetch;dur=0.1, total;dur=13.2"
ANSWER = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "content": [{"type": "text", "text": json.dumps(CONTENT)}],
            "structuredContent": CONTENT,
        },
    }
).encode()
RESPONSE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nserver-timing: %s\r\n"
    b"content-length: %d\r\n\r\n" % (STAGES, len(ANSWER))
) + ANSWER


class Quick(asyncio.Protocol):
    """One connection; requests come one after the other."""

    def __init__(self) -> None:
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            head = self._held[:end].lower()
            _, _, after = head.partition(b"content-length:")
            length = int(after.split(b"\r\n", 1)[0]) if after else 0
            if len(self._held) < end + 4 + length:
                return
            self._held = self._held[end + 4 + length :]
            assert self._transport is not None
            self._transport.write(RESPONSE)


async def main(port_file: Path) -> None:
    """Serve until killed; the port stands in a file."""
    server = await asyncio.get_running_loop().create_server(Quick, "127.0.0.1", 0, backlog=1024)
    _tell(port_file, server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _tell(port_file: Path, port: int) -> None:
    written = port_file.with_suffix(".part")
    written.write_text(str(port))
    written.rename(port_file)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
