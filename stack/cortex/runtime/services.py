"""The one table of services: what each is called, where it answers, what it needs, how it starts.

A service added later is a row here; nothing else in the runtime knows services by name,
but Postgres' own start, which is not a command of ours.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cortex.runtime.layout import StackLayout

Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a row may use to build its command: places, ports and secrets of one stack."""

    layout: StackLayout
    ports: Mapping[str, int]
    secrets: Mapping[str, str]
    fast: bool
    host: str = "127.0.0.1"

    def url(self, service: str) -> str:
        """The HTTP address of a service of this stack."""
        return f"http://{self.host}:{self.ports[service]}"

    def database_url(self) -> str:
        """The address of the application database, password included."""
        password = quoted(self.secrets["CORTEX_POSTGRES_PASSWORD"])
        return f"postgresql://cortex:{password}@{self.host}:{self.ports['postgres']}/cortex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One row: a service as the runtime sees it."""

    name: str
    port: int
    profiles: frozenset[str]
    needs: tuple[str, ...] = ()
    health_path: str | None = None
    live_path: str | None = None
    """Tells that the process works though it is slow, or something it needs does not; it is not
    restarted then."""
    command: tuple[str, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()
    environment: Callable[[Plan], Environment] = field(default=lambda _plan: {})
    defaults: Environment = field(default_factory=dict)
    """Variables that are set only where the stack's starter did not set them."""
    ready_within_s: float = 120.0
    stop_within_s: float = 10.0


def quoted(text: str) -> str:
    """Text as it may stand in any part of a URL."""
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}"
        for byte in text.encode()
    )


def _cortex(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "cortex.cli", *words)


def _embedding_environment(plan: Plan) -> Environment:
    return {
        "CORTEX_EMBEDDING_HOST": plan.host,
        "CORTEX_EMBEDDING_PORT": str(plan.ports["embedding"]),
    }


def _memory_environment(plan: Plan) -> Environment:
    return {
        "CORTEX_MEMORY_HOST": plan.host,
        "CORTEX_MEMORY_PORT": str(plan.ports["memory"]),
        "CORTEX_MEMORY_DATABASE_URL": plan.database_url(),
        "CORTEX_MEMORY_EMBEDDING_URL": plan.url("embedding"),
    }


SERVICES: tuple[Service, ...] = (
    Service(
        name="postgres",
        port=5432,
        profiles=frozenset({"memory", "agent", "full"}),
        stop_within_s=30.0,
    ),
    Service(
        name="embedding",
        port=8080,
        profiles=frozenset({"memory", "agent", "full"}),
        health_path="/health",
        live_path="/ping",
        command=_cortex("embedding", "serve"),
        environment=_embedding_environment,
        # The product's default is on a hub, which a bare machine may not reach.
        defaults={"CORTEX_EMBEDDING_MODEL": "bundled"},
    ),
    Service(
        name="memory",
        port=5100,
        profiles=frozenset({"memory", "agent", "full"}),
        needs=("postgres", "embedding"),
        health_path="/health",
        live_path="/health/live",
        command=_cortex("memory", "serve"),
        before=(_cortex("memory", "migrate"),),
        environment=_memory_environment,
    ),
)


def select(profile: str, names: tuple[str, ...] = ()) -> tuple[Service, ...]:
    """The rows of a profile, or the named ones with all they need, in the table's order."""
    by_name = {service.name: service for service in SERVICES}
    if not names:
        return tuple(service for service in SERVICES if profile in service.profiles)
    wanted: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue.extend(by_name[name].needs)
    return tuple(service for service in SERVICES if service.name in wanted)


def file_tail(path: Path, lines: int = 12) -> str:
    """The last lines of a log, for a person to read."""
    if not path.exists():
        return ""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 65536))
        return "\n".join(log.read().decode("utf-8", "replace").splitlines()[-lines:])
