"""Brings up a stack for one run with the `cortex` command, and takes it down again."""

import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness import interrupts, processes, targets
from harness.errors import StackFailed
from harness.targets import Targets

CORTEX = (sys.executable, "-m", "cortex.cli")
UP_WITHIN_S = 300.0
DOWN_WITHIN_S = 60.0


@contextmanager
def own_stack(
    runtime: str,
    logs: Path,
    cortex: Sequence[str] = CORTEX,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Targets]:
    """A stack with its own name, free ports and a temporary folder; gone afterwards.

    `environment` is what its command sees instead of our own.
    """
    folder = Path(tempfile.mkdtemp(prefix="cortex-harness-"))
    # Postgres may run as another user and has to pass through.
    folder.chmod(0o711)
    name = f"gate-{secrets.token_hex(4)}"
    which = ["--name", name, "--state-dir", str(folder / "state")]
    out = folder / "targets.json"
    up = ["up", "--runtime", runtime, "--profile", "memory", *which, "--free-ports", "--fast"]
    is_up = False
    try:
        made = [*cortex, *up, "--wait", "--json", "--out", str(out)]
        _run("up", made, UP_WITHIN_S, logs, environment)
        is_up = True
        yield _described(out)
    finally:
        with interrupts.held():
            try:
                ended = [*cortex, "down", *which, "--volumes"]
                _run("down", ended, DOWN_WITHIN_S, logs, environment)
            except StackFailed:
                if is_up:  # else what went wrong first is what counts
                    raise
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def _run(
    word: str,
    command: list[str],
    within_s: float,
    logs: Path,
    environment: Mapping[str, str] | None,
) -> None:
    log = logs / f"cortex-{word}.log"
    with processes.running(command, environment, log) as child:
        processes.finish(child, within_s, f"`cortex {word}`", log)


def _described(out: Path) -> Targets:
    if not out.exists():
        raise StackFailed(f"`cortex up` ended well but wrote no {out.name}")
    return targets.read(out)
