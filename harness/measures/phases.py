"""How response times move along a run: by phase, after the busiest one, from start to end."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

AS_FAST = 2.0
"""A second is as fast as the first phase if its median is at most so many times that one's."""

PART = 5
"""A run's first and last fifth are compared for drift."""

Sample = tuple[float, float]
"""When a call was due, from the first timed one, and how long it took to answer; seconds."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A named stretch of a run: from, to (seconds), and the rate asked for."""

    name: str
    start_s: float
    end_s: float
    per_second: float

    def of(self, samples: Sequence[Sample]) -> list[float]:
        """The response times of the calls that were due in it."""
        return [took for due, took in samples if self.start_s <= due < self.end_s]


def recovery_s(stretches: Sequence[Stretch], samples: Sequence[Sample]) -> float | None:
    """Seconds from the busiest stretch's end until calls are answered as fast as in the first.

    None where nothing follows it, or the run ends before.
    """
    busiest = max(stretches, key=lambda one: one.per_second)
    usual = stretches[0].of(samples)
    last = stretches[-1].end_s
    if busiest is stretches[0] or not usual:
        return None
    start = busiest.end_s
    while start + 1 <= last:
        inside = [took for due, took in samples if start <= due < start + 1]
        if inside and statistics.median(inside) <= AS_FAST * statistics.median(usual):
            return start - busiest.end_s
        start += 1
    return None


def drift(samples: Sequence[Sample]) -> float | None:
    """The last fifth's median response time over the first fifth's; None of too few samples."""
    ordered = sorted(samples)
    part = len(ordered) // PART
    if part < 1:
        return None
    first = statistics.median(took for _, took in ordered[:part])
    return statistics.median(took for _, took in ordered[-part:]) / max(first, 1e-9)
