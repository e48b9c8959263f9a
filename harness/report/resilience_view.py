"""What the report says about faults: what was done, what calls came to, when all was whole."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.report.charts import Scale, Tick
from harness.results import Case, Records, Result

LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 44.0, 12.0, 8.0, 22.0
LABELS_AT_MOST = 8
OUTCOMES = ("acknowledged", "refused", "unanswered", "unreported")


@dataclass(frozen=True, slots=True)
class Column:
    """One second: where its bars stand; heights run down from the top of the chart."""

    x: float
    answered_y: float
    failed_y: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """Calls answered and failed in each second, and the spans of the fault and the recovery."""

    width: int
    height: int
    bottom: float
    bar_px: float
    columns: tuple[Column, ...]
    fault: tuple[float, float]
    whole_x: float | None
    xs: tuple[Tick, ...]
    most: int
    top: float


@dataclass(frozen=True, slots=True)
class FaultView:
    """One fault."""

    name: str
    about: str
    counts: tuple[int, ...]
    degraded: int
    items: int
    lost: tuple[str, ...]
    longest_s: float
    recovery_s: float | None
    words: tuple[tuple[str, int], ...]
    strays: tuple[str, ...]
    timeline: Timeline
    case: Case | None


@dataclass(frozen=True, slots=True)
class ResilienceView:
    """Everything the resilience part of the report shows."""

    faults: tuple[FaultView, ...]
    totals: dict[str, Result]
    skipped: tuple[Case, ...]


def view(folder: Path, records: Records) -> ResilienceView | None:
    """The resilience part; None where no fault was inflicted or left out."""
    path = folder / "resilience" / "faults.json"
    cases = {case.name: case for case in records.cases if case.suite == "resilience"}
    skipped = tuple(case for case in cases.values() if case.outcome in ("skipped", "error"))
    suffered = json.loads(path.read_bytes()) if path.exists() else []
    if not suffered and not skipped:
        return None
    totals = {
        one.name.partition(".")[2]: one
        for one in records.results
        if one.suite == "resilience" and not one.variant
    }
    return ResilienceView(tuple(_fault(one, cases) for one in suffered), totals, skipped)


def _fault(one: dict[str, Any], cases: dict[str, Case]) -> FaultView:
    name = f"{one['fault']} {one['service']}"
    return FaultView(
        name=name,
        about=one["about"],
        counts=tuple(one["outcomes"].get(outcome, 0) for outcome in OUTCOMES),
        degraded=one["degraded"],
        items=one["items"],
        lost=tuple(one["lost"]),
        longest_s=one["longest_s"],
        recovery_s=one["recovery_s"],
        words=tuple(one["words"].items()),
        strays=tuple(one["strays"]),
        timeline=timeline(one),
        case=cases.get(name),
    )


def timeline(one: dict[str, Any], width: int = 760, height: int = 110) -> Timeline:
    """The chart of one fault's calls."""
    seconds: list[list[int]] = one["seconds"] or [[0, 0]]
    most = max(max(good + bad for good, bad in seconds), 1)
    bottom = height - BOTTOM_PX
    x = Scale(0.0, float(len(seconds)), LEFT_PX, width - RIGHT_PX)
    y = Scale(0.0, float(most), bottom, TOP_PX)
    step = max(1, -(-len(seconds) // LABELS_AT_MOST))
    whole = None if one["recovery_s"] is None else x.at(one["ended_s"] + one["recovery_s"])
    return Timeline(
        width=width,
        height=height,
        bottom=bottom,
        bar_px=round(max(1.0, (width - LEFT_PX - RIGHT_PX) / len(seconds) - 1), 1),
        columns=tuple(
            Column(x.at(place + 0.5), y.at(good), y.at(good + bad))
            for place, (good, bad) in enumerate(seconds)
        ),
        fault=(x.at(one["began_s"]), x.at(max(one["ended_s"], one["began_s"] + 0.05))),
        whole_x=whole,
        xs=tuple(Tick(x.at(second), f"{second} s") for second in range(0, len(seconds), step)),
        most=most,
        top=TOP_PX,
    )
