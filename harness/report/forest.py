"""Geometry of forest plots: ratios with their intervals around 1."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.charts import BOTTOM_PX, TOP_PX, Scale, Tick


@dataclass(frozen=True, slots=True)
class Ratio:
    """One row of a forest plot: a ratio with its interval."""

    label: str
    tone: str
    y: float
    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Forest:
    """Ratios around 1, each with its interval, and the line beyond which a change counts."""

    width: int
    height: int
    bottom: float
    one: float
    most: float
    xs: tuple[Tick, ...]
    rows: tuple[Ratio, ...]


ROW_PX, FOREST_LEFT_PX = 26.0, 190.0
WIDEST = 8.0
"""Ratios beyond eight times either way end at the edge."""


def forest(
    rows: Sequence[tuple[str, str, float, float, float]], most: float, width: int = 760
) -> Forest:
    """Rows as (label, tone, ratio, low, high), on a log scale that has 1 in its middle."""
    ends = [max(high, 1 / max(low, 1e-9)) for _, _, _, low, high in rows]
    widest = min(max([*ends, most]) * 1.05, WIDEST)
    x = Scale(1 / widest, widest, FOREST_LEFT_PX, width - 20, logarithmic=True)
    height = int(TOP_PX + ROW_PX * len(rows) + BOTTOM_PX)
    made = [
        Ratio(label, tone, TOP_PX + ROW_PX * (n + 0.5), x.at(ratio), x.at(low), x.at(high))
        for n, (label, tone, ratio, low, high) in enumerate(rows)
    ]
    steps = (1.02, 1.05, 1.1, 1.2, 1.5, 2, 4, 8)
    inside = [step for step in steps if step <= widest][-3:]
    values = [*(1 / step for step in reversed(inside)), 1.0, *inside]
    ticks = tuple(Tick(x.at(value), f"{value:.2f}") for value in values)
    return Forest(width, height, height - BOTTOM_PX, x.at(1.0), x.at(most), ticks, tuple(made))
