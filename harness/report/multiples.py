"""Small charts of one value over time, several side by side: geometry only."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.charts import Point, Scale

MOST_POINTS = 16
LABEL_PX = 17.0
"""Above the line: what its upper end is."""


@dataclass(frozen=True, slots=True)
class Multiple:
    """A line and the area under it, with the scale's upper end."""

    width: int
    height: int
    points: tuple[Point, ...]
    top: float
    base: float


def multiple(
    samples: Sequence[Point], last_s: float, top: float, width: int = 300, height: int = 64
) -> Multiple:
    """(s, value) pairs from 0 to `top`; of many, each stretch's highest is kept."""
    x = Scale(0.0, max(last_s, 1e-9), 1.0, width - 1.0)
    y = Scale(0.0, max(top, 1e-9), height - 1.0, LABEL_PX)
    step = -(-len(samples) // MOST_POINTS) or 1
    kept = [
        max(samples[start : start + step], key=lambda one: one[1])
        for start in range(0, len(samples), step)
    ]
    points = [(float(round(x.at(at))), float(round(y.at(value)))) for at, value in kept]
    # Of a stretch that stays level its ends are enough: most lines of memory are level.
    bends = [
        one
        for place, one in enumerate(points)
        if not 0 < place < len(points) - 1
        or not points[place - 1][1] == one[1] == points[place + 1][1]
    ]
    return Multiple(width, height, tuple(bends), top, height - 1.0)
