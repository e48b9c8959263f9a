"""What the report says about faults: what was done, what calls came to, when all was whole."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.report.charts import Scale, Tick
from harness.results import Case, Records, Result

LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 44.0, 12.0, 8.0, 22.0
LABELS_AT_MOST = 8
SHOWN_WORDS = 12
CHARTED = 6
STRETCHES = 8
OUTCOMES = ("acknowledged", "refused", "unanswered", "unreported")


@dataclass(frozen=True, slots=True)
class Timeline:
    """Calls answered and all calls of each second as areas, the fault's span, the recovery."""

    width: int
    height: int
    bottom: int
    answered: str
    all: str
    fault: tuple[float, float]
    whole_x: float | None
    xs: tuple[Tick, ...]
    most: int
    top: float


@dataclass(frozen=True, slots=True)
class Stretch:
    """A few seconds: how many calls were answered in them, and how many failed."""

    name: str
    answered: int
    failed: int


@dataclass(frozen=True, slots=True)
class Words:
    """What failing calls were told, how often, and under how many faults."""

    text: str
    times: int
    faults: int


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
    strays: tuple[str, ...]
    timeline: Timeline
    stretches: tuple[Stretch, ...]
    case: Case | None

    @property
    def is_whole(self) -> bool:
        """Whether all was as it must be."""
        return self.case is not None and self.case.outcome == "passed"


@dataclass(frozen=True, slots=True)
class ResilienceView:
    """Everything the resilience part shows; `charted` are the slowest of those that held."""

    faults: tuple[FaultView, ...]
    charted: tuple[FaultView, ...]
    totals: dict[str, Result]
    words: tuple[Words, ...]
    words_in_all: int
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
    words = _words(suffered)
    faults = tuple(_fault(one, cases) for one in suffered)
    whole = sorted((one for one in faults if one.is_whole), key=lambda one: -(one.recovery_s or 0))
    return ResilienceView(
        faults=faults,
        charted=tuple(one for one in faults if one in whole[:CHARTED]),
        totals=totals,
        words=tuple(words[:SHOWN_WORDS]),
        words_in_all=len(words),
        skipped=skipped,
    )


def _words(suffered: Sequence[dict[str, Any]]) -> list[Words]:
    """Of all faults together, the most frequent first: the same few come again and again."""
    times: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for one in suffered:
        times.update(one["words"])
        faults.update(one["words"].keys())
    found = [Words(text, count, faults[text]) for text, count in times.items()]
    return sorted(found, key=lambda one: (-one.times, one.text))


def _stretches(seconds: Sequence[Sequence[int]]) -> Iterator[Stretch]:
    """The chart's numbers in a few columns."""
    step = max(1, -(-len(seconds) // STRETCHES))
    for start in range(0, len(seconds), step):
        part = seconds[start : start + step]
        name = f"{start}–{start + len(part)} s"
        yield Stretch(name, sum(one[0] for one in part), sum(one[1] for one in part))


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
        strays=tuple(one["strays"]),
        timeline=timeline(one),
        stretches=tuple(_stretches(one["seconds"])),
        case=cases.get(name),
    )


def timeline(one: dict[str, Any], width: int = 760, height: int = 96) -> Timeline:
    """The chart of one fault's calls."""
    seconds: list[list[int]] = one["seconds"] or [[0, 0]]
    failed = any(bad for _, bad in seconds)
    most = max(max(good + bad for good, bad in seconds), 1)
    bottom = round(height - BOTTOM_PX)
    x = Scale(0.0, float(len(seconds)), LEFT_PX, width - RIGHT_PX)
    y = Scale(0.0, float(most), bottom, TOP_PX)
    step = max(1, -(-len(seconds) // LABELS_AT_MOST))
    whole = None if one["recovery_s"] is None else x.at(one["ended_s"] + one["recovery_s"])
    return Timeline(
        width=width,
        height=height,
        bottom=bottom,
        answered=_area([good for good, _ in seconds], x, y),
        all=_area([good + bad for good, bad in seconds], x, y) if failed else "",
        fault=(x.at(one["began_s"]), x.at(max(one["ended_s"], one["began_s"] + 0.05))),
        whole_x=whole,
        xs=tuple(Tick(x.at(second), f"{second} s") for second in range(0, len(seconds), step)),
        most=most,
        top=TOP_PX,
    )


def _area(counts: Sequence[int], x: Scale, y: Scale) -> str:
    """A column a second, as the data of one SVG path: whole pixels, to be short."""
    text, base = f"M{round(x.at(0))} {round(y.at(0))}", round(y.at(0))
    at_x, at_y = round(x.at(0)), base
    for place, count in enumerate(counts, start=1):
        to_x, to_y = round(x.at(place)), round(y.at(count))
        text += (f"v{to_y - at_y}" if to_y != at_y else "") + f"h{to_x - at_x}"
        at_x, at_y = to_x, to_y
    return f"{text}V{base}z"
