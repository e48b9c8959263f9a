"""Where a request's time goes: named stages, as a `Server-Timing` header and as histograms.

A stage's name is spelt once, in the service that has the stage; readers take it from the header.
Stages may run beside each other, so the header says of each stretch when it began (`start`, ms from
the request's beginning): durations alone would add up to more than the whole. A part of a stage is
named after it (`embed.queue`) and lies within it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from prometheus_client import CollectorRegistry, Histogram

BUCKETS_S = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 8)

MOST_STRETCHES = 24
"""Stretches whose start is told; a request with more of them tells the rest as plain durations."""

_current: ContextVar["Stages | None"] = ContextVar("stages", default=None)
_inside: ContextVar[str] = ContextVar("stage", default="")


class Stages:
    """The stages of one request, in order of first appearance; durations in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stretches: list[tuple[str, float, float]] = []
        self._started = time.perf_counter()

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        """Add the time spent inside to the stage `name`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - started
            self.add(name, seconds)
            if len(self._stretches) < MOST_STRETCHES:
                self._stretches.append((name, started - self._started, seconds))

    def add(self, name: str, seconds: float) -> None:
        """Add `seconds` to the stage `name`."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def header(self) -> str:
        """The value of a `Server-Timing` header: milliseconds, `total` last."""
        total = time.perf_counter() - self._started
        parts = []
        for name, seconds in self.seconds.items():
            own = [stretch for stretch in self._stretches if stretch[0] == name]
            parts += [f"{name};dur={took * 1000:.3f};start={at * 1000:.3f}" for _, at, took in own]
            rest = seconds - sum(took for _, _, took in own)
            if not own or rest > 1e-9:
                parts.append(f"{name};dur={rest * 1000:.3f}")
        return ", ".join([*parts, f"total;dur={total * 1000:.3f}"])


@contextmanager
def request_stages() -> Iterator[Stages]:
    """Make a `Stages` the current one while a request is served."""
    stages = Stages()
    token = _current.set(stages)
    try:
        yield stages
    finally:
        _current.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Measure a stage of the current request; outside a request it measures nothing."""
    stages = _current.get()
    if stages is None:
        yield
        return
    token = _inside.set(name)
    try:
        with stages.measured(name):
            yield
    finally:
        _inside.reset(token)


def tell_part(name: str, seconds: float) -> None:
    """Add to a part of the stage we are in, as another service says it took; else nothing."""
    stages, inside = _current.get(), _inside.get()
    if stages is not None and inside:
        stages.add(f"{inside}.{name}", seconds)


def stage_histogram(service: str, registry: CollectorRegistry) -> Histogram:
    """The Prometheus histogram `cortex_<service>_stage_seconds{stage=…}`."""
    return Histogram(
        f"cortex_{service}_stage_seconds",
        "Time spent in each stage of a request.",
        ["stage"],
        buckets=BUCKETS_S,
        registry=registry,
    )
