"""A native stack as its user handles it: up, status, down."""

import contextlib
import fcntl
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cortex.runtime import ports, processes
from cortex.runtime.layout import (
    SHARED_ROOT,
    ProcessState,
    StackLayout,
    StackState,
    load_state,
    read_secrets,
)
from cortex.runtime.plan import Plan
from cortex.runtime.programs.program import Say
from cortex.runtime.services import SECRETS, SERVICES, Service, select
from cortex.shared.errors import InvalidInput, StackError, Unavailable
from cortex.shared.settings import inherited_environment

LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a user asks of `up`."""

    profile: str = "memory"
    services: tuple[str, ...] = ()
    port_offset: int = 0
    free_ports: bool = False
    fast: bool = False


def up(layout: StackLayout, wish: Wish, say: Say) -> tuple[StackState, bool]:
    """The stack, and whether this call started it; raises where a port is taken or a name unknown.

    One that runs is left as it is, and must have all that is wished for. What a service needs and
    no package brings is fetched first; `say` tells how far that is.
    """
    known = {service.name for service in SERVICES}
    if unknown := sorted(set(wish.services) - known):
        raise InvalidInput(f"no service {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    with _locked(layout):
        state = load_state(layout)
        if state and processes.is_alive(state.supervisor.pid, state.supervisor.ticks):
            wanted = [service.name for service in select(wish.profile, wish.services)]
            if missing := [name for name in wanted if name not in state.services]:
                raise InvalidInput(
                    f"stack {layout.name!r} runs without {', '.join(missing)}; "
                    "`cortex down` first, or use another --name"
                )
            return state, False
        if state:
            _stop_everything(layout, state)
        return _launch(layout, wish, say), True


def _launch(layout: StackLayout, wish: Wish, say: Say) -> StackState:
    services = select(wish.profile, wish.services)
    chosen = _choose_ports(services, wish)
    read_secrets(layout, SECRETS)
    for service in services:
        service.program.fetch(say)
    state = StackState(
        stack_id=uuid.uuid4().hex,
        name=layout.name,
        runtime="native",
        profile=wish.profile,
        started_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        fast=wish.fast,
        supervisor=ProcessState(state="starting"),
        services={
            service.name: ProcessState(ports={name: chosen[name] for name in service.ports})
            for service in services
        },
    )
    state.save(layout)
    log_path = layout.log_file("supervisor")
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "cortex.runtime.supervisor", str(layout.state_dir), layout.name],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
            env=_environment() | {processes.STACK_ID_VARIABLE: state.stack_id},
        )
    try:
        return _taken_over(layout, process)
    except BaseException:  # Ctrl-C as well: what was started here does not stay behind
        _stop_everything(layout, load_state(layout) or state)
        layout.state_file.unlink(missing_ok=True)
        raise


def _environment() -> dict[str, str]:
    """The caller's environment without libpq's variables, which would change where we connect."""
    return {k: v for k, v in inherited_environment().items() if not k.startswith("PG")}


def _taken_over(layout: StackLayout, process: "subprocess.Popen[bytes]") -> StackState:
    """The state once the supervisor has written itself into it."""
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline and process.poll() is None:
        found = load_state(layout)
        if found and found.supervisor.pid == process.pid:
            return found
        time.sleep(LOOK_EVERY_S)
    raise StackError(f"the supervisor did not start; see {layout.log_file('supervisor')}")


def _choose_ports(services: tuple[Service, ...], wish: Wish) -> dict[str, int]:
    wanted = {name: port for service in services for name, port in service.ports.items()}
    if wish.free_ports:
        return dict(zip(wanted, ports.free(len(wanted)), strict=True))
    chosen = {name: port + wish.port_offset for name, port in wanted.items()}
    taken = {name: ports.holder(port) for name, port in chosen.items()}
    if busy := [f"{chosen[n]} ({n}) is held by {who}" for n, who in taken.items() if who]:
        raise Unavailable(f"port {'; port '.join(busy)}. Stop it yourself, or use --port-offset N")
    return chosen


def wait_until_ready(layout: StackLayout, within_s: float) -> Iterator[StackState]:
    """The state at each change until all is ready; raises when a service failed or time is up."""
    deadline = time.monotonic() + within_s
    seen = None
    while True:
        state = load_state(layout)
        if state is None:
            raise StackError("the stack's state file is gone; was it taken down?")
        if (now := {n: s.state for n, s in state.services.items()}) != seen:
            seen = now
            yield state
        if all(one.state == "ready" for one in state.services.values()):
            return
        for name, one in state.services.items():
            if one.state == "failed":
                raise StackError(f"{name} did not start: {one.why}")
        if not processes.is_alive(state.supervisor.pid, state.supervisor.ticks):
            raise StackError(f"the supervisor is gone; see {layout.log_file('supervisor')}")
        if time.monotonic() > deadline:
            waiting = ", ".join(n for n, s in state.services.items() if s.state != "ready")
            raise StackError(f"not ready within {within_s:.0f} s: {waiting}")
        time.sleep(LOOK_EVERY_S)


def down(layout: StackLayout, *, volumes: bool = False) -> bool:
    """Stop every process of the stack; False if there was none. `volumes` removes its data too."""
    with _locked(layout):
        state = load_state(layout)
        if state is not None:
            _stop_everything(layout, state)
            layout.state_file.unlink(missing_ok=True)
        if volumes:
            for service in SERVICES:
                data = layout.data_dir(service.name)
                ours = data.parent if data.is_relative_to(SHARED_ROOT) else data
                shutil.rmtree(ours, ignore_errors=True)
            shutil.rmtree(layout.home, ignore_errors=True)
        return state is not None


def _stop_everything(layout: StackLayout, state: StackState) -> None:
    """The supervisor first (it stops its own), then whatever a killed one left behind."""
    supervisor = state.supervisor
    processes.stop({supervisor.pid: supervisor.ticks}, signal.SIGTERM, 60.0)
    state = load_state(layout) or state
    for service in reversed(SERVICES):
        one, program = state.services.get(service.name), service.program
        ours = program.serving(layout) | ({one.pid: one.ticks} if one and one.pid else {})
        processes.stop(ours, program.asks_to_stop, program.stop_within_s)
    processes.stop(processes.with_stack_id(state.stack_id), signal.SIGTERM, 10.0)
    # What a killed server left standing still; it bears no stack id any more.
    for service in reversed(SERVICES):
        processes.stop(service.program.left_behind(layout), signal.SIGKILL, 5.0)


@contextlib.contextmanager
def _locked(layout: StackLayout) -> Iterator[None]:
    """One `up` or `down` of a stack at a time; the lock goes with the process that holds it."""
    layout.state_dir.mkdir(parents=True, exist_ok=True)
    with (layout.state_dir / f".{layout.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def targets(layout: StackLayout, state: StackState, revision: str) -> dict[str, Any]:
    """The `cortex.targets/1` document: where each service answers, with secrets."""
    secrets = read_secrets(layout, SECRETS)
    plan = Plan(layout=layout, ports=state.ports, secrets=secrets, fast=state.fast)
    services: dict[str, Any] = {}
    for service in SERVICES:
        one = state.services.get(service.name)
        if one is not None:
            services[service.name] = {
                "version": one.version,
                "pids": [one.pid],
                "log": str(layout.log_file(service.name).absolute()),
                **service.program.target(plan),
            }
    return {
        "schema": "cortex.targets/1",
        "stack": {
            "name": state.name,
            "runtime": state.runtime,
            "profile": state.profile,
            "revision": revision,
            "started_at": state.started_at,
        },
        "services": services,
    }
