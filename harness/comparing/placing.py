"""Deals a build's processes to processors anew, so that no build keeps a worse one by chance.

The scheduler leaves a thread where it ran last. With more to do than processors, one build's
thread may stay beside a busy neighbour for a minute while the other's has a processor to itself,
and two equal builds differ by 20 % all that time. Before each block its processes are put where
chance says, the same for both builds of a pair, and are then free to move again.
"""

import contextlib
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from harness.targets import Targets


class Dealer:
    """Moves a stack's processes, on systems that let it."""

    def __init__(self, targets: Targets) -> None:
        services = targets.services
        found = [services.memory, services.embedding, services.postgres]
        self._services: list[tuple[int, ...]] = [one.pids for one in found if one is not None]

    def deal(self, chance: random.Random) -> None:
        """Put each service on a processor of its own where there are enough, by `chance`."""
        if not hasattr(os, "sched_setaffinity"):
            return
        processors = sorted(os.sched_getaffinity(0))
        chance.shuffle(processors)
        for place, pids in enumerate(self._services):
            # The first two, memory server and embedding service, wait for each other least.
            _move(pids, processors[place % len(processors)])


def _move(pids: Sequence[int], processor: int) -> None:
    for thread in _threads(pids):
        # A thread that just ended, or one of another user, stays out of it.
        with contextlib.suppress(OSError):
            allowed = os.sched_getaffinity(thread)
            if processor in allowed:
                os.sched_setaffinity(thread, {processor})
                os.sched_setaffinity(thread, allowed)


def _threads(pids: Sequence[int]) -> Iterator[int]:
    """Every thread of the processes and of those they started."""
    for pid in pids:
        with contextlib.suppress(psutil.Error, OSError):
            one = psutil.Process(pid)
            for process in [one, *one.children(recursive=True)]:
                yield from (int(path.name) for path in Path(f"/proc/{process.pid}/task").iterdir())
