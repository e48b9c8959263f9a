"""Children the harness starts: own process group, own log, always ended, never a stray one."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness import interrupts
from harness.errors import StackFailed

STOP_WITHIN_S = 10.0
Child = subprocess.Popen[bytes]


def inherited(without: str, extra: Mapping[str, str]) -> dict[str, str]:
    """Our own environment less the names that start with `without`, plus `extra`."""
    ours = os.environ  # noqa: TID251 - children need PATH and HOME; no setting is read here
    return {name: value for name, value in ours.items() if not name.startswith(without)} | dict(
        extra
    )


@contextmanager
def running(
    command: Sequence[str], environment: Mapping[str, str] | None, log: Path
) -> Iterator[Child]:
    """A child in its own process group while inside; its whole group is gone afterwards."""
    log.parent.mkdir(parents=True, exist_ok=True)
    child: Child | None = None
    try:
        # Held: an interrupt between the start and our knowing of it would leave a stray process.
        with interrupts.held(), log.open("ab") as output:
            child = _started(command, environment, output)
        yield child
    finally:
        if child is not None:
            with interrupts.held():
                end(child)


def _started(
    command: Sequence[str], environment: Mapping[str, str] | None, output: IO[bytes]
) -> Child:
    try:
        return subprocess.Popen(
            list(command),
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A Ctrl-C reaches us alone; we end the children, in order.
            start_new_session=True,
        )
    except OSError as err:
        raise StackFailed(f"{command[0]}: cannot be started ({err.strerror})") from err


def bearing(mark: str, folder: Path) -> dict[int, str]:
    """Processes (id to command) that have a mark in their environment, or to do with a folder."""
    found: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            # A zombie has neither environment nor words.
            known = words and (
                mark.encode() in (entry / "environ").read_bytes().split(b"\0")
                or str(folder) in words
                or os.readlink(entry / "cwd").startswith(str(folder))
            )
            if known and int(entry.name) != os.getpid():
                found[int(entry.name)] = words.strip()[:200]
    return found


def end(child: Child) -> None:
    """Ask a child's group to stop, and kill what is left of it after a while."""
    _signal_group(child, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(STOP_WITHIN_S)
    _signal_group(child, signal.SIGKILL)
    child.wait()


def _signal_group(child: Child, number: signal.Signals) -> None:
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return


def finish(child: Child, within_s: float, what: str, log: Path) -> None:
    """Wait until a child ends by itself with 0; else an error with the end of its log."""
    try:
        code = child.wait(within_s)
    except subprocess.TimeoutExpired as err:
        raise StackFailed(f"{what} did not end within {within_s:.0f} s{tail(log)}") from err
    if code:
        raise StackFailed(f"{what} ended with exit code {code}{tail(log)}")


def until(ready: Callable[[], bool], child: Child, within_s: float) -> bool:
    """Poll until `ready`, the child's end, or the deadline; True only when ready."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if ready():
            return True
        if child.poll() is not None:
            return False
        time.sleep(0.05)
    return False


def tail(log: Path, lines: int = 8) -> str:
    """The last lines of a log, to end an error message with."""
    if not log.exists():
        return ""
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-lines:]
    return "; its last words:\n  " + "\n  ".join(line[:400] for line in last) if last else ""
