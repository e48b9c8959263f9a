"""Attaches py-spy to a running process, which needs the right to trace it; never stops the process.

The process is not paused for a look: pausing makes threads that wait look as if they ran (measured:
3 % of the samples of a thread that only waits, none without). Now and then a stack is torn by it.
"""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness import processes
from harness.measures import call_tree

RATE_HZ = 100
ATTACHED_WITHIN_S = 20.0
WRITTEN_WITHIN_S = 30.0
_SAMPLING = "Sampling process"


@dataclass
class Stacks:
    """What was sampled: collapsed text, for how long, the CPU used; or why there is none."""

    collapsed: str = ""
    unavailable: str = ""
    seconds: float = 0.0
    cpu_s: float = 0.0

    @property
    def samples(self) -> int:
        """Samples in which the process was running."""
        return sum(count for _, count in call_tree.stacks(self.collapsed))


@contextmanager
def sampling(pid: int, log: Path, rate_hz: int = RATE_HZ) -> Iterator[Stacks]:
    """Sample a process while inside; with `unavailable` set from the start it is not sampled."""
    found = Stacks()
    program = _program()
    if program is None:
        found.unavailable = "py-spy is not installed; install the extra `harness`"
        yield found
        return
    out = log.with_suffix(".collapsed")
    command = [program, "record", "--pid", str(pid), "--rate", str(rate_hz), "--format", "raw"]
    command += ["--nonblocking", "--nolineno", "--output", str(out)]
    log.unlink(missing_ok=True)
    with processes.running(command, None, log) as child:
        if not processes.until(lambda: _SAMPLING in _said(log), child, ATTACHED_WITHIN_S):
            found.unavailable = _refusal(pid, child.poll(), _said(log))
            yield found
            return
        began, spent_s = time.monotonic(), _cpu_s(pid)
        yield found
        found.seconds, found.cpu_s = time.monotonic() - began, _cpu_s(pid) - spent_s
        _finish(child, found, out, log)


def _program() -> str | None:
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def _cpu_s(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:  # it ended meanwhile; there will be no samples either
        return 0.0
    return float(times.user + times.system)


def _said(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


def _finish(child: processes.Child, found: Stacks, out: Path, log: Path) -> None:
    """Ask for the output; a process that ended before us has been told of already."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    try:
        code: int | None = child.wait(WRITTEN_WITHIN_S)
    except subprocess.TimeoutExpired:
        code = None
    if out.exists():
        found.collapsed = out.read_text(encoding="utf-8", errors="replace")
    if not found.samples:
        found.unavailable = f"py-spy left no samples (exit code {code}); see {log.name}"


def _refusal(pid: int, code: int | None, said: str) -> str:
    """Why it could not attach, and what to do about it."""
    reason = next((line for line in said.splitlines() if line.strip()), "it said nothing")
    ended = "did not attach in time" if code is None else f"ended with exit code {code}"
    why = f"py-spy {ended} for process {pid}: {reason.strip()}"
    if any(word in said.lower() for word in ("permission", "not permitted", "eperm", "root")):
        why += (
            "; tracing needs root, or the same user and kernel.yama.ptrace_scope = 0 "
            "(in a container: the capability SYS_PTRACE)"
        )
    return why
