"""The process that owns a native stack: starts services in order, restarts them, stops them all.

It runs detached, one a stack: `python -m cortex.runtime.supervisor STATE_DIR NAME`.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

import httpx

from cortex.runtime import processes
from cortex.runtime.layout import ProcessState, StackLayout, StackState, load_state, read_secrets
from cortex.runtime.plan import Plan
from cortex.runtime.programs import program
from cortex.runtime.programs.program import Health, Start
from cortex.runtime.services import SECRETS, SERVICES, Service
from cortex.shared.errors import StackError
from cortex.shared.logs import set_up_logs
from cortex.shared.settings import inherited_environment

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
ASK_EVERY_S = 2.0
BACK_OFF_S = (0.5, 1, 2, 4)
"""The longest pause is short: when the cause of a fall ends, nobody waits long for the next try."""
STABLE_AFTER_S = 60.0
"""A service that served so long before it fell begins its count of restarts anew."""
SILENT_FOR_S = 7.0
"""How long a service that was ready may give no answer before it is replaced. It counts from the
first answer that did not come, so that a machine that stood still does not replace everything."""
FIRST_STARTS = 3
"""A service that never was ready is given up after so many starts."""


@dataclass(slots=True)
class Running:
    """A service's process, and when to look at it again."""

    service: Service
    state: ProcessState
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    waits_from: float = 0.0
    """Since when it is not ready: its start, or when it stopped being well."""
    ready_at: float | None = None
    """When this process became ready first."""
    ever_ready: bool = False
    start: Start | None = None
    left_to_run: tuple[tuple[str, ...], ...] = ()
    retry_at: float = 0.0
    next_ask: float = 0.0
    asked: "Future[Health] | None" = None
    heard_at: float = 0.0
    log: IO[bytes] | None = field(default=None, repr=False)


class Supervisor:
    """Keeps the services of one stack running until it is told to stop."""

    def __init__(self, layout: StackLayout, state: StackState) -> None:
        self._layout = layout
        self._state = state
        secrets = read_secrets(layout, SECRETS)
        self._plan = Plan(layout=layout, ports=state.ports, secrets=secrets, fast=state.fast)
        self._running = {
            service.name: Running(service, state.services[service.name])
            for service in SERVICES
            if service.name in state.services
        }
        self._stopping = False
        self._unsaved = False
        self._client = httpx.Client(timeout=2.0, trust_env=False)
        # Asked beside the loop: one that gives no answer must not keep it from the others.
        self._askers = ThreadPoolExecutor(len(self._running), "ask")

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
        if one.state.state == "failed":
            return
        if one.process is None:
            if now >= one.retry_at and self._needs_ready(one.service):
                self._start(one)
        elif (code := one.process.poll()) is not None:
            if code == 0 and one.left_to_run:
                self._tried(one, self._run_next)
            else:
                self._fell(one, f"{_words(one)} exited with {code}")
        elif now - one.started_at > one.service.ready_within_s and one.left_to_run:
            self._fell(one, f"{_words(one)} took over {one.service.ready_within_s:.0f} s")
        elif not one.left_to_run:
            self._tried(one, self._ask)

    def _tried(self, one: Running, step: Callable[[Running], None]) -> None:
        try:
            step(one)
        except (StackError, OSError, subprocess.SubprocessError) as err:
            self._fell(one, str(err))

    def _needs_ready(self, service: Service) -> bool:
        needed = (self._running[name] for name in service.needs if name in self._running)
        return all(one.ever_ready for one in needed)

    def _start(self, one: Running) -> None:
        now = time.monotonic()
        one.started_at = one.waits_from = one.heard_at = one.next_ask = now
        one.ready_at = None
        one.state.state = "restarting" if one.ever_ready else "starting"
        self._tried(one, self._begin)

    def _begin(self, one: Running) -> None:
        path = self._layout.log_file(one.service.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        one.log = path.open("ab")
        one.start = one.service.program.begin(
            self._plan, inherited_environment(), again=one.ever_ready
        )
        one.left_to_run = one.start.commands
        self._run_next(one)

    def _run_next(self, one: Running) -> None:
        """Run the next of a service's commands; the last one is the service itself."""
        assert one.start is not None
        command, *rest = one.left_to_run
        one.process = subprocess.Popen(
            command,
            env={**one.start.environment, processes.STACK_ID_VARIABLE: self._state.stack_id},
            cwd=one.start.folder,
            stdin=subprocess.DEVNULL,
            stdout=one.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **one.start.run_as,  # type: ignore[call-overload]
        )
        one.left_to_run = tuple(rest)
        one.state.pid = one.process.pid
        one.state.ticks = processes.start_ticks(one.process.pid)
        self._save()

    def _ask(self, one: Running) -> None:
        """Ask for a service's health, or judge the answer of when it was asked last."""
        now = time.monotonic()
        if one.asked is None:
            if now >= one.next_ask:
                one.asked = self._askers.submit(one.service.program.ask, self._plan, self._client)
            return
        if one.asked.done():
            found = one.asked.result()
            one.asked = None
            one.next_ask = now + (ASK_EVERY_S if found.version is not None else 0.0)
            self._judge(one, found, now)

    def _judge(self, one: Running, found: Health, now: float) -> None:
        if found.lives:
            one.heard_at = now
        if found.version is not None:
            if one.state.state != "ready":
                self._is_ready(one, found.version)
            return
        if one.state.state == "ready":
            one.state.state = "unhealthy"
            one.waits_from = one.heard_at = now
            self._save()
        if one.state.state == "unhealthy" and found.hangs:
            self._fell(one, f"gave no answer for {sum(program.PATIENCE_S):.0f} s")
        elif one.state.state == "unhealthy" and now - one.heard_at > SILENT_FOR_S:
            self._fell(one, f"gave no answer for {SILENT_FOR_S:.0f} s")
        elif now - one.waits_from > one.service.ready_within_s and not (
            # Alive and not ready: the cause is another service, and a new process would not help.
            one.ever_ready and one.service.program.lives_apart and found.lives
        ):
            self._fell(one, f"was not ready within {one.service.ready_within_s:.0f} s")

    def _is_ready(self, one: Running, version: str) -> None:
        if not one.ever_ready:
            one.service.program.first_ready(self._plan)
        one.state.state, one.state.version, one.state.why = "ready", version, ""
        if not one.ever_ready or one.state.ready_s is None:
            one.state.ready_s = round(time.monotonic() - one.started_at, 2)
        one.ready_at = one.ready_at or time.monotonic()
        one.ever_ready = True
        log.info("service ready", extra={"service": one.service.name})
        self._save()

    def _fell(self, one: Running, why: str) -> None:
        served_s = time.monotonic() - one.ready_at if one.ready_at else 0.0
        if one.process is not None:
            first, within_s = one.service.program.farewell
            processes.stop({one.state.pid: one.state.ticks}, first, within_s)
            one.process.wait()
        one.process, one.asked, one.left_to_run = None, None, ()
        one.state.restarts = 1 if served_s > STABLE_AFTER_S else one.state.restarts + 1
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
        left = [one for one in self._running.values() if one.process is not None]
        while left:
            # What nothing left needs stops now, all of it at once: Neo4j alone takes ten seconds.
            needed = {name for one in left for name in one.service.needs}
            now = [one for one in left if one.service.name not in needed]
            left = [one for one in left if one not in now]
            self._stop_together(now)
        for one in self._running.values():
            one.state.state, one.state.pid, one.state.ticks = "stopped", 0, 0
        self._askers.shutdown(wait=False, cancel_futures=True)
        processes.stop(processes.with_stack_id(self._state.stack_id), signal.SIGTERM, 5.0)
        self._state.supervisor.state = "stopped"
        self._save()

    def _stop_together(self, these: list[Running]) -> None:
        for one in these:
            assert one.process is not None
            one.state.state = "stopping"
            processes.signal_group(one.process.pid, one.service.program.asks_to_stop)
        self._save()
        asked_at = time.monotonic()
        for one in these:
            assert one.process is not None
            left_s = asked_at + one.service.program.stop_within_s - time.monotonic()
            try:
                one.process.wait(max(left_s, 0.0))
            except subprocess.TimeoutExpired:
                processes.signal_group(one.process.pid, signal.SIGKILL)
                one.process.wait()

    def _save(self) -> None:
        try:
            self._state.save(self._layout)
        except OSError as err:  # a full disk must not take the stack down; it is tried again
            if not self._unsaved:
                log.warning("state not saved", extra={"why": str(err)})
            self._unsaved = True
        else:
            self._unsaved = False


def _words(one: Running) -> str:
    """What of a service ran: one of the commands before it, or itself."""
    if not one.left_to_run or one.start is None:
        return "the service"
    place = len(one.start.commands) - len(one.left_to_run) - 1
    return f"`{' '.join(one.start.commands[place][2:])}`"


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
