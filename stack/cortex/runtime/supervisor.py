"""The process that owns a native stack: starts services in order, restarts them, stops them all.

It runs detached, one a stack: `python -m cortex.runtime.supervisor STATE_DIR NAME`.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

import httpx

from cortex.runtime import postgres, processes
from cortex.runtime.layout import ProcessState, StackLayout, StackState, load_state, read_secrets
from cortex.runtime.services import SERVICES, Plan, Service
from cortex.shared.errors import StackError
from cortex.shared.logs import set_up_logs
from cortex.shared.settings import inherited_environment

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
BACK_OFF_S = (0.5, 1, 2, 4, 8, 15, 30)
STABLE_AFTER_S = 60.0
FIRST_STARTS = 3
"""A service that never was ready is given up after so many starts."""


@dataclass(slots=True)
class Running:
    """A service's process, and when to look at it again."""

    service: Service
    state: ProcessState
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    ever_ready: bool = False
    retry_at: float = 0.0
    next_look: float = 0.0
    log: IO[bytes] | None = field(default=None, repr=False)


class Supervisor:
    """Keeps the services of one stack running until it is told to stop."""

    def __init__(self, layout: StackLayout, state: StackState) -> None:
        ports = {name: one.port for name, one in state.services.items()}
        self._layout = layout
        self._state = state
        self._plan = Plan(layout=layout, ports=ports, secrets=read_secrets(layout), fast=state.fast)
        self._running = {
            service.name: Running(service, state.services[service.name])
            for service in SERVICES
            if service.name in state.services
        }
        self._stopping = False
        self._unsaved = False
        self._client = httpx.Client(timeout=2.0, trust_env=False)

    def run(self) -> None:
        """Run until a signal says stop, or the first start of a service fails for good."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        try:
            while not self._stopping:
                for one in self._running.values():
                    if not self._stopping:
                        self._look(one)
                if self._unsaved:
                    self._save()
                time.sleep(LOOK_EVERY_S)
        finally:
            self._stop_all()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _look(self, one: Running) -> None:
        now = time.monotonic()
        if one.state.state == "failed" or now < one.next_look:
            return
        if one.process is None:
            if now >= one.retry_at and self._needs_ready(one.service):
                self._start(one)
        elif one.process.poll() is not None:
            self._fell(one, f"exited with {one.process.returncode}")
        elif one.state.state in ("starting", "restarting", "unhealthy"):
            self._await_ready(one)
        elif now - one.started_at > STABLE_AFTER_S:
            self._check_health(one)

    def _needs_ready(self, service: Service) -> bool:
        needed = (self._running[name] for name in service.needs if name in self._running)
        return all(one.ever_ready for one in needed)

    def _start(self, one: Running) -> None:
        one.started_at = time.monotonic()
        one.state.state = "restarting" if one.ever_ready else "starting"
        try:
            self._spawn(one)
        except (StackError, OSError, subprocess.SubprocessError) as err:
            self._fell(one, str(err))
            return
        self._save()

    def _spawn(self, one: Running) -> None:
        path = self._layout.log_file(one.service.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        one.log = path.open("ab")
        if one.service.name == "postgres":
            programs, owner = postgres.bin_dir(), postgres.account()
            data = postgres.prepare(self._plan, programs, owner)
            environment = postgres.environment()
            command: tuple[str, ...] = (str(programs / "postgres"), "-D", str(data))
            user = owner.run_as() if owner else {}
        else:
            environment = self.environment_of(one.service)
            command, user = one.service.command, {}
            for first in one.service.before:
                self._run_before(one, first, environment)
        one.process = subprocess.Popen(
            command,
            env=environment | {processes.STACK_ID_VARIABLE: self._state.stack_id},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=one.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **user,  # type: ignore[call-overload]
        )
        one.state.pid = one.process.pid
        one.state.ticks = processes.start_ticks(one.process.pid)

    def environment_of(self, service: Service) -> dict[str, str]:
        """A service's environment: the caller's, less other stacks' settings, plus its row's."""
        mine = f"CORTEX_{service.name.upper()}_"
        inherited = {
            name: value
            for name, value in inherited_environment().items()
            if not name.startswith("CORTEX_") or name.startswith(mine)
        }
        return dict(service.defaults) | inherited | dict(service.environment(self._plan))

    def _run_before(self, one: Running, command: tuple[str, ...], env: dict[str, str]) -> None:
        env = env | {processes.STACK_ID_VARIABLE: self._state.stack_id}
        done = subprocess.run(
            command, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=one.log, stderr=one.log
        )
        if done.returncode:
            raise StackError(f"`{' '.join(command[2:])}` exited with {done.returncode}")

    def _await_ready(self, one: Running) -> None:
        try:
            version = self._ready(one.service)
        except StackError as err:
            self._fell(one, str(err))
            return
        if version is not None:
            one.state.state, one.state.version, one.state.why = "ready", version, ""
            if not one.ever_ready or one.state.ready_s is None:
                one.state.ready_s = round(time.monotonic() - one.started_at, 2)
            one.ever_ready = True
            log.info("service ready", extra={"service": one.service.name})
            self._save()
        elif time.monotonic() - one.started_at > one.service.ready_within_s:
            if one.ever_ready and one.service.live_path and self._lives(one.service):
                one.started_at = time.monotonic()
                return
            self._fell(one, f"was not ready within {one.service.ready_within_s:.0f} s")

    def _ready(self, service: Service) -> str | None:
        if service.name == "postgres":
            version = postgres.answers(self._plan)
            if version is not None and not self._running["postgres"].ever_ready:
                postgres.lay_down_application(self._plan)
            return version
        try:
            answer = self._client.get(f"{self._plan.url(service.name)}{service.health_path}")
        except httpx.HTTPError:
            return None
        if answer.status_code != 200:
            return None
        with contextlib.suppress(ValueError, AttributeError):
            return str(answer.json().get("version", ""))
        return ""

    def _lives(self, service: Service) -> bool:
        """Whether the process answers, though it may not be ready: another service is the cause."""
        try:
            answer = self._client.get(f"{self._plan.url(service.name)}{service.live_path}")
        except httpx.HTTPError:
            return False
        return answer.status_code == 200

    def _check_health(self, one: Running) -> None:
        one.next_look = time.monotonic() + 5.0
        if one.service.health_path and self._ready(one.service) is None:
            one.state.state = "unhealthy"
            one.started_at = time.monotonic()
            self._save()

    def _fell(self, one: Running, why: str) -> None:
        ran_s = time.monotonic() - one.started_at
        if one.process is not None:
            processes.stop({one.state.pid: one.state.ticks}, signal.SIGKILL, 1.0)
            one.process.wait()
        one.process = None
        one.state.restarts = 1 if ran_s > STABLE_AFTER_S else one.state.restarts + 1
        one.state.why = why
        pause = BACK_OFF_S[min(one.state.restarts, len(BACK_OFF_S)) - 1]
        one.retry_at = time.monotonic() + pause
        one.state.state = "restarting"
        if not one.ever_ready and one.state.restarts >= FIRST_STARTS:
            one.state.state = "failed"
        log.warning("service fell", extra={"service": one.service.name, "why": why})
        if one.log:
            one.log.close()
        self._save()

    def _stop_all(self) -> None:
        for one in reversed(self._running.values()):
            if one.process is not None and one.process.poll() is None:
                first = signal.SIGINT if one.service.name == "postgres" else signal.SIGTERM
                one.state.state = "stopping"
                self._save()
                _stop_child(one, first)
            one.state.state, one.state.pid, one.state.ticks = "stopped", 0, 0
        processes.stop(processes.with_stack_id(self._state.stack_id), signal.SIGTERM, 5.0)
        self._state.supervisor.state = "stopped"
        self._save()

    def _save(self) -> None:
        try:
            self._state.save(self._layout)
        except OSError as err:  # a full disk must not take the stack down; it is tried again
            if not self._unsaved:
                log.warning("state not saved", extra={"why": str(err)})
            self._unsaved = True
        else:
            self._unsaved = False


def _stop_child(one: Running, first: signal.Signals) -> None:
    assert one.process is not None
    processes.signal_group(one.process.pid, first)
    try:
        one.process.wait(one.service.stop_within_s)
    except subprocess.TimeoutExpired:
        processes.signal_group(one.process.pid, signal.SIGKILL)
        one.process.wait()


def main() -> None:
    """Entry point of the detached process."""
    layout = StackLayout(Path(sys.argv[1]), sys.argv[2])
    set_up_logs()
    # Postgres' user must walk to its data, whatever the caller's mask; secrets have their own mode.
    os.umask(0o022)
    state = load_state(layout)
    if state is None:
        raise SystemExit(f"no state file in {layout.home}")
    pid = os.getpid()
    state.supervisor = ProcessState(pid=pid, ticks=processes.start_ticks(pid), state="running")
    state.save(layout)
    Supervisor(layout, state).run()


if __name__ == "__main__":
    main()
