"""Which stages a call waited for: stages run beside each other, what is waited for never does.

At each moment a call waits for the running stage that ends last. What the stages are waited for,
the unattributed rest and what lies outside the server then add up to the call's service time
exactly, however much they overlap. A stage named after another (`embed.queue`) is a part of it and
is not waited for by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

TOTAL = "total"
"""The server's own time for a call, as its last stage."""

UNATTRIBUTED = "unattributed"
OUTSIDE = "outside the server"
EXCESS = "told more than once"
"""Time beyond the whole: of a server that tells no starts and whose stages overlap."""

RESTS = (UNATTRIBUTED, OUTSIDE, EXCESS)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stage's stretch of time within a call, in ms; `start_ms` None where it is not told."""

    name: str
    took_ms: float
    start_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """A call's time in ms: how long each stage ran, what of it was waited for, and the rests."""

    ran: dict[str, float]
    waited: dict[str, float]
    rests: dict[str, float]


def split(stretches: Sequence[Stretch], service_ms: float) -> Split:
    """Of one call, as its server tells it: waited + unattributed + outside - excess = service."""
    ran: dict[str, float] = {}
    for one in stretches:
        ran[one.name] = ran.get(one.name, 0.0) + one.took_ms
    total_ms = ran.pop(TOTAL, None)
    if total_ms is None and not ran:
        return Split({}, {}, {})
    inside_ms = service_ms if total_ms is None else total_ms
    waited = _waited([s for s in stretches if s.name != TOTAL and "." not in s.name], inside_ms)
    unattributed = inside_ms - sum(waited.values())
    excess = max(0.0, -unattributed)
    rests = {UNATTRIBUTED: max(0.0, unattributed)}
    if total_ms is not None:
        rests[OUTSIDE] = max(0.0, service_ms - total_ms)
        excess += max(0.0, total_ms - service_ms)
    if excess > _ROUNDING_MS:
        rests[EXCESS] = excess
    return Split(ran, waited, rests)


_ROUNDING_MS = 0.01
"""Servers tell whole microseconds: a handful of stages may be off by a few of them."""


def _waited(stretches: Sequence[Stretch], whole_ms: float) -> dict[str, float]:
    """Each stage's time during which it was the one to end last; in full where no start is told."""
    waited = {one.name: 0.0 for one in stretches}
    placed: list[tuple[float, float, str]] = []
    for one in stretches:
        if one.start_ms is None:
            waited[one.name] += one.took_ms
        else:
            end = min(one.start_ms + one.took_ms, whole_ms)
            placed.append((min(one.start_ms, end), end, one.name))
    edges = sorted({edge for start, end, _ in placed for edge in (start, end)})
    for start, end in pairwise(edges):
        running = [(last, -first, name) for first, last, name in placed if first <= start < last]
        if running:
            waited[max(running)[2]] += end - start
    return waited
