"""Locust users that send the calls of a plan: `ClosedCallers` and `OpenCallers`.

Run by the harness (`cortex-harness load`), which writes the plan; by hand:
`locust -f loadtests/callers.py --headless --plan PLAN --record OUT ClosedCallers`; over several
machines with Locust's own `--master --expect-workers N` and `--worker`, the plan's `processes` N.
"""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
from gevent.event import Event
from gevent.pool import Pool
from locust import FastHttpUser, constant, events, task
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import MasterRunner, Runner, WorkerRunner

from loadtests.answers import TOLD, Told
from loadtests.plans import Call, Plan
from loadtests.recording import Recorder, merged, now, timing_of

CPU_EVERY_S = 1.0
LEAD_S = 0.3
"""Between the start of the scheduler and the first arrival, so that none is late from the start."""
TIMEOUT_S = 60.0
LOOK_EVERY_S = 1.0
HEARD_WITHIN_S = 30.0
"""After the plan's limit, so that every process can still say what it found."""

FOUND = "cortex-found"
"""The message in which a process tells the master what it found."""


class Run:
    """What the users of this process share, and what its runner has heard from all processes."""

    def __init__(self, plan: Plan, record: Path) -> None:
        self.plan = plan
        self.record = record
        self.recorder = Recorder()
        self.waiting: Iterator[tuple[int, float, Call]] = iter(())
        self.left = 0
        self.pool = plan.pool
        self.scheduled = False
        self.done = Event()
        self.heard: list[dict[str, Any]] = []
        self.all_heard = Event()

    def take_part(self, index: int) -> None:
        """Take this process's share of the plan."""
        share = self.plan.share(index)
        self.waiting = iter(share)
        self.left = len(share)
        if not share:
            self.done.set()

    def finish_one(self) -> None:
        """Count down; the last one ends this process's part."""
        self.left -= 1
        if self.left <= 0:
            self.done.set()

    def hear(self, found: dict[str, Any]) -> None:
        """Keep what a process found; with the last one the run is over."""
        self.heard.append(found)
        if len(self.heard) >= self.plan.processes:
            self.all_heard.set()


@events.init_command_line_parser.add_listener
def _arguments(parser: ArgumentParser, **_: object) -> None:
    # Text, not paths: Locust sends its options to its workers, and can send plain values only.
    parser.add_argument("--plan", required=True, help="The plan to follow.")
    parser.add_argument("--record", required=True, help="Where to leave the result.")


@events.init.add_listener
def _prepare(environment: Environment, runner: Runner, **_: object) -> None:
    options: Any = environment.parsed_options
    run = Run(Plan.read(Path(options.plan)), Path(options.record))
    environment.cortex_run = run
    run.pool = -(-run.plan.pool // run.plan.processes)
    OpenCallers.concurrency = run.pool
    OpenCallers.fixed_count = run.plan.processes
    ClosedCallers.wait_time = constant(run.plan.think_s)
    environment.stop_timeout = TIMEOUT_S
    # All callers at once: one process after the other would be another rate than the plan's.
    options.num_users = options.spawn_rate = max(run.plan.users, run.plan.processes)
    if not isinstance(runner, WorkerRunner):
        runner.register_message(FOUND, lambda msg, **_: run.hear(msg.data))


@events.test_start.add_listener
def _start(environment: Environment, **_: object) -> None:
    run, runner = environment.cortex_run, environment.runner
    if not isinstance(runner, MasterRunner):
        run.take_part(runner.worker_index)
        gevent.spawn(_sample_cpu, run)
        gevent.spawn(_report_when_done, run, runner)
    if not isinstance(runner, WorkerRunner):
        gevent.spawn(_quit_when_all_is_heard, run, runner)


def _report_when_done(run: Run, runner: Runner) -> None:
    run.done.wait(run.plan.limit_s)
    run.recorder.sample_cpu()
    runner.send_message(FOUND, run.recorder.found())


def _quit_when_all_is_heard(run: Run, runner: Runner) -> None:
    """End with the last process that can still say something."""
    deadline = now() + run.plan.limit_s + HEARD_WITHIN_S
    while now() < deadline and not run.all_heard.wait(LOOK_EVERY_S):
        if isinstance(runner, MasterRunner) and len(run.heard) >= runner.worker_count:
            break  # who is still there has spoken; the others are lost
    runner.quit()


def _sample_cpu(run: Run) -> None:
    while not run.done.wait(CPU_EVERY_S):
        run.recorder.sample_cpu()


@events.quitting.add_listener
def _leave(environment: Environment, **_: object) -> None:
    run: Run = environment.cortex_run
    if not isinstance(environment.runner, WorkerRunner):
        # A process alone that was told to stop in the middle still leaves what it has.
        found = merged(run.heard or [run.recorder.found()])
        together = isinstance(environment.runner, MasterRunner)
        found["lost"] = run.plan.processes - len(run.heard) if together else 0
        run.record.write_text(json.dumps(found), encoding="utf-8")
    # A failed call is in the record; the exit code only says whether there is one.
    environment.process_exit_code = 0


class _Callers(FastHttpUser):
    abstract = True
    host = "http://127.0.0.1"
    network_timeout = TIMEOUT_S
    connection_timeout = 10.0

    @property
    def run_(self) -> Run:
        """The shared state of this process."""
        run: Run = self.environment.cortex_run
        return run

    def send(self, call: Call, due_s: float | None, timed: bool) -> None:
        """Send one call and record it; without `due_s` it is due when it is sent."""
        run = self.run_
        sent_s = now()
        due_s = sent_s if due_s is None else due_s
        if timed:
            run.recorder.start(due_s)
        try:
            try:
                answered_s, told, timing = self._answered(call)
            except Exception as err:  # noqa: BLE001 - whatever an answer does to us is its failure
                answered_s, told, timing = now(), Told(f"{type(err).__name__}: {err}"[:200]), ""
            if timed:
                times_s = (due_s, sent_s, answered_s)
                run.recorder.add(call.workload, times_s, told.error, timing, told.first_hit)
        finally:
            run.finish_one()

    def _answered(self, call: Call) -> tuple[float, Told, str]:
        """When the answer was there, what is wrong with it, if anything, its `Server-Timing`."""
        with self.client.post(
            call.url,
            data=call.body,
            headers=call.headers,
            name=call.workload,
            catch_response=True,
        ) as answer:
            answered_s = now()
            told = TOLD[call.shape](answer)
            if told.error:
                answer.failure(told.error)
            return answered_s, told, timing_of(answer.headers or {})


class ClosedCallers(_Callers):
    """A caller who asks, waits for the answer, and asks again."""

    @task
    def ask(self) -> None:
        """The next call nobody took yet."""
        taken = next(self.run_.waiting, None)
        if taken is None:
            raise StopUser
        number, _, call = taken
        self.send(call, due_s=None, timed=number >= self.run_.plan.warm_up)


class OpenCallers(_Callers):
    """The one scheduler of a process: sends at planned moments, and never waits for an answer."""

    fixed_count = 1

    @task
    def keep_to_the_plan(self) -> None:
        """Send every call at its moment; with the pool full it is dropped and counted."""
        run, pool = self.run_, Pool(self.run_.pool)
        if run.scheduled:  # Locust puts a lost process's caller here; its part is lost all the same
            raise StopUser
        run.scheduled = True
        start_s = now() + LEAD_S
        run.recorder.start(start_s + run.plan.warm_up_s)
        for _, moment, call in run.waiting:
            gevent.sleep(max(0.0, start_s + moment - now()))
            timed = moment >= run.plan.warm_up_s
            if pool.full():
                if timed:
                    run.recorder.drop()
                run.finish_one()
            else:
                pool.spawn(self.send, call, start_s + moment, timed)
        pool.join()
        raise StopUser
