"""Processes as the runtime handles them: told apart for certain, stopped by whole groups."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

STACK_ID_VARIABLE = "CORTEX_STACK_ID"
"""Every process of a stack carries its stack's id here, so that none can be lost."""


def start_ticks(pid: int) -> int:
    """When a process started, in clock ticks since boot; 0 if it is gone (or a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def is_alive(pid: int, ticks: int) -> bool:
    """Whether that very process still runs, and not a later one with its id."""
    return pid > 0 and ticks > 0 and start_ticks(pid) == ticks


def with_stack_id(stack_id: str) -> dict[int, int]:
    """Processes (id to ticks) that were started with this stack's id in their environment."""
    mark = f"{STACK_ID_VARIABLE}={stack_id}".encode()
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                pid = int(entry.name)
                if ticks := start_ticks(pid):
                    found[pid] = ticks
    return found


def running_in(folder: Path, program: Path) -> dict[int, int]:
    """Processes (id to ticks) of this program that work in a folder, and are its owner's.

    So Postgres' are found, also when their parent is gone: each leads a group of its own, and has
    its title where the stack's id was. A shell or a backup that somebody runs there is not ours.
    """
    found: dict[int, int] = {}
    with contextlib.suppress(FileNotFoundError):
        owner, program = folder.stat().st_uid, program.resolve()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _is_of(entry, folder, program, owner):
                pid = int(entry.name)
                if ticks := start_ticks(pid):
                    found[pid] = ticks
    return found


def _is_of(entry: Path, folder: Path, program: Path, owner: int) -> bool:
    with contextlib.suppress(OSError):
        # A program whose file was replaced since is told so behind its path.
        runs = os.readlink(entry / "exe").removesuffix(" (deleted)")
        if runs == str(program) and os.path.samefile(entry / "cwd", folder):
            told = (entry / "status").read_text()
            uids = next(line for line in told.splitlines() if line.startswith("Uid:"))
            return int(uids.split()[2]) == owner  # the effective one
    return False


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to the process group that `pid` leads, or to `pid` alone if it leads none."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def stop(pids: dict[int, int], first: signal.Signals, within_s: float) -> None:
    """Ask processes (id to ticks) to stop, wait, then kill what is left."""
    for pid, ticks in pids.items():
        if is_alive(pid, ticks):
            signal_group(pid, first)
    if _gone_within(pids.items(), within_s):
        return
    for pid, ticks in pids.items():
        if is_alive(pid, ticks):
            signal_group(pid, signal.SIGKILL)
    _gone_within(pids.items(), 5.0)


def _gone_within(pids: Iterable[tuple[int, int]], seconds: float) -> bool:
    pids = list(pids)
    deadline = time.monotonic() + seconds
    while any(is_alive(pid, ticks) for pid, ticks in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
