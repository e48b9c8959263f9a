"""The load suite: searches a memory server with Locust, in a closed and in an open model.

Each profile runs in a process of its own, against a server that is started like the stack's own and
calls the real embedding service: nothing is cached. A run that did not keep to its plan is invalid:
it is measured once more, and if it is invalid again it says so and counts for nothing.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pydantic

from harness import processes, progress
from harness.environment import ROOT
from harness.errors import HarnessError, NothingCollected
from harness.evalsets.records import EvalSet
from harness.measures.latency import QUANTILES, Latencies
from harness.measures.schedule import arrivals
from harness.metrics import METRICS
from harness.probes import load_profiles, load_queries
from harness.probes.load_profiles import Closed, LoadProfile, Open
from harness.probes.workbench import Loaded, Variant
from harness.results import Failure, Record, Result
from harness.runs import csv_text
from loadtests.plans import Plan

if TYPE_CHECKING:
    from harness.suites import Context

ATTEMPTS = 2
START_WITHIN_S = 60.0
SLOWEST_SEARCH_S = 5.0


class Recorded(pydantic.BaseModel):
    """What a load process left: histograms as text, counts, its own CPU."""

    model_config = pydantic.ConfigDict(extra="forbid")

    schema_: str = pydantic.Field(alias="schema")
    response: str
    service: str
    lag: str
    stages: dict[str, str]
    answered: int
    dropped: int
    errors: dict[str, int]
    elapsed_s: float
    cpu_cores: list[float]
    samples: list[tuple[float, float, float, float, int]]


@dataclass(frozen=True, slots=True)
class Measured:
    """One profile's run, and the reasons why it does not count (none when it does)."""

    profile: LoadProfile
    recorded: Recorded
    planned: int
    achieved: float
    throughput: float
    client_cores: float
    reasons: list[str]


def measure(context: "Context") -> Iterator[Record]:
    """Run every profile, and yield what was measured."""
    profiles = load_profiles.read_all(context.load_profiles, context.profile)
    if not profiles:
        raise NothingCollected(f"no profile in {context.load_profiles}")
    if not context.sets:
        raise NothingCollected("no eval set to search in; put one into evals/relevance")
    done: list[Measured] = []
    for profile in profiles:
        done.append(_run(context, profile))
        yield from _records(done[-1])
        _write_tables(context, done)


def _run(context: "Context", profile: LoadProfile) -> Measured:
    loaded = context.bench.load(_chosen(context.sets, profile.size.sets))
    for attempt in range(1, ATTEMPTS + 1):
        with context.bench.servers(
            loaded.database_url, [Variant(f"load-{profile.name}", cached=False)]
        ) as (client,):
            plan = _plan(context, profile, loaded, client.url)
            measured = _judged(profile, plan, _locust(context, profile, plan))
        if not measured.reasons:
            break
        if attempt < ATTEMPTS:
            progress.say(f"  {profile.name}: invalid ({measured.reasons[0]}); measuring once more")
    return measured


def _chosen(sets: tuple[EvalSet, ...], wanted: list[str]) -> EvalSet:
    """The first wanted set that is there, else the largest."""
    by_name = {one.name: one for one in sets}
    named = [by_name[name] for name in wanted if name in by_name]
    return named[0] if named else max(sets, key=lambda one: len(one.documents))


def _plan(context: "Context", profile: LoadProfile, loaded: Loaded, url: str) -> Plan:
    size, token = profile.size, context.targets.services.memory.token
    if isinstance(size, Closed):
        count = size.warm_up + size.searches
        calls = load_queries.calls(loaded, count, context.seed, token)
        return Plan(
            model="closed",
            url=url,
            calls=calls,
            users=size.users,
            warm_up=size.warm_up,
            think_s=size.think_s,
            moments=[],
            limit_s=START_WITHIN_S + count * (SLOWEST_SEARCH_S / size.users + size.think_s),
        )
    moments = list(arrivals(size.per_second, size.seconds, context.seed, size.law))
    # Another seed than the closed profile's, so that no search is asked in both.
    calls = load_queries.calls(loaded, len(moments), context.seed + 1, token)
    return Plan(
        model="open",
        url=url,
        calls=calls,
        moments=moments,
        warm_up_s=size.warm_up_s,
        pool=size.pool,
        limit_s=START_WITHIN_S + size.seconds + 30 * SLOWEST_SEARCH_S,
    )


def _locust(context: "Context", profile: LoadProfile, plan: Plan) -> Recorded:
    """One headless Locust process; its plan holds a token, so it is nobody else's to read."""
    users = "ClosedSearches" if plan.model == "closed" else "OpenSearches"
    log = context.folder.path / "logs" / f"locust-{profile.name}.log"
    with tempfile.TemporaryDirectory(prefix="cortex-load-") as scratch:
        plan_file, out = Path(scratch) / "plan.json", Path(scratch) / "record.json"
        plan_file.write_text(json.dumps(asdict(plan)), encoding="utf-8")
        command = [
            *(sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests" / "search.py")),
            *("--headless", "--only-summary", "--users", str(plan.users)),
            *("--spawn-rate", str(plan.users), "--plan", str(plan_file), "--record", str(out)),
            users,
        ]
        environment = processes.inherited("LOCUST_", {"PYTHONPATH": _python_path()})
        with processes.running(command, environment, log) as child:
            _watch(child, profile, plan, log)
        if not out.exists():
            raise HarnessError(f"Locust left no record{processes.tail(log)}")
        return Recorded.model_validate_json(out.read_bytes())


def _python_path() -> str:
    return os.pathsep.join([str(ROOT), *(path for path in sys.path if path)])


def _watch(child: processes.Child, profile: LoadProfile, plan: Plan, log: Path) -> None:
    """Show how long it has been, until the process ends or is over its time."""
    expected_s = round(plan.moments[-1]) if plan.moments else 0
    what = f"load, {profile.name}"
    if expected_s:
        started = time.monotonic()
        with progress.steps(what, expected_s) as step:
            for _ in range(expected_s):
                if processes.until(lambda: child.poll() is not None, child, 1.0):
                    break
                step(1)
        processes.finish(child, max(1.0, started + plan.limit_s - time.monotonic()), "Locust", log)
        return
    progress.say(f"  {what}: {len(plan.calls)} searches by {plan.users} callers")
    processes.finish(child, plan.limit_s, "Locust", log)


def _judged(profile: LoadProfile, plan: Plan, recorded: Recorded) -> Measured:
    """Did the run keep to its plan?"""
    size, valid = profile.size, profile.valid
    rate = recorded.answered / recorded.elapsed_s if recorded.elapsed_s else 0.0
    if isinstance(size, Open):
        planned = sum(moment >= size.warm_up_s for moment in plan.moments)
        span_s = max(plan.moments[-1] - size.warm_up_s, recorded.elapsed_s)
        achieved = (recorded.answered / span_s) / (planned / (plan.moments[-1] - size.warm_up_s))
    else:
        planned, achieved = size.searches, recorded.answered / size.searches
    cores = sum(recorded.cpu_cores) / len(recorded.cpu_cores) if recorded.cpu_cores else 0.0
    reasons = []
    if recorded.answered == 0:
        reasons.append("no search was answered")
    if achieved < valid.achieved:
        reasons.append(f"achieved {achieved:.3f} of what was asked; want {valid.achieved}")
    if recorded.dropped:
        reasons.append(f"{recorded.dropped} arrivals dropped: the pool was full")
    if cores > valid.client_cores:
        reasons.append(f"the client used {cores:.2f} cores; want at most {valid.client_cores}")
    if recorded.answered:
        lag = Latencies(recorded.lag).quantile(0.99).value_ms
        if lag > valid.lag_p99_ms:
            reasons.append(f"sent {lag:.0f} ms late at p99; want {valid.lag_p99_ms:.0f} at most")
    return Measured(profile, recorded, planned, achieved, rate, cores, reasons)


def _records(measured: Measured) -> Iterator[Record]:
    name, recorded = measured.profile.name, measured.recorded
    for message, count in recorded.errors.items():
        text = f"{count} x {message}"
        yield Failure(suite="load", name="search", message=text, variant=name)
    failed = sum(recorded.errors.values())
    n = recorded.answered
    yield _result("load.searches", n, name)
    yield _result("load.errors", failed, name, n=n)
    yield _result("load.dropped", recorded.dropped, name, n=measured.planned)
    yield _result("load.achieved", measured.achieved, name, n=measured.planned)
    yield _result("load.throughput", measured.throughput, name, n=n)
    yield _result("load.client-cpu", measured.client_cores, name)
    yield _result("load.invalid", len(measured.reasons), name, note="; ".join(measured.reasons))
    if not n:
        return
    yield _result("load.error-rate", failed / n, name, n=n)
    for series in ("response", "service", "lag"):
        yield from _quantiles(series, Latencies(getattr(recorded, series)), name)
    for stage, encoded in recorded.stages.items():
        times = Latencies(encoded)
        yield _result("load.stage.mean", times.mean_ms, name, part=stage, n=times.n)
        yield _result("load.stage.p95", times.quantile(0.95).value_ms, name, part=stage, n=times.n)


def _quantiles(series: str, times: Latencies, name: str) -> Iterator[Record]:
    """Quantiles with their intervals; one the sample cannot bound says how many it takes."""
    for label, share in QUANTILES.items():
        found = times.quantile(share)
        note = "" if found.enough else f"n too small: {found.n} of {found.needed}"
        yield _result(
            f"load.{series}.{label}",
            found.value_ms,
            name,
            n=found.n,
            low=found.low_ms,
            high=found.high_ms,
            note=note,
        )
    yield _result(f"load.{series}.max", times.max_ms, name, n=times.n)
    yield _result(f"load.{series}.mean", times.mean_ms, name, n=times.n)


def _result(
    name: str,
    value: float,
    variant: str,
    part: str = "",
    n: int | None = None,
    low: float | None = None,
    high: float | None = None,
    note: str = "",
) -> Result:
    return Result(
        suite="load",
        name=name,
        value=float(value),
        unit=METRICS[name].unit,
        variant=variant,
        part=part,
        n=n,
        low=low,
        high=high,
        note=note,
    )


def _write_tables(context: "Context", done: list[Measured]) -> None:
    """Samples and histograms, for the report and for whoever wants to look closer."""
    header = ["profile", "due_s", "lag_s", "service_s", "response_s", "ok"]
    rows = ([one.profile.name, *sample] for one in done for sample in one.recorded.samples)
    context.folder.write("load/samples.csv", csv_text(header, rows))
    kept = {
        one.profile.name: {
            "model": one.profile.model,
            "about": one.profile.about,
            "size": one.profile.size.model_dump(),
            "valid": one.profile.valid.model_dump(),
            "reasons": one.reasons,
            **one.recorded.model_dump(by_alias=True, exclude={"samples"}),
        }
        for one in done
    }
    context.folder.write("load/histograms.json", json.dumps(kept, indent=1) + "\n")
    header = ["profile", "stage", "n", "mean_ms", "p95_ms"]
    stages = (
        [
            one.profile.name,
            stage,
            times.n,
            f"{times.mean_ms:.3f}",
            f"{times.quantile(0.95).value_ms:.3f}",
        ]
        for one in done
        for stage, times in ((s, Latencies(e)) for s, e in one.recorded.stages.items())
    )
    context.folder.write("load/stages.csv", csv_text(header, stages))
