"""What a load run leaves: records, tables for people, histograms for the report."""

import json
from collections.abc import Iterator, Sequence

from harness.measures import phases
from harness.measures.latency import QUANTILES, Latencies
from harness.metrics import METRICS
from harness.probes.load import staging
from harness.probes.load.judging import Measured
from harness.probes.load.profiles import Open, Ramp
from harness.results import Failure, Record, Result
from harness.runs import RunFolder, csv_text


def records(measured: Measured) -> Iterator[Record]:
    """Every figure of one profile's run."""
    name, recorded = measured.profile.name, measured.recorded
    for message, count in recorded.errors.items():
        text = f"{count} x {message}"
        yield Failure(suite="load", name="call", message=text, variant=name)
    failed = sum(recorded.errors.values())
    n = recorded.answered
    yield _result("load.searches", n, name)
    yield _result("load.errors", failed, name, n=n)
    yield _result("load.dropped", recorded.dropped, name, n=measured.planned)
    yield _result("load.achieved", measured.achieved, name, n=measured.planned)
    other = f"another server: {measured.profile.adapter}" if measured.profile.adapter else ""
    yield _result("load.throughput", measured.throughput, name, n=n, note=other)
    yield _result("load.client-cpu", measured.client_cores, name)
    yield _result("load.ceiling", measured.ceiling, name)
    yield _result("load.invalid", len(measured.reasons), name, note="; ".join(measured.reasons))
    if not n:
        return
    yield _result("load.error-rate", failed / n, name, n=n)
    for series in ("response", "service", "lag"):
        yield from _quantiles(series, Latencies(getattr(recorded, series)), name)
    yield from _along(measured)
    for stage in staging.stages_of(recorded):
        times, part = stage.times, stage.part
        yield _result("load.stage.mean", times.mean_ms, name, part=part, n=times.n)
        yield _result("load.stage.waited", stage.waited_ms, name, part=part, n=times.n)
        for label in ("p50", "p95"):
            found = times.quantile(QUANTILES[label]).value_ms
            yield _result(f"load.stage.{label}", found, name, part=part, n=times.n)


def _along(measured: Measured) -> Iterator[Record]:
    """How response times moved along the run, and where a ramp ended."""
    name, size = measured.profile.name, measured.profile.size
    rows = measured.recorded.samples
    # One that failed at once was not fast.
    samples = [(due, response) for due, _, _, response, ok in rows if ok]
    if (moved := phases.drift(samples)) is not None:
        yield _result("load.drift", moved, name, n=len(samples))
    for workload, encoded in measured.recorded.workloads.items():
        times = Latencies(encoded)
        for label in ("p50", "p95"):
            found = times.quantile(QUANTILES[label]).value_ms
            yield _result(f"load.workload.{label}", found, name, part=workload, n=times.n)
    if isinstance(size, Open) and len(size.phases) > 1:
        yield from _by_phase(name, size, samples)
    if measured.climb is not None and isinstance(size, Ramp):
        yield _result("load.knee", measured.climb.knee, name, n=len(measured.climb.steps))
        yield _result("load.headroom", measured.climb.knee / size.per_second, name)


def _by_phase(name: str, size: Open, samples: Sequence[phases.Sample]) -> Iterator[Record]:
    stretches: list[phases.Stretch] = []
    start = -size.warm_up_s
    for phase in size.phases:
        end = start + phase.seconds
        stretches.append(phases.Stretch(phase.name, start, end, phase.per_second))
        start = end
    for stretch in stretches:
        times = Latencies()
        for took_s in stretch.of(samples):
            times.record(took_s)
        for label in ("p50", "p95"):
            if times.n:
                found = times.quantile(QUANTILES[label]).value_ms
                yield _result(f"load.phase.{label}", found, name, part=stretch.name, n=times.n)
    if (seconds := phases.recovery_s(stretches, samples)) is not None:
        yield _result("load.recovery", seconds, name)


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


def _steps(measured: Measured) -> list[dict[str, object]]:
    """A ramp's steps, lowest rate first; of other profiles none."""
    steps = measured.climb.steps if measured.climb is not None else ()
    return [
        {
            "per_second": one.per_second,
            "achieved": one.measured.throughput,
            "response": one.measured.recorded.response,
            "dropped": one.measured.recorded.dropped,
            "errors": sum(one.measured.recorded.errors.values()),
            "too_much": one.too_much,
        }
        for one in sorted(steps, key=lambda step: step.per_second)
    ]


def write_tables(folder: RunFolder, done: Sequence[Measured]) -> None:
    """Samples and histograms, for the report and for whoever wants to look closer."""
    header = ["profile", "due_s", "lag_s", "service_s", "response_s", "ok"]
    rows = ([one.profile.name, *sample] for one in done for sample in one.recorded.samples)
    folder.write("load/samples.csv", csv_text(header, rows))
    kept = {
        one.profile.name: {
            "model": one.profile.model,
            "about": one.profile.about,
            "size": one.profile.size.model_dump(),
            "valid": one.profile.valid.model_dump(),
            "reasons": one.reasons,
            "steps": _steps(one),
            **one.recorded.model_dump(by_alias=True, exclude={"samples"}),
        }
        for one in done
    }
    folder.write("load/histograms.json", json.dumps(kept, indent=1) + "\n")
    folder.write("load/stages.csv", csv_text(staging.HEADER, staging.rows(done)))
