"""Counters and histograms under the names of Text Embeddings Inference, as Prometheus text.

Not `prometheus_client`: it would add `_total` to every counter, and dashboards made for the
original would find nothing.
"""

from bisect import bisect_left
from collections.abc import Sequence

_SECONDS = (
    *(0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128),
    *(0.256, 0.512, 1.0, 2.0, 4.0, 8.0, 16.0),
)
_COUNTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0)


class Counter:
    """A number that only rises, one for each value of its label."""

    def __init__(self, name: str, label: str = "") -> None:
        self.name = name
        self._label = label
        self._values: dict[str, int] = {} if label else {"": 0}

    def add(self, value: str = "", times: int = 1) -> None:
        """Count `times` more."""
        self._values[value] = self._values.get(value, 0) + times

    def lines(self) -> list[str]:
        """The counter as Prometheus text."""
        head = [f"# TYPE {self.name} counter"]
        if not self._label:
            return [*head, f"{self.name} {self._values['']}"]
        rows = self._values.items()
        return head + [f'{self.name}{{{self._label}="{value}"}} {count}' for value, count in rows]


class Histogram:
    """How often a value fell under each bound."""

    def __init__(self, name: str, bounds: Sequence[float]) -> None:
        self.name = name
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self) -> list[str]:
        """The histogram as Prometheus text."""
        lines, running = [f"# TYPE {self.name} histogram"], 0
        bounds = [*(f"{bound:g}" for bound in self._bounds), "+Inf"]
        for bound, count in zip(bounds, self._counts, strict=True):
            running += count
            lines.append(f'{self.name}_bucket{{le="{bound}"}} {running}')
        return [*lines, f"{self.name}_sum {self._sum!r}", f"{self.name}_count {running}"]


class Metrics:
    """Everything the service counts; touched by the event loop alone."""

    def __init__(self) -> None:
        self.request_count = Counter("te_request_count", "method")
        self.request_success = Counter("te_request_success", "method")
        self.request_failure = Counter("te_request_failure", "err")
        self.embed_count = Counter("te_embed_count")
        self.embed_success = Counter("te_embed_success")
        self.queue_size = 0
        self.request_duration = Histogram("te_request_duration", _SECONDS)
        self.request_tokenization = Histogram("te_request_tokenization_duration", _SECONDS)
        self.request_queue = Histogram("te_request_queue_duration", _SECONDS)
        self.request_inference = Histogram("te_request_inference_duration", _SECONDS)
        self.request_input_length = Histogram("te_request_input_length", _COUNTS)
        self.embed_duration = Histogram("te_embed_duration", _SECONDS)
        self.embed_tokenization = Histogram("te_embed_tokenization_duration", _SECONDS)
        self.embed_queue = Histogram("te_embed_queue_duration", _SECONDS)
        self.embed_inference = Histogram("te_embed_inference_duration", _SECONDS)
        self.batch_size = Histogram("te_batch_next_size", _COUNTS)
        self.batch_tokens = Histogram("te_batch_next_tokens", _COUNTS)

    def text(self) -> str:
        """All of it as Prometheus text."""
        lines = ["# TYPE te_queue_size gauge", f"te_queue_size {self.queue_size}"]
        for found in vars(self).values():
            if isinstance(found, Counter | Histogram):
                lines += found.lines()
        return "\n".join(lines) + "\n"
