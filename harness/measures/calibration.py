"""How far a score can be trusted: shares with intervals, ranks that separate, bins that tell."""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.959963984540054
"""The normal distribution's 97.5 % quantile."""


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927): never empty at 0 or 1, as the usual one is."""
    if n <= 0:
        raise ValueError("a share of nothing has no interval")
    share, square = successes / n, _Z * _Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = _Z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return (
        0.0 if successes == 0 else max(0.0, centre - half),
        1.0 if successes == n else min(1.0, centre + half),
    )


def separation(wanted: Sequence[float], unwanted: Sequence[float]) -> float:
    """How often a wanted value is above an unwanted one, ties half: the area under the ROC curve.

    1 is a threshold that never errs, 0.5 is chance (Mann and Whitney 1947: U / (n m)).
    """
    if not wanted or not unwanted:
        raise ValueError("both kinds are needed")
    ordered = sorted(unwanted)
    below = sum(bisect.bisect_left(ordered, value) for value in wanted)
    ties = sum(
        bisect.bisect_right(ordered, value) - bisect.bisect_left(ordered, value) for value in wanted
    )
    return (below + ties / 2) / (len(wanted) * len(unwanted))


@dataclass(frozen=True, slots=True)
class Bin:
    """Scores from `low` up to `high`: how many, their mean, how many of them are right."""

    low: float
    high: float
    n: int
    mean: float
    right: int


def bins(scores: Sequence[float], right: Sequence[bool], count: int = 10) -> list[Bin]:
    """Scores in equal bins over 0 to 1; empty ones are left out, the outer take what is beyond."""
    if len(scores) != len(right):
        raise ValueError("each score needs its claim")
    found = []
    for place in range(count):
        inside = [
            (score, claim)
            for score, claim in zip(scores, right, strict=True)
            if min(max(int(score * count), 0), count - 1) == place
        ]
        if inside:
            mean = sum(score for score, _ in inside) / len(inside)
            hits = sum(claim for _, claim in inside)
            found.append(Bin(place / count, (place + 1) / count, len(inside), mean, hits))
    return found


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a least score would do: queries without an answer kept quiet, answers lost, 0 to 1."""

    least: float
    quiet: float
    lost: float


def thresholds(answered: Sequence[float], unanswerable: Sequence[float]) -> list[Threshold]:
    """Every threshold worth considering: each value at which one of the shares changes."""
    levels = sorted({0.0, *answered, *unanswerable})
    return [
        Threshold(
            level,
            sum(score < level for score in unanswerable) / len(unanswerable),
            sum(score < level for score in answered) / len(answered),
        )
        for level in levels
    ]
