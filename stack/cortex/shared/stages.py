"""Where a request's time goes: named stages, as a `Server-Timing` header and as histograms.

A stage's name is spelt once, in the service that has the stage; readers take it from the header.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from prometheus_client import CollectorRegistry, Histogram

BUCKETS_S = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 8)

_current: ContextVar["Stages | None"] = ContextVar("stages", default=None)


class Stages:
    """The stages of one request, in order of first appearance; durations in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._started = time.perf_counter()

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        """Add the time spent inside to the stage `name`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        """Add `seconds` to the stage `name`."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def header(self) -> str:
        """The value of a `Server-Timing` header: milliseconds, `total` last."""
        total = time.perf_counter() - self._started
        parts = [f"{name};dur={seconds * 1000:.3f}" for name, seconds in self.seconds.items()]
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
    with stages.measured(name):
        yield


def stage_histogram(service: str, registry: CollectorRegistry) -> Histogram:
    """The Prometheus histogram `cortex_<service>_stage_seconds{stage=…}`."""
    return Histogram(
        f"cortex_{service}_stage_seconds",
        "Time spent in each stage of a request.",
        ["stage"],
        buckets=BUCKETS_S,
        registry=registry,
    )
