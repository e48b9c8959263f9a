"""The knee: the highest rate that is still served whole, found by stepping up and then between."""

from collections.abc import Callable
from dataclasses import dataclass

from harness.probes.load.judging import Measured
from harness.probes.load.profiles import Ramp


@dataclass(frozen=True, slots=True)
class Step:
    """One rate, calls a second, what came of it, and why it was too much (empty: it held)."""

    per_second: float
    measured: Measured
    too_much: str


@dataclass(frozen=True, slots=True)
class Climb:
    """All steps in the order they were made; `reached` is False where every rate held."""

    steps: tuple[Step, ...]
    reached: bool

    @property
    def knee(self) -> float:
        """The highest rate that held, calls a second; 0 where none did."""
        return max((one.per_second for one in self.steps if not one.too_much), default=0.0)

    @property
    def first_too_much(self) -> Step | None:
        """The lowest rate that was too much."""
        over = [one for one in self.steps if one.too_much]
        return min(over, key=lambda one: one.per_second, default=None)

    @property
    def best(self) -> Step:
        """The step at the knee, or the first one where none held."""
        held = [one for one in self.steps if not one.too_much]
        return max(held, key=lambda one: one.per_second) if held else self.steps[0]


def climb(size: Ramp, measure: Callable[[float], Measured]) -> Climb:
    """Measure ever higher rates until one is too much, then halve the gap between the two."""
    steps: list[Step] = []

    def holds(rate: float) -> bool:
        measured = measure(rate)
        steps.append(Step(rate, measured, _too_much(size, measured)))
        return not steps[-1].too_much

    low, rate = 0.0, size.per_second
    while len(steps) < size.most_steps and holds(rate):
        low, rate = rate, rate * size.factor
    reached = bool(steps[-1].too_much)
    if reached and low:
        high = rate
        for _ in range(size.bisections):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
    return Climb(tuple(steps), reached)


def _too_much(size: Ramp, measured: Measured) -> str:
    recorded = measured.recorded
    failed = sum(recorded.errors.values()) / max(1, recorded.answered)
    if not recorded.answered:
        return "nothing was answered"
    if recorded.dropped:
        return f"{recorded.dropped} dropped"
    if failed > size.error_rate:
        return f"{failed:.1%} failed"
    if measured.achieved < size.achieved:
        return f"achieved {measured.achieved:.3f}"
    return ""
