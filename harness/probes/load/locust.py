"""Runs Locust on a plan, and reads what it left."""

import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import pydantic

from harness import processes, progress
from harness.environment import ROOT
from harness.errors import HarnessError
from harness.servers import free_port
from loadtests.plans import Plan

SPARE_S = 60.0
"""Beyond a plan's limit, at which Locust ends by itself with what it has: to start and to tell."""


class Recorded(pydantic.BaseModel):
    """What a load process left: histograms as text, counts, its own CPU.

    `stages` and `waited` are by `workload/stage`. Searches answered whole have hits or none;
    `first_hits` are the first two different ones.
    """

    model_config = pydantic.ConfigDict(extra="forbid")

    schema_: str = pydantic.Field(alias="schema")
    response: str
    service: str
    lag: str
    workloads: dict[str, str]
    stages: dict[str, str]
    waited: dict[str, str] = {}
    answered: int
    dropped: int
    errors: dict[str, int]
    with_hits: int = 0
    without_hits: int = 0
    first_hits: list[str] = []
    elapsed_s: float
    cpu_cores: list[float]
    lost: int = 0
    samples: list[tuple[float, float, float, float, int]]


def run(plan: Plan, name: str, log: Path) -> Recorded:
    """One headless Locust process; its plan holds a token, so it is nobody else's to read."""
    users = "ClosedCallers" if plan.model == "closed" else "OpenCallers"
    with tempfile.TemporaryDirectory(prefix="cortex-load-") as scratch:
        plan_file, out = Path(scratch) / "plan.json", Path(scratch) / "record.json"
        plan_file.write_text(json.dumps(asdict(plan)), encoding="utf-8")
        command = [
            *(sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests" / "callers.py")),
            *("--headless", "--only-summary", "--users", str(max(plan.users, plan.processes))),
            *("--spawn-rate", str(plan.users), "--plan", str(plan_file), "--record", str(out)),
            *(_together(plan.processes) if plan.processes > 1 else ()),
            users,
        ]
        environment = processes.inherited("LOCUST_", {"PYTHONPATH": _python_path()})
        with processes.running(command, environment, log) as child:
            _watch(child, name, plan, log)
        if not out.exists():
            raise HarnessError(f"Locust left no record{processes.tail(log)}")
        return Recorded.model_validate_json(out.read_bytes())


def _together(processes_: int) -> list[str]:
    """Arguments for a master and so many workers of this machine, on a port of their own."""
    port = str(free_port())
    return [
        *("--processes", str(processes_), "--master-bind-host", "127.0.0.1"),
        *("--expect-workers-max-wait", "30"),
        *("--master-bind-port", port, "--master-host", "127.0.0.1", "--master-port", port),
    ]


def _python_path() -> str:
    return os.pathsep.join([str(ROOT), *(path for path in sys.path if path)])


def _watch(child: processes.Child, name: str, plan: Plan, log: Path) -> None:
    """Show how long it has been, until the process ends or is over its time."""
    expected_s = round(plan.moments[-1]) if plan.moments else 0
    what = f"load, {name}"
    if expected_s:
        started = time.monotonic()
        with progress.steps(what, expected_s) as step:
            for _ in range(expected_s):
                if processes.until(lambda: child.poll() is not None, child, 1.0):
                    break
                step(1)
        left_s = started + plan.limit_s + SPARE_S - time.monotonic()
        processes.finish(child, max(1.0, left_s), "Locust", log)
        return
    progress.say(f"  {what}: {len(plan.calls)} calls by {plan.users} callers")
    processes.finish(child, plan.limit_s + SPARE_S, "Locust", log)
