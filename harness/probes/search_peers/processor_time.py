"""Processor time of groups of processes: what a search costs, however busy the machine is."""

import contextlib
from collections.abc import Mapping, Sequence

import psutil

Seconds = dict[str, float]
"""Processor seconds, user and system, by group."""


class ProcessorTime:
    """Reads what groups of processes, each with all its descendants, have used so far."""

    def __init__(self, groups: Mapping[str, Sequence[int]]) -> None:
        self._groups = groups

    def now(self) -> Seconds:
        """Seconds used since each process began; only differences mean something."""
        return {
            name: sum(_used_s(pid) for pid in pids) for name, pids in self._groups.items() if pids
        }


def _used_s(pid: int) -> float:
    """Of a process, its living descendants, and those dead ones it has waited for."""
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total
