"""The service under test: started as a child, asked over plain sockets, its CPU time read."""

import asyncio
import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import StackFailed
from harness.processes import inherited, running

START_WITHIN_S = 120.0
_NS = 1e9


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its status, headers and body, and how long it took in seconds."""

    status: int
    headers: dict[str, str]
    body: bytes
    took_s: float

    def stage_ms(self, name: str) -> float:
        """A stage's milliseconds from `Server-Timing`."""
        for part in self.headers["server-timing"].split(", "):
            stage, _, duration = part.partition(";dur=")
            if stage == name:
                return float(duration)
        raise KeyError(name)


class Connection:
    """One kept connection, as little work as possible, so that the client stays out of the way."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, asked: object = None) -> Answer:
        """POST JSON, or GET where there is nothing to send."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        began = time.perf_counter()
        body = b"" if asked is None else json.dumps(asked).encode()
        head = f"{'GET' if asked is None else 'POST'} {path} HTTP/1.1\r\nhost: localhost\r\n"
        if asked is not None:
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        writer.write(head.encode() + b"\r\n" + body)
        raw = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in raw[1:] if line)
        answer = await reader.readexactly(int(headers.get("content-length", "0")))
        took_s = time.perf_counter() - began
        return Answer(int(raw[0].split()[1]), headers, answer, took_s)

    async def close(self) -> None:
        """Close the socket."""
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()


@dataclass(frozen=True, slots=True)
class Service:
    """A running service: where it answers, its process, and the model file it said it serves."""

    port: int
    pid: int
    graph: Path

    def cpu_s(self) -> float:
        """CPU seconds of all its threads so far, to the nanosecond the kernel counts."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / _NS

    def resident_mb(self) -> float:
        """Most memory it ever held."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024


@contextmanager
def started(model: str, permits: int, log: Path) -> Iterator[Service]:
    """The service on a free port while inside, with so many permits and all else by default."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    prefix = "CORTEX_EMBEDDING_"
    settings = {
        f"{prefix}MODEL": model,
        f"{prefix}PORT": str(port),
        f"{prefix}MAX_CONCURRENT_REQUESTS": str(permits),
    }
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "cortex.embedding"]
    with running(command, inherited(prefix, settings), log) as child:
        deadline = time.monotonic() + START_WITHIN_S
        while not _answers(port):
            if child.poll() is not None or time.monotonic() > deadline:
                raise StackFailed(f"the embedding service did not start; its log is {log}")
            time.sleep(0.1)
        yield Service(port, child.pid, _graph(log))


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def _graph(log: Path) -> Path:
    """The model file, from the line the service logs about it."""
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        if entry.get("event") == "model found":
            return Path(entry["graph"])
    raise StackFailed(f"the service does not say which model file it serves; its log is {log}")
