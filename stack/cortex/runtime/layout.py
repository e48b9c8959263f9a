"""Where a stack keeps its files, and the state file by which its processes are found again."""

import hashlib
import json
import os
import secrets as chance
import stat
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cortex.shared.errors import Misconfigured

SHARED_ROOT = Path("/var/lib/cortex")
"""Where root keeps what an unprivileged user must reach, when the state folder is out of reach."""

SECRET_ALPHABET = string.ascii_letters + string.digits + "-_"


@dataclass(frozen=True, slots=True)
class StackLayout:
    """The files of one named stack below a state folder."""

    state_dir: Path
    name: str

    @property
    def home(self) -> Path:
        """The stack's own folder."""
        return self.state_dir / self.name

    @property
    def state_file(self) -> Path:
        """What runs: processes, ports, times."""
        return self.home / "state.json"

    @property
    def env_file(self) -> Path:
        """Generated secrets, mode 0600."""
        return self.home / ".env"

    def log_file(self, service: str) -> Path:
        """Where a service's output goes."""
        return self.home / "logs" / f"{service}.log"

    def data_dir(self, service: str) -> Path:
        """A service's data; outside the state folder when another user must reach it and can't."""
        local = self.home / "data" / service
        if os.geteuid() != 0 or reachable_by_others(self.home):
            return local
        digest = hashlib.sha256(str(self.home.resolve()).encode()).hexdigest()[:12]
        return SHARED_ROOT / f"{self.name}-{digest}" / service


def reachable_by_others(path: Path) -> bool:
    """Whether an ordinary user may walk down to `path` (the nearest part of it that exists)."""
    path = path.absolute()
    return all(
        part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents) if part.exists()
    )


def read_secrets(layout: StackLayout, wanted: Sequence[str]) -> dict[str, str]:
    """The stack's secrets; one of the `wanted` that is not there yet is made, and stays."""
    found = _read_env(layout.env_file)
    if empty := [name for name in wanted if found.get(name) == ""]:
        raise Misconfigured(
            f"{layout.env_file}: {', '.join(empty)} is empty; write a password behind the '=', or "
            "remove the line to have one made"
        )
    missing = [name for name in wanted if name not in found]
    if missing:
        made = {
            name: "".join(chance.choice(SECRET_ALPHABET) for _ in range(32)) for name in missing
        }
        there = layout.env_file.read_text(encoding="utf-8") if layout.env_file.exists() else ""
        there += "\n" if there and not there.endswith("\n") else ""
        write_private(layout.env_file, there + "".join(f"{k}={v}\n" for k, v in made.items()))
        found |= made
    return found


def _read_env(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    values: dict[str, str] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as err:
        raise Misconfigured(f"{path} is not UTF-8 text; it holds lines NAME=value") from err
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        name, found, value = line.partition("=")
        if not found:
            raise Misconfigured(f"{path}:{number}: has no '='; expected NAME=value")
        values[name.strip()] = value.removesuffix("\r")
    return values


def write_private(path: Path, text: str) -> None:
    """Write a file only its owner may read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


@dataclass(slots=True, kw_only=True)
class ProcessState:
    """One process of a stack; `ticks` tells it from a later process with the same id."""

    pid: int = 0
    ticks: int = 0
    ports: dict[str, int] = field(default_factory=dict)
    state: str = "waiting"
    ready_s: float | None = None
    restarts: int = 0
    why: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        if not all(type(one) is int for one in (self.pid, self.ticks, *self.ports.values())):
            raise TypeError("pid, ticks and ports are whole numbers")


@dataclass(slots=True, kw_only=True)
class StackState:
    """What the supervisor knows of its stack, as written in the state file."""

    stack_id: str
    name: str
    runtime: str
    profile: str
    started_at: str
    fast: bool
    supervisor: ProcessState
    services: dict[str, ProcessState] = field(default_factory=dict)

    @property
    def ports(self) -> dict[str, int]:
        """Every port of every service, by its name."""
        return {name: port for one in self.services.values() for name, port in one.ports.items()}

    def save(self, layout: StackLayout) -> None:
        """Write the state file, whole or not at all."""
        services = {name: _plain(process) for name, process in self.services.items()}
        body = {
            "schema": "cortex.state/2",
            "stack_id": self.stack_id,
            "name": self.name,
            "runtime": self.runtime,
            "profile": self.profile,
            "started_at": self.started_at,
            "fast": self.fast,
            "supervisor": _plain(self.supervisor),
            "services": services,
        }
        write_private(layout.state_file, json.dumps(body, indent=2) + "\n")


def _plain(process: ProcessState) -> dict[str, Any]:
    return {name: getattr(process, name) for name in ProcessState.__slots__}


def load_state(layout: StackLayout) -> StackState | None:
    """The state file's content; None where there is no stack."""
    if not layout.state_file.exists():
        return None
    try:
        body = json.loads(layout.state_file.read_text())
        return StackState(
            stack_id=body["stack_id"],
            name=body["name"],
            runtime=body["runtime"],
            profile=body["profile"],
            started_at=body["started_at"],
            fast=body["fast"],
            supervisor=ProcessState(**body["supervisor"]),
            services={name: ProcessState(**one) for name, one in body["services"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise Misconfigured(
            f"{layout.state_file} is not a state file of this version ({err}); "
            "stop what it names by hand, then delete it"
        ) from err


def file_tail(path: Path, lines: int = 12) -> str:
    """The last lines of a log, for a person to read."""
    if not path.exists():
        return ""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 65536))
        return "\n".join(log.read().decode("utf-8", "replace").splitlines()[-lines:])
