"""What the report says about load: percentile curves, quantiles, stages, whether a run counts."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.measures.latency import QUANTILES, Latencies
from harness.report import where_view
from harness.report.charts import (
    Curves,
    Knee,
    Scatter,
    Series,
    curves,
    knee,
    scatter,
)
from harness.report.stage_view import StageBar, stage_bars
from harness.report.where_view import WhereView
from harness.results import Records, Result, stage_part

TONES = 8
"""Colours of lines; with more profiles they come again, and the label tells them apart."""

CURVE_POINTS = 32
STRETCHES = 6
Sample = tuple[float, float, bool]
"""When a call was due in s, how long its response took in ms, and whether it succeeded."""

FACTS = ("searches", "errors", "dropped", "achieved", "throughput", "client-cpu", "ceiling")


@dataclass(frozen=True, slots=True)
class QuantileRow:
    """One quantile of response and service time."""

    name: str
    response: Result
    service: Result


@dataclass(frozen=True, slots=True)
class Part:
    """A workload of a mix, or a phase of a run: how many calls, and their quantiles in ms."""

    name: str
    n: int
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class RampStep:
    """One rate of a ramp, calls a second; `too_much` is empty where it held."""

    asked: float
    achieved: float
    p50_ms: float
    p95_ms: float
    too_much: str


@dataclass(frozen=True, slots=True)
class Ramp:
    """A ramp's steps, the knee they show, and how far it is from where the ramp began."""

    chart: Knee | None
    steps: tuple[RampStep, ...]
    knee: float
    headroom: float


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a run: its calls, those that failed, and response times in ms."""

    name: str
    n: int
    failed: int
    median_ms: float
    slowest_ms: float


@dataclass(frozen=True, slots=True)
class ProfileView:
    """One load profile; `server` says whose it is, where it is not the product's."""

    name: str
    server: str
    model: str
    about: str
    asked: str
    reasons: tuple[str, ...]
    facts: dict[str, float]
    lag_p99: float
    quantiles: tuple[QuantileRow, ...]
    max_ms: tuple[float, float]
    stages: tuple[StageBar, ...]
    where: WhereView | None
    over_time: Scatter | None
    stretches: tuple[Stretch, ...]
    errors: tuple[tuple[str, int], ...]
    workloads: tuple[Part, ...]
    phases: tuple[Part, ...]
    recovery_s: float | None
    drift: float | None
    ramp: Ramp | None


@dataclass(frozen=True, slots=True)
class LoadView:
    """Everything the load part of the report shows."""

    chart: Curves
    profiles: tuple[ProfileView, ...]
    over_floor: Result | None


def view(folder: Path, records: Records) -> LoadView | None:
    """The load part; None where no search was answered."""
    path = folder / "load" / "histograms.json"
    if not path.exists():
        return None
    kept = {
        name: one
        for name, one in json.loads(path.read_bytes()).items()
        if one["answered"] and _is_whole(name, one, records)
    }
    if not kept:
        return None
    samples = _samples(folder / "load" / "samples.csv")
    wheres = where_view.Views(folder, records)
    profiles = [
        _profile(name, one, records, samples.get(name, []), wheres.of(name))
        for name, one in kept.items()
    ]
    over_floor = records.find("load.over-floor")
    return LoadView(curves(_series(kept)), tuple(profiles), over_floor)


def _is_whole(name: str, one: dict[str, Any], records: Records) -> bool:
    """Whether all figures of a profile are there; an interrupted run may have some of them."""
    wanted = [(f"load.{fact}", "") for fact in FACTS]
    wanted += [(f"load.{times}.mean", "") for times in ("response", "service", "lag")]
    workloads = {key.rpartition("/")[0] for key in one["stages"]}
    for workload, _, stage in (key.rpartition("/") for key in one["stages"]):
        wanted.append(("load.stage.p95", stage_part(workload, stage, len(workloads))))
    return all(records.find(metric, "", name, part) for metric, part in wanted)


def _series(kept: dict[str, Any]) -> list[Series]:
    """Response time of every profile; of an open one service time too, which hides stalls."""
    series = []
    for place, (name, one) in enumerate(kept.items()):
        response = Latencies(one["response"]).curve(CURVE_POINTS)
        series.append(Series(name, f"s{place % TONES}", response))
        if one["model"] != "closed":
            service = Latencies(one["service"]).curve(CURVE_POINTS)
            series.append(Series("", f"s{place % TONES}", service, dashed=True))
    return series


def _samples(path: Path) -> dict[str, list[Sample]]:
    found: defaultdict[str, list[Sample]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            response_ms = max(float(row["response_s"]) * 1000, 0.001)
            found[row["profile"]].append((float(row["due_s"]), response_ms, row["ok"] == "1"))
    return found


def _profile(
    name: str,
    one: dict[str, Any],
    records: Records,
    samples: list[Sample],
    where: WhereView | None,
) -> ProfileView:
    def result(metric: str, part: str = "") -> Result:
        found = records.find(f"load.{metric}", "", name, part)
        assert found is not None, f"{metric} of {name} is not among the results"
        return found

    def maybe(metric: str, part: str) -> Result | None:
        return records.find(f"load.{metric}", "", name, part)

    return ProfileView(
        name=name,
        server=result("throughput").note,
        model=one["model"],
        about=one["about"],
        asked=_asked(one["size"]),
        reasons=tuple(one["reasons"]),
        facts={fact: result(fact).value for fact in FACTS},
        lag_p99=result("lag.p99").value,
        quantiles=tuple(
            QuantileRow(label, result(f"response.{label}"), result(f"service.{label}"))
            for label in QUANTILES
        ),
        max_ms=(result("response.max").value, result("service.max").value),
        stages=tuple(stage_bars(one, maybe)),
        where=where,
        over_time=scatter(samples) if samples else None,
        stretches=tuple(_stretches(samples)),
        workloads=tuple(_parts("workload", name, records)),
        phases=tuple(_parts("phase", name, records)),
        recovery_s=_maybe(records.find("load.recovery", "", name)),
        drift=_maybe(records.find("load.drift", "", name)),
        ramp=_ramp(name, one["steps"], records),
        errors=tuple(sorted(one["errors"].items(), key=lambda item: (-item[1], item[0]))[:10]),
    )


def _stretches(samples: Sequence[Sample]) -> Iterator[Stretch]:
    """The chart over time as numbers: equal parts of the run."""
    last = max((due for due, _, _ in samples), default=0.0)
    apart = last / STRETCHES or 1.0
    for place in range(STRETCHES):
        inside = [one for one in samples if min(int(one[0] / apart), STRETCHES - 1) == place]
        times = sorted(ms for _, ms, _ in inside)
        if times:
            name = f"{place * apart:.0f} to {(place + 1) * apart:.0f} s"
            failed = sum(not ok for _, _, ok in inside)
            middle = times[(len(times) - 1) // 2]
            yield Stretch(name, len(inside), failed, middle, times[-1])


def _parts(kind: str, name: str, records: Records) -> Iterator[Part]:
    for p50 in records.results:
        if p50.name == f"load.{kind}.p50" and p50.variant == name:
            p95 = records.find(f"load.{kind}.p95", "", name, p50.part)
            yield Part(p50.part, p50.n or 0, p50.value, p95.value if p95 else p50.value)


def _maybe(found: Result | None) -> float | None:
    return None if found is None else found.value


def _ramp(name: str, steps: list[dict[str, Any]], records: Records) -> Ramp | None:
    found, headroom = (records.find(f"load.{one}", "", name) for one in ("knee", "headroom"))
    if not steps or found is None or headroom is None:
        return None
    read = []
    for one in steps:
        times = Latencies(one["response"])
        p50, p95 = (times.quantile(share).value_ms if times.n else 0.0 for share in (0.5, 0.95))
        read.append(RampStep(one["per_second"], one["achieved"], p50, p95, one["too_much"]))
    points = [(step.asked, step.p50_ms, step.p95_ms, not step.too_much) for step in read]
    return Ramp(knee(points), tuple(read), found.value, headroom.value)


def _asked(size: dict[str, Any]) -> str:
    warm_up = size.get("warm_up", size.get("warm_up_s"))
    if "users" in size:
        return f"{size['users']} callers, {size['searches']} calls after {warm_up} to warm up"
    room = f"{warm_up:g} s of it to warm up, at most {size['pool']} under way"
    if "factor" in size:
        return (
            f"from {size['per_second']:g} calls a second, times {size['factor']:g} a step, "
            f"{size['seconds']:g} s each, {room}"
        )
    if size["phases"]:
        rates = (f"{p['per_second']:g} a second for {p['seconds']:g} s" for p in size["phases"])
        return f"{', then '.join(rates)} ({size['law']} arrivals), {room}"
    return (
        f"{size['per_second']:g} calls a second ({size['law']} arrivals) for "
        f"{size['seconds']:g} s, {room}"
    )
