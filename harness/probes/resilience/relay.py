"""A TCP relay between a server and what it needs, whose connections can be cut and refused."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

CHUNK_BYTES = 65536
DONE_WITHIN_S = 10.0


class Relay:
    """Passes bytes on to a port of this machine, until it is told not to."""

    def __init__(self, to_port: int, loop: asyncio.AbstractEventLoop) -> None:
        self.port = 0
        self._to_port = to_port
        self._loop = loop
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    def accept(self) -> None:
        """Take connections, on the same port as before."""
        self._done(self._accept())

    def refuse(self) -> None:
        """Take no connection."""
        self._done(self._refuse())

    def cut(self) -> None:
        """Reset every open connection, at both of its ends."""
        self._done(self._cut())

    def _done(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(DONE_WITHIN_S)

    async def _accept(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _cut(self) -> None:
        for writer in list(self._open):
            end = writer.get_extra_info("socket")
            # Lingering for no time turns the farewell into a reset; one that is closed needs none.
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to_port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, back}
        await asyncio.gather(_copy(reader, back), _copy(there, writer))
        self._open -= {writer, back}


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await source.read(CHUNK_BYTES):
            sink.write(chunk)
            await sink.drain()
    sink.close()


@contextlib.contextmanager
def relaying(to_port: int) -> Iterator[Relay]:
    """A relay that takes connections, in a thread of its own; gone afterwards."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    relay = Relay(to_port, loop)
    try:
        relay.accept()
        yield relay
    finally:
        relay.refuse()
        relay.cut()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(DONE_WITHIN_S)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
