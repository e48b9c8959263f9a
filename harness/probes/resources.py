"""CPU and memory of a stack's processes and of the load client, once a second while a load runs."""

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from harness.errors import HarnessError

EVERY_S = 1.0
CLIENT, HARNESS = "load client", "harness"
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Sample:
    """What the processes of one service used: `at_s` from the start, cores since the last one.

    Memory is resident; pages that a service's processes share are counted once.
    """

    at_s: float
    service: str
    processes: int
    cores: float
    rss_mib: float


@dataclass
class Sampled:
    """All samples in order of time; complete when the sampling is over."""

    samples: list[Sample] = field(default_factory=list)

    def of(self, service: str) -> list[Sample]:
        """One service's samples."""
        return [one for one in self.samples if one.service == service]

    @property
    def services(self) -> list[str]:
        """The services that were seen, in order of first appearance."""
        return list(dict.fromkeys(one.service for one in self.samples))


@contextmanager
def sampling(roots: Mapping[str, Sequence[int]], every_s: float = EVERY_S) -> Iterator[Sampled]:
    """Sample while inside: `roots` are each service's processes, whose children belong to it.

    Our own other children are the load client. Raises at its end where the sampling died.
    """
    sampled = Sampled()
    sampler = _Sampler(roots, sampled)
    over = threading.Event()
    died: list[Exception] = []

    def work() -> None:
        due = time.monotonic() + every_s
        try:
            while not over.wait(max(0.0, due - time.monotonic())):
                due += every_s
                sampler.sample()
        except Exception as err:  # noqa: BLE001 - told once the load is over
            died.append(err)

    sampler.sample()
    sampled.samples.clear()  # the first look has nothing to compare with
    thread = threading.Thread(target=work, name="resources", daemon=True)
    thread.start()
    try:
        yield sampled
    finally:
        over.set()
        thread.join()
    if died:
        raise HarnessError(f"looking at the processes ended early: {died[0]!r}") from died[0]


class _Sampler:
    def __init__(self, roots: Mapping[str, Sequence[int]], into: Sampled) -> None:
        self._roots = roots
        self._into = into
        self._began = time.monotonic()
        self._looked = self._began
        self._looked_at = time.time()
        self._spent: dict[tuple[int, float], float] = {}

    def sample(self) -> None:
        """One look at all processes."""
        now = time.monotonic()
        elapsed_s = max(now - self._looked, 1e-6)
        spent: dict[tuple[int, float], float] = {}
        for service, processes in self._processes().items():
            used_s, private, shared, count = 0.0, 0, 0, 0
            for process in processes:
                try:
                    with process.oneshot():
                        times, memory = process.cpu_times(), process.memory_info()
                        key = (process.pid, process.create_time())
                except psutil.Error:  # it ended meanwhile
                    continue
                spent[key] = times.user + times.system
                used_s += self._since_last(key, spent[key])
                count += 1
                private += memory.rss - memory.shared
                shared = max(shared, memory.shared)
            if count:
                cores, rss_mib = used_s / elapsed_s, (private + shared) / _MIB
                self._into.samples.append(Sample(now - self._began, service, count, cores, rss_mib))
        self._spent, self._looked, self._looked_at = spent, now, time.time()

    def _since_last(self, key: tuple[int, float], spent_s: float) -> float:
        """CPU since the last look; all of a process that began after it."""
        if key in self._spent:
            return spent_s - self._spent[key]
        return spent_s if key[1] >= self._looked_at - EVERY_S / 10 else 0.0

    def _processes(self) -> dict[str, list[psutil.Process]]:
        found: dict[str, list[psutil.Process]] = {}
        taken: set[int] = set()
        for service, pids in self._roots.items():
            own = [one for pid in pids for one in _family(pid)]
            found[service] = own
            taken |= {one.pid for one in own}
        ours = _family(os.getpid())
        found[CLIENT] = [one for one in ours[1:] if one.pid not in taken]
        found[HARNESS] = ours[:1]
        return found


def _family(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []
