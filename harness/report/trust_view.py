"""What the report says about whether a set's scores can be trusted."""

import csv
from dataclasses import dataclass
from pathlib import Path

from harness.evidence import HYBRID
from harness.measures.calibration import wilson
from harness.report.charts import Scale
from harness.results import Records, Result

INDEXED = "indexed"
WORTH_SAYING = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Shares of lost answers that a caller may be ready to pay for quiet."""
BAR_PX = 220


@dataclass(frozen=True, slots=True)
class ScoreBin:
    """First hits with a score in a range: how many, and which share of them is relevant."""

    label: str
    n: int
    share: float
    low: float
    high: float
    x: float
    x_low: float
    x_high: float


@dataclass(frozen=True, slots=True)
class LeastScore:
    """What asking for a least score does: shares of 0 to 1."""

    least: float
    quiet: float
    lost: float


@dataclass(frozen=True, slots=True)
class Trust:
    """One set; None is what was not measured of it."""

    set: str
    unstable: float | None
    moved: int
    judged: Result | None
    empty: Result | None
    nothing_found: Result | None
    nothing_false: Result | None
    nothing_separation: Result | None
    score_separation: Result | None
    ann_recall: Result | None
    bins: tuple[ScoreBin, ...]
    least_scores: tuple[LeastScore, ...]


def trust(folder: Path, records: Records, set_: str) -> Trust:
    """Everything the run learnt about how far a set's scores can be trusted."""

    def find(name: str, variant: str = HYBRID) -> Result | None:
        return records.find(f"relevance.{name}", set_, variant)

    unstable, moved = find("unstable"), find("unstable-queries")
    return Trust(
        set=set_,
        unstable=unstable.value if unstable else None,
        moved=int(moved.value) if moved else 0,
        judged=find("judged@10"),
        empty=find("empty"),
        nothing_found=find("nothing-found"),
        nothing_false=find("nothing-false"),
        nothing_separation=find("nothing-separation"),
        score_separation=find("score-separation"),
        ann_recall=find("ann-recall@10", INDEXED),
        bins=_bins(folder / "relevance" / f"scores-{set_}.csv"),
        least_scores=_least_scores(folder / "relevance" / f"least-scores-{set_}.csv"),
    )


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _bins(path: Path) -> tuple[ScoreBin, ...]:
    x = Scale(0.0, 1.0, 4.0, BAR_PX - 4.0)
    found = []
    for row in _rows(path):
        n, right = int(row["queries"]), int(row["right"])
        low, high = wilson(right, n)
        found.append(
            ScoreBin(
                label=f"{row['low']} to {row['high']}",
                n=n,
                share=right / n,
                low=low,
                high=high,
                x=x.at(right / n),
                x_low=x.at(low),
                x_high=x.at(high),
            )
        )
    return tuple(found)


def _least_scores(path: Path) -> tuple[LeastScore, ...]:
    """For each share of lost answers worth saying, the threshold that keeps most others quiet."""
    rows = [
        LeastScore(float(row["least"]), float(row["quiet"]), float(row["lost"]))
        for row in _rows(path)
    ]
    chosen = []
    for most in WORTH_SAYING:
        within = [row for row in rows if row.lost <= most + 1e-9]
        if within:
            best = max(within, key=lambda row: (row.quiet, -row.lost))
            if best not in chosen:
                chosen.append(best)
    return tuple(chosen)
