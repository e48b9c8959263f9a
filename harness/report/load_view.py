"""What the report says about load: percentile curves, quantiles, stages, whether a run counts."""

import csv
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.measures.latency import QUANTILES, Latencies
from harness.report.charts import Curves, Scatter, Segment, Series, curves, scatter, stack
from harness.results import Records, Result

FACTS = ("searches", "errors", "dropped", "achieved", "throughput", "client-cpu")


@dataclass(frozen=True, slots=True)
class QuantileRow:
    """One quantile of response and service time."""

    name: str
    response: Result
    service: Result


@dataclass(frozen=True, slots=True)
class ProfileView:
    """One load profile."""

    name: str
    model: str
    about: str
    asked: str
    reasons: tuple[str, ...]
    facts: dict[str, float]
    lag_p99: float
    quantiles: tuple[QuantileRow, ...]
    max_ms: tuple[float, float]
    stages: tuple[Segment, ...]
    p95_ms: dict[str, float]
    mean_ms: float
    over_time: Scatter | None
    errors: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class LoadView:
    """Everything the load part of the report shows."""

    chart: Curves
    profiles: tuple[ProfileView, ...]


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
    profiles = [_profile(name, one, records, samples.get(name, [])) for name, one in kept.items()]
    return LoadView(curves(_series(kept)), tuple(profiles))


def _is_whole(name: str, one: dict[str, Any], records: Records) -> bool:
    """Whether all figures of a profile are there; an interrupted run may have some of them."""
    wanted = [(f"load.{fact}", "") for fact in FACTS]
    wanted += [(f"load.{times}.mean", "") for times in ("response", "service", "lag")]
    wanted += [("load.stage.p95", stage) for stage in one["stages"]]
    return all(records.find(metric, "", name, part) for metric, part in wanted)


def _series(kept: dict[str, Any]) -> list[Series]:
    """Response time of every profile; of an open one service time too, which hides stalls."""
    series = []
    for place, (name, one) in enumerate(kept.items()):
        response = Latencies(one["response"]).curve()
        series.append(Series(f"{name}: response", f"s{place}", response))
        if one["model"] == "open":
            service = Latencies(one["service"]).curve()
            series.append(Series(f"{name}: service", f"s{place}", service, dashed=True))
    return series


def _samples(path: Path) -> dict[str, list[tuple[float, float, bool]]]:
    found: defaultdict[str, list[tuple[float, float, bool]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            response_ms = max(float(row["response_s"]) * 1000, 0.001)
            found[row["profile"]].append((float(row["due_s"]), response_ms, row["ok"] == "1"))
    return found


def _profile(
    name: str, one: dict[str, Any], records: Records, samples: list[tuple[float, float, bool]]
) -> ProfileView:
    def result(metric: str, part: str = "") -> Result:
        found = records.find(f"load.{metric}", "", name, part)
        assert found is not None, f"{metric} of {name} is not among the results"
        return found

    means = [(stage, result("stage.mean", stage).value) for stage in one["stages"]]
    return ProfileView(
        name=name,
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
        stages=stack(means),
        p95_ms={stage: result("stage.p95", stage).value for stage in one["stages"]},
        mean_ms=result("service.mean").value,
        over_time=scatter(samples) if samples else None,
        errors=tuple(sorted(one["errors"].items(), key=lambda item: (-item[1], item[0]))[:10]),
    )


def _asked(size: dict[str, Any]) -> str:
    warm_up = size.get("warm_up", size.get("warm_up_s"))
    if "users" in size:
        return f"{size['users']} callers, {size['searches']} searches after {warm_up} to warm up"
    return (
        f"{size['per_second']:g} searches a second ({size['law']} arrivals) for "
        f"{size['seconds']:g} s, {warm_up:g} s of it to warm up, at most {size['pool']} under way"
    )
