"""Further memory servers over the stack's own database, each with one setting changed."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from harness import processes
from harness.errors import StackFailed
from harness.targets import Targets

READY_WITHIN_S = 90.0


@contextmanager
def memory_server(targets: Targets, logs: Path, **settings: str) -> Iterator[str]:
    """A server with `CORTEX_MEMORY_<NAME>` changed for each of `settings`; its address."""
    start = targets.services.memory.start
    if start is None:
        raise StackFailed("targets.json does not say how the memory server is started")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    changed = {f"CORTEX_MEMORY_{name.upper()}": value for name, value in settings.items()}
    wanted = {**start.environment, **changed, "CORTEX_MEMORY_PORT": str(port)}
    environment = processes.inherited("CORTEX_MEMORY_", wanted)
    log = logs / f"memory-{port}.log"
    url = f"http://127.0.0.1:{port}"
    with processes.running(start.command, environment, log) as child:
        if not processes.until(lambda: _healthy(url), child, READY_WITHIN_S):
            raise StackFailed(f"the memory server did not start{processes.tail(log)}")
        yield url


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=2, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
