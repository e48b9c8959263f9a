"""Servers started beside the stack's own, as it starts them but with other settings."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from harness import processes
from harness.errors import StackFailed
from harness.processes import Child
from harness.targets import Start

READY_WITHIN_S = 90.0
MEMORY, EMBEDDING = "CORTEX_MEMORY_", "CORTEX_EMBEDDING_"
"""How the settings of each kind of server begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A server that was started; it may not be ready yet."""

    name: str
    url: str
    child: Child
    log: Path

    @property
    def mcp_url(self) -> str:
        """Where a memory server speaks MCP."""
        return f"{self.url}/mcp"

    def wait_until_ready(self, within_s: float = READY_WITHIN_S) -> None:
        """Return once its health is good; raises `StackFailed` with the end of its log."""
        # One client for all polls: each new one reads the machine's certificates, 50 ms of work.
        with httpx.Client(timeout=5, trust_env=False) as client:
            if not processes.until(lambda: self._is_healthy(client), self.child, within_s):
                raise StackFailed(f"{self.name} did not start{processes.tail(self.log)}")

    def _is_healthy(self, client: httpx.Client) -> bool:
        try:
            return client.get(f"{self.url}/health").status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def starting(
    name: str, prefix: str, start: Start, settings: Mapping[str, str], log: Path, port: int = 0
) -> Iterator[Started]:
    """A server with `settings` over its own, on `port` (0: a free one); gone afterwards.

    `prefix` is how its settings begin: those of our own environment do not reach it.
    """
    port = port or free_port()
    wanted = {**start.environment, **settings, f"{prefix}PORT": str(port)}
    environment = processes.inherited(prefix, wanted)
    with processes.running(start.command, environment, log) as child:
        yield Started(name=name, url=f"http://127.0.0.1:{port}", child=child, log=log)


def free_port() -> int:
    """A TCP port nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
