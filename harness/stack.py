"""Brings up a stack for one run with the `cortex` command, and takes it down again."""

import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pydantic

from harness import interrupts, processes, targets
from harness.errors import StackFailed
from harness.targets import Targets

CORTEX = (sys.executable, "-m", "cortex.cli")
UP_WITHIN_S = 300.0
DOWN_WITHIN_S = 60.0
MARK = "HARNESS_STACK_"
"""Begins the variable that a stack's processes inherit from us, to be told from all others."""


class ServiceStatus(pydantic.BaseModel):
    """A service's row of `cortex status --json`."""

    model_config = pydantic.ConfigDict(extra="ignore", frozen=True)

    service: str
    state: str
    pid: int = 0
    restarts: int = 0
    why: str = ""


class _Status(pydantic.BaseModel):
    services: list[ServiceStatus]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStack:
    """A stack this run brought up: what it is, and how its operator asks how it stands."""

    targets: Targets
    folder: Path
    mark: str
    ask: tuple[str, ...]

    def status(self) -> dict[str, ServiceStatus]:
        """Every service as `cortex status` says; raises `StackFailed` where it says nothing."""
        told = subprocess.run(self.ask, capture_output=True, text=True, timeout=UP_WITHIN_S)
        try:
            rows = _Status.model_validate_json(told.stdout).services
        except pydantic.ValidationError as err:
            why = (told.stderr or told.stdout).strip()[-300:]
            raise StackFailed(f"`cortex status` gave no status: {why}") from err
        return {row.service: row for row in rows}

    def processes(self) -> dict[int, str]:
        """Its processes (id to command) that run now, whoever is their parent."""
        return processes.bearing(self.mark, self.folder)


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
    with standing(runtime, logs, cortex, environment=environment) as stack:
        yield stack.targets


@contextmanager
def standing(
    runtime: str,
    logs: Path,
    cortex: Sequence[str] = CORTEX,
    *,
    fast: bool = True,
    disk: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[OwnStack]:
    """As `own_stack`; not `fast` it has the settings of production, and its data is on `disk`."""
    folder = Path(tempfile.mkdtemp(prefix="cortex-harness-", dir=disk))
    # Postgres may run as another user and has to pass through.
    folder.chmod(0o711)
    name = f"gate-{secrets.token_hex(4)}"
    which = ("--name", name, "--state-dir", str(folder / "state"))
    out = folder / "targets.json"
    up = ["up", "--runtime", runtime, "--profile", "memory", *which, "--free-ports"]
    up += ["--fast"] if fast else []
    mark = f"{MARK}NAME={name}"
    inherited = processes.inherited(MARK, {}) if environment is None else dict(environment)
    inherited[f"{MARK}NAME"] = name
    is_up = False
    try:
        made = [*cortex, *up, "--wait", "--json", "--out", str(out)]
        _run("up", made, UP_WITHIN_S, logs, inherited)
        is_up = True
        ask = (*cortex, "status", *which, "--json")
        yield OwnStack(targets=_described(out), folder=folder, mark=mark, ask=ask)
    finally:
        with interrupts.held():
            try:
                ended = [*cortex, "down", *which, "--volumes"]
                _run("down", ended, DOWN_WITHIN_S, logs, inherited)
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
    environment: Mapping[str, str],
) -> None:
    log = logs / f"cortex-{word}.log"
    with processes.running(command, environment, log) as child:
        processes.finish(child, within_s, f"`cortex {word}`", log)


def _described(out: Path) -> Targets:
    if not out.exists():
        raise StackFailed(f"`cortex up` ended well but wrote no {out.name}")
    return targets.read(out)
