"""Stacks that faults are done to: of this run only, with the settings of production."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from harness import stack
from harness.errors import StackFailed
from harness.probes.resilience.disks import SmallDisk, small_disk
from harness.probes.resilience.faults import Ground, Where
from harness.probes.resilience.relay import Relay, relaying
from harness.servers import MEMORY, starting
from harness.stack import OwnStack


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A stack, the memory server that is called, and what faults may lay hands on."""

    stack: OwnStack
    mcp_url: str
    token: str | None
    health_urls: tuple[str, ...]
    database_url: str
    relays: Mapping[str, Relay] = field(default_factory=dict)
    disk: SmallDisk | None = None

    def ground(self) -> Ground:
        """With the processes as they are now: after a restart they are others."""
        pids = {name: row.pid for name, row in self.stack.status().items() if row.pid}
        return Ground(pids=pids, database_url=self.database_url, relays=self.relays, disk=self.disk)


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """How stacks are brought up."""

    runtime: str
    cortex: Sequence[str]
    logs: Path

    @contextlib.contextmanager
    def standing(self, where: Where) -> Iterator[Stand]:
        """A stack for faults of one kind; raises `CannotMount` where its disk can't be had."""
        with contextlib.ExitStack() as open_:
            disk = open_.enter_context(small_disk()) if where == "small disk" else None
            own = open_.enter_context(
                stack.standing(
                    self.runtime,
                    self.logs,
                    self.cortex,
                    fast=False,
                    disk=disk.path if disk else None,
                )
            )
            plain = _plain(own, disk)
            yield (
                open_.enter_context(_behind_relays(plain, self.logs)) if where == "relay" else plain
            )


def _plain(own: OwnStack, disk: SmallDisk | None) -> Stand:
    services = own.targets.services
    if services.postgres is None:
        raise StackFailed("the stack does not say where its Postgres is")
    return Stand(
        stack=own,
        mcp_url=services.memory.mcp_url,
        token=services.memory.token,
        health_urls=(f"{services.embedding.url}/health", f"{services.memory.url}/health"),
        database_url=services.postgres.url,
        disk=disk,
    )


@contextlib.contextmanager
def _behind_relays(plain: Stand, logs: Path) -> Iterator[Stand]:
    """A memory server beside the stack's own that reaches what it needs through relays."""
    services = plain.stack.targets.services
    start = services.memory.start
    if start is None or services.postgres is None:
        raise StackFailed("the stack does not say how another memory server is started")
    urls = {"postgres": services.postgres.url, "embedding": services.embedding.url}
    with contextlib.ExitStack() as open_:
        relays = {
            name: open_.enter_context(relaying(urlsplit(url).port or 0))
            for name, url in urls.items()
        }
        settings = {
            "CORTEX_MEMORY_DATABASE_URL": _through(urls["postgres"], relays["postgres"]),
            "CORTEX_MEMORY_EMBEDDING_URL": _through(urls["embedding"], relays["embedding"]),
        }
        log = logs / "memory-behind-relays.log"
        server = open_.enter_context(starting("memory behind relays", MEMORY, start, settings, log))
        server.wait_until_ready()
        yield replace(
            plain,
            mcp_url=server.mcp_url,
            health_urls=(*plain.health_urls, f"{server.url}/health"),
            relays=relays,
        )


def _through(url: str, relay: Relay) -> str:
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{relay.port}"))
