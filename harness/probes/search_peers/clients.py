"""Client processes that search in a closed loop, all at once and all of one system at a time.

Processes, because threads of one Python process would wait for each other, and so measure
themselves.
"""

import contextlib
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from harness.errors import StackFailed
from harness.probes.search_peers.systems import Search, System

ANSWERS_WITHIN_S = 120.0
TOLD_BEFORE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When to search, on the clock all processes share; searches count from `timed_from` on."""

    system: int
    starts: float
    timed_from: float
    ends: float


@dataclass(slots=True)
class Searched:
    """What one client did in a window: seconds of each search, and of each search its stages."""

    took_s: list[float] = field(default_factory=list)
    stages_ms: list[dict[str, float]] = field(default_factory=list)
    failed: str = ""


class Clients:
    """So many client processes, each with connections of its own to every system."""

    def __init__(
        self, systems: Sequence[System], texts: Sequence[Sequence[str]], count: int
    ) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._ours: list[Connection] = []
        self._processes: list[BaseProcess] = []
        for number in range(count):
            ours, theirs = spawning.Pipe()
            own = [some[number::count] for some in texts]
            process = spawning.Process(target=_client, args=(theirs, systems, own), daemon=True)
            process.start()
            theirs.close()
            self._ours.append(ours)
            self._processes.append(process)

    @property
    def pids(self) -> list[int]:
        """The clients' process ids."""
        return [process.pid for process in self._processes if process.pid is not None]

    def ready(self) -> None:
        """Return once every client has its connections."""
        self._hear()

    def tell(self, window: Window) -> None:
        """Have every client search in a window."""
        for connection in self._ours:
            connection.send(window)

    def _hear(self) -> list[Searched]:
        heard = []
        for connection in self._ours:
            if not connection.poll(ANSWERS_WITHIN_S):
                raise StackFailed(f"a client said nothing for {ANSWERS_WITHIN_S:.0f} s")
            try:
                answer: Searched = connection.recv()
            except EOFError as err:
                raise StackFailed("a client process ended; its error is above") from err
            if answer.failed:
                raise StackFailed(f"a client failed: {answer.failed}")
            heard.append(answer)
        return heard

    def searched(self) -> list[Searched]:
        """What each client did in the window told last."""
        return self._hear()

    def close(self) -> None:
        """End the client processes."""
        for connection in self._ours:
            connection.close()
        for process in self._processes:
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()


@contextlib.contextmanager
def clients(
    systems: Sequence[System], texts: Sequence[Sequence[str]], count: int
) -> Iterator[Clients]:
    """Ready clients; gone afterwards. `texts` is a list for each system, dealt out to them."""
    made = Clients(systems, texts, count)
    try:
        made.ready()
        yield made
    finally:
        made.close()


def _client(
    connection: Connection, systems: Sequence[System], texts: Sequence[Sequence[str]]
) -> None:
    try:
        searches = [system.open() for system in systems]
        left = [iter(some) for some in texts]
        connection.send(Searched())
        while True:
            window: Window = connection.recv()
            connection.send(_search(searches[window.system], left[window.system], window))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
    except Exception as err:  # noqa: BLE001 - told to the parent, which raises it
        with contextlib.suppress(OSError):
            connection.send(Searched(failed=f"{type(err).__name__}: {err}"))


def _search(search: Search, texts: Iterator[str], window: Window) -> Searched:
    done = Searched()
    time.sleep(max(0.0, window.starts - time.monotonic()))
    started = time.monotonic()
    while started < window.ends:
        text = next(texts, None)
        if text is None:
            return Searched(failed="no query text is left that was not asked before")
        reply = search(text)
        ended = time.monotonic()
        if window.timed_from <= ended < window.ends:
            done.took_s.append(ended - started)
            done.stages_ms.append(reply.stages_ms)
        started = ended
    return done
