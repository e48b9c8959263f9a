"""What one load process learnt: histograms that add up, counts, errors, its own CPU."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import psutil

from harness import mcp
from harness.measures.latency import Latencies
from harness.measures.stages import RESTS, Stretch, split
from loadtests.plans import SCHEMA

KEPT_SAMPLES = 100_000
KEPT_STAGES = 100
OTHER_STAGES = "other stages"
KEPT_ERRORS = 100
OTHER_ERRORS = "errors in other words"
KEPT_HITS = 2
"""Two different first hits are enough to see that not every search is answered alike."""


class Recorder:
    """Records timed calls; `response` counts from when a call was due, not from sending."""

    def __init__(self) -> None:
        self.response, self.service, self.lag = Latencies(), Latencies(), Latencies()
        self.stages: defaultdict[str, Latencies] = defaultdict(Latencies)
        self.waited: defaultdict[str, Latencies] = defaultdict(Latencies)
        self.workloads: defaultdict[str, Latencies] = defaultdict(Latencies)
        self.dropped = self.answered = 0
        self.errors: Counter[str] = Counter()
        self.with_hits = self.without_hits = 0
        self.first_hits: list[str] = []
        self.samples: list[tuple[float, float, float, float, int]] = []
        self.started_s: float | None = None
        self.ended_s = 0.0
        self.cpu_cores: list[float] = []
        self._process = psutil.Process()

    def start(self, moment_s: float) -> None:
        """The first timed call is due now."""
        if self.started_s is None:
            self.started_s = moment_s
            self._process.cpu_percent()

    def drop(self) -> None:
        """Count an arrival that was not sent because the pool was full."""
        self.dropped += 1

    def add(
        self,
        workload: str,
        times_s: tuple[float, float, float],
        error: str,
        timing: str,
        first_hit: str | None = None,
    ) -> None:
        """Keep one call: when it was due, sent and answered, in seconds of one steady clock.

        `first_hit` is a search's first hit, empty where it found nothing.
        """
        due_s, sent_s, answered_s = times_s
        self.answered += 1
        self.ended_s = max(self.ended_s, answered_s)
        response_s, service_s, lag_s = answered_s - due_s, answered_s - sent_s, sent_s - due_s
        self.response.record(response_s)
        self.workloads[workload].record(response_s)
        self.service.record(service_s)
        self.lag.record(lag_s)
        if error:
            self._add_error(error[:200])
        elif first_hit is not None:
            self._add_hit(first_hit)
        if len(self.samples) < KEPT_SAMPLES:
            row = (due_s - (self.started_s or 0), lag_s, service_s, response_s, int(not error))
            self.samples.append(row)
        if not error:
            self._add_stages(workload, service_s, mcp.stretches_of(timing))

    def _add_error(self, error: str) -> None:
        """Count an error by its words, as far as they are few."""
        kept = error in self.errors or len(self.errors) < KEPT_ERRORS
        self.errors[error if kept else OTHER_ERRORS] += 1

    def _add_hit(self, first_hit: str) -> None:
        """Count a search, and keep a first hit that is another one than before."""
        if not first_hit:
            self.without_hits += 1
            return
        self.with_hits += 1
        if len(self.first_hits) < KEPT_HITS and first_hit not in self.first_hits:
            self.first_hits.append(first_hit)

    def _add_stages(self, workload: str, service_s: float, told: Sequence[Stretch]) -> None:
        """How long each stage ran, what of it was waited for, and what has no name."""
        found = split(told, service_s * 1000)
        for name, took_ms in (found.ran | found.rests).items():
            self.stages[self._stage(workload, name)].record(took_ms / 1000)
        for name, took_ms in found.waited.items():
            self.waited[self._stage(workload, name)].record(took_ms / 1000)

    def _stage(self, workload: str, name: str) -> str:
        """Where a stage is kept: a server that has a new name for each call fills no memory."""
        key = f"{workload}/{name}"
        kept = key in self.stages or name in RESTS or len(self.stages) < KEPT_STAGES
        return key if kept else f"{workload}/{OTHER_STAGES}"

    def sample_cpu(self) -> None:
        """Keep the CPU this process used since the last call, in cores."""
        if self.started_s is not None:
            self.cpu_cores.append(self._process.cpu_percent() / 100)

    def found(self) -> dict[str, Any]:
        """Everything, as it goes to the master or into a file."""
        elapsed_s = self.ended_s - self.started_s if self.started_s is not None else 0.0
        return {
            "schema": SCHEMA,
            "response": self.response.encoded(),
            "service": self.service.encoded(),
            "lag": self.lag.encoded(),
            "workloads": {name: one.encoded() for name, one in self.workloads.items()},
            "stages": {name: stage.encoded() for name, stage in self.stages.items()},
            "waited": {name: stage.encoded() for name, stage in self.waited.items()},
            "answered": self.answered,
            "dropped": self.dropped,
            "errors": dict(self.errors),
            "with_hits": self.with_hits,
            "without_hits": self.without_hits,
            "first_hits": self.first_hits,
            "elapsed_s": max(elapsed_s, 0.0),
            "cpu_cores": self.cpu_cores,
            "samples": self.samples,
        }


_TEI_STAGES = {
    "tokenize": "x-tokenization-time",
    "queue": "x-queue-time",
    "inference": "x-inference-time",
    "total": "x-total-time",
}
"""What Text Embeddings Inference tells of a request, in whole milliseconds."""


def timing_of(headers: Mapping[str, str]) -> str:
    """An answer's stages as `Server-Timing` has them, whichever way they are told."""
    told = headers.get("server-timing", "")
    return told or ", ".join(
        f"{stage};dur={headers[name]}" for stage, name in _TEI_STAGES.items() if name in headers
    )


def merged(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What several processes found as one: histograms and counts add, percentiles never do.

    `cpu_cores` are those of the busiest process, since each can use one core at most.
    """
    errors: Counter[str] = Counter()
    for one in found:
        errors.update(one["errors"])
    names = ("workloads", "stages", "waited")
    return {
        "schema": SCHEMA,
        **{name: _sum(one[name] for one in found) for name in ("response", "service", "lag")},
        **{
            name: {
                key: _sum(one[name][key] for one in found if key in one[name])
                # In the order the servers name them: that of a call.
                for key in dict.fromkeys(key for one in found for key in one[name])
            }
            for name in names
        },
        "answered": sum(one["answered"] for one in found),
        "dropped": sum(one["dropped"] for one in found),
        "errors": dict(errors),
        "with_hits": sum(one["with_hits"] for one in found),
        "without_hits": sum(one["without_hits"] for one in found),
        "first_hits": sorted({hit for one in found for hit in one["first_hits"]})[:KEPT_HITS],
        "elapsed_s": max(one["elapsed_s"] for one in found),
        "cpu_cores": max(
            (one["cpu_cores"] for one in found), key=lambda c: sum(c) / max(1, len(c))
        ),
        "samples": sorted(tuple(sample) for one in found for sample in one["samples"]),
    }


def _sum(encoded: Iterable[str]) -> str:
    whole = Latencies()
    for one in encoded:
        whole.add(Latencies(one))
    return whole.encoded()


def now() -> float:
    """The steady clock all times of a load run are of."""
    return time.perf_counter()
