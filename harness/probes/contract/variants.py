"""Servers started beside the stack's own, with other settings; only where the stack is ours."""

import os
import secrets
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from harness.errors import StackFailed
from harness.servers import EMBEDDING, MEMORY, Started, free_port, starting
from harness.targets import Start, Targets

CALLS_PER_MINUTE = 6
HOST = "memory.example"
ORIGIN = "https://app.example"
Made = TypeVar("Made")


class CannotRun(Exception):
    """A case that has no ground to be played on; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A memory server that asks for tokens; `limited` may use `project` alone."""

    server: Started
    full: str
    read_only: str
    limited: str
    project: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """An embedding service that asks for a key, has two permits and cuts no text."""

    server: Started
    key: str


class Mortal:
    """A memory server with an embedding service of its own, which may go and come again."""

    def __init__(self, server: Started, embedding: Started, again: Callable[[], Started]) -> None:
        self.server = server
        self._embedding: Started | None = embedding
        self._again = again

    def go(self) -> None:
        """Kill the embedding service, if it is there."""
        if self._embedding is not None:
            os.killpg(self._embedding.child.pid, signal.SIGKILL)
            self._embedding.child.wait()
            self._embedding = None

    def come(self) -> None:
        """Start it again at the same address, if it is gone; raises `StackFailed`."""
        if self._embedding is None:
            self._embedding = self._again()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """While inside, the embedding service takes requests and answers none."""
        assert self._embedding is not None
        os.killpg(self._embedding.child.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._embedding.child.pid, signal.SIGCONT)


class Variants:
    """Starts each variant when it is first asked for, and keeps it to the end."""

    def __init__(self, targets: Targets, owned: bool, logs: Path) -> None:
        self._services = targets.services
        self._owned = owned
        self._logs = logs
        self._open = ExitStack()
        self._made: dict[str, object] = {}

    def stop(self) -> None:
        """End every variant."""
        self._open.close()

    def guarded(self) -> Guarded:
        """A memory server with tokens, a host and an origin of its own."""
        return self._once("guarded", self._guard)

    def hurried(self) -> Guarded:
        """A memory server that lets each token make few calls a minute."""
        return self._once("hurried", self._hurry)

    def replica(self) -> Started:
        """A memory server as the stack's own."""
        return self._once("replica", lambda: self.memory("replica", {}))

    def by_meaning(self) -> Started:
        """A memory server that searches by vectors alone."""
        settings = {"CORTEX_MEMORY_FUSION": "vector-only"}
        return self._once("vector-only", lambda: self.memory("vector-only", settings))

    def locked(self) -> Locked:
        """An embedding service with a key and few permits."""
        return self._once("locked", self._lock)

    def mortal(self) -> Mortal:
        """A memory server whose embedding service may be killed."""
        return self._once("mortal", self._make_mortal)

    def _make_mortal(self) -> Mortal:
        port = free_port()
        embedding = self.embedding("mortal", {}, port)
        settings = {
            "CORTEX_MEMORY_EMBEDDING_URL": embedding.url,
            "CORTEX_MEMORY_EMBEDDING_TIMEOUT_S": "2",
            "CORTEX_MEMORY_WRITE_TIMEOUT_S": "3",
        }
        server = self.memory("cut-off", settings)
        return Mortal(server, embedding, lambda: self.embedding("mortal", {}, port))

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        """Made once; what could not be made fails every case that wants it, at once."""
        if name not in self._made:
            try:
                self._made[name] = make()
            except StackFailed as err:
                self._made[name] = err
        made = self._made[name]
        if isinstance(made, StackFailed):
            raise made
        return made  # type: ignore[return-value]

    def _guard(self) -> Guarded:
        return self._tokens("guarded", {"CORTEX_MEMORY_CALLS_PER_MINUTE": "0"})

    def _hurry(self) -> Guarded:
        return self._tokens("hurried", {"CORTEX_MEMORY_CALLS_PER_MINUTE": str(CALLS_PER_MINUTE)})

    def _tokens(self, name: str, settings: Mapping[str, str]) -> Guarded:
        full, read_only, limited = (secrets.token_urlsafe(24) for _ in range(3))
        project = f"contract-{secrets.token_hex(6)}"
        tokens = f"{full}; {read_only} read-only; {limited} projects={project}"
        named = {
            "CORTEX_MEMORY_TOKEN": tokens,
            "CORTEX_MEMORY_ALLOWED_HOSTS": HOST,
            "CORTEX_MEMORY_ALLOWED_ORIGINS": ORIGIN,
        }
        server = self.memory(name, {**named, **settings})
        return Guarded(
            server=server, full=full, read_only=read_only, limited=limited, project=project
        )

    def _lock(self) -> Locked:
        key = secrets.token_urlsafe(24)
        settings = {
            "CORTEX_EMBEDDING_API_KEY": key,
            "CORTEX_EMBEDDING_MAX_CONCURRENT_REQUESTS": "2",
            "CORTEX_EMBEDDING_AUTO_TRUNCATE": "false",
        }
        return Locked(server=self.embedding("locked", settings), key=key)

    def memory(self, name: str, settings: Mapping[str, str], port: int = 0) -> Started:
        """A memory server over the stack's database, ready; raises `StackFailed`."""
        start = self._startable(self._services.memory.start, "memory server")
        return self._start(MEMORY, f"memory-{name}", start, settings, port)

    def embedding(self, name: str, settings: Mapping[str, str], port: int = 0) -> Started:
        """An embedding service with the stack's model, ready; raises `StackFailed`."""
        start = self._startable(self._services.embedding.start, "embedding service")
        return self._start(EMBEDDING, f"embedding-{name}", start, settings, port)

    def _startable(self, start: Start | None, what: str) -> Start:
        if not self._owned:
            raise CannotRun(f"a {what} is started only beside a stack that this run brought up")
        if start is None:
            raise CannotRun(f"the targets file does not say how to start a {what}")
        return start

    def _start(
        self, prefix: str, name: str, start: Start, settings: Mapping[str, str], port: int
    ) -> Started:
        log = self._logs / f"contract-{name}.log"
        server = self._open.enter_context(starting(name, prefix, start, settings, log, port))
        server.wait_until_ready()
        return server
