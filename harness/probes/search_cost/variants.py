"""Further memory servers over the stack's own database, each with one setting changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import StackFailed
from harness.servers import MEMORY, starting
from harness.targets import Targets


@contextmanager
def memory_server(targets: Targets, logs: Path, **settings: str) -> Iterator[str]:
    """A server with `CORTEX_MEMORY_<NAME>` changed for each of `settings`; its address."""
    start = targets.services.memory.start
    if start is None:
        raise StackFailed("targets.json does not say how the memory server is started")
    name = "-".join(["memory", *settings])
    changed = {f"{MEMORY}{setting.upper()}": value for setting, value in settings.items()}
    with starting(name, MEMORY, start, changed, logs / f"{name}.log") as server:
        server.wait_until_ready()
        yield server.url
