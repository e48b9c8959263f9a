"""Latency as mergeable HDR histograms, and quantiles with the interval their sample allows.

Values are recorded in whole microseconds with three significant digits, 1 µs to an hour. A
quantile's interval is the order-statistic one: ranks from the binomial distribution, no
assumption about the shape (Hahn and Meeker 1991, 5.2). Where the sample is too small for a
finite interval, `low` and `high` are None and `needed` says how many it takes.
"""

import math
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
CONFIDENCE = 0.95
LONGEST_US = 3_600_000_000
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile in ms, its 95 % interval, the sample's size and the size it needs."""

    value_ms: float
    low_ms: float | None
    high_ms: float | None
    n: int
    needed: int

    @property
    def enough(self) -> bool:
        """Whether the sample bounds this quantile at all."""
        return self.n >= self.needed


class Latencies:
    """A histogram of durations; histograms add, percentiles never do."""

    def __init__(self, encoded: str | None = None) -> None:
        self._histogram = HdrHistogram(1, LONGEST_US, _DIGITS)
        if encoded is not None:
            self._histogram.decode_and_add(encoded)

    @property
    def n(self) -> int:
        """How many durations were recorded."""
        return int(self._histogram.get_total_count())

    def record(self, seconds: float) -> None:
        """Add one duration."""
        self._histogram.record_value(min(max(1, round(seconds * 1e6)), LONGEST_US))

    def add(self, other: "Latencies") -> None:
        """Add all durations of another histogram."""
        self._histogram.add(other._histogram)

    def encoded(self) -> str:
        """The histogram as text, to send from a worker or keep in a file."""
        return str(self._histogram.encode().decode("ascii"))

    def at_rank(self, rank: int) -> float:
        """The duration in ms of the `rank`-th shortest, counted from 1."""
        return float(self._histogram.get_value_at_percentile(100.0 * rank / self.n)) / 1000

    @property
    def max_ms(self) -> float:
        """The longest duration in ms."""
        return float(self._histogram.get_max_value()) / 1000

    @property
    def mean_ms(self) -> float:
        """The mean duration in ms."""
        # The library's own mean, which walks from value to value, takes ten times as long.
        histogram, total = self._histogram, 0
        for index, count in enumerate(histogram.counts):
            if count:
                low = histogram.get_value_from_index(index)
                high = histogram.get_highest_equivalent_value(low)
                total += count * (low + (high + 1 - low) // 2)
        return total / self.n / 1000 if self.n else 0.0

    def quantile(self, share: float) -> Quantile:
        """The smallest duration that at least `share` of all do not exceed."""
        n = self.n
        low, high = ranks(n, share)
        rank = max(1, math.ceil(share * n - 1e-9))
        return Quantile(
            value_ms=self.at_rank(rank),
            low_ms=None if low is None or high is None else self.at_rank(low),
            high_ms=None if low is None or high is None else self.at_rank(high),
            n=n,
            needed=needed(share),
        )

    def curve(self, points: int = 60) -> list[tuple[float, float]]:
        """(share, ms) along the distribution, evenly on the scale of log(1 / (1 - share))."""
        deepest = math.log10(max(self.n, 2))
        shares = [1 - 10 ** -(deepest * step / (points - 1)) for step in range(points)]
        return [(share, self.at_rank(max(1, math.ceil(share * self.n)))) for share in shares]


def ranks(n: int, share: float) -> tuple[int | None, int | None]:
    """The ranks, from 1, that bound the quantile with 95 % confidence; None where none does."""
    from scipy import stats  # here: load clients record with this module and need no intervals

    tail = (1 - CONFIDENCE) / 2
    low = int(stats.binom.ppf(tail, n, share))
    high = int(stats.binom.ppf(1 - tail, n, share)) + 1
    return (low if low >= 1 else None, high if high <= n else None)


def needed(share: float) -> int:
    """The smallest sample whose maximum is an upper bound: n >= ln(0.025) / ln(share)."""
    tail = (1 - CONFIDENCE) / 2
    edge = max(share, 1 - share)
    return math.ceil(math.log(tail) / math.log(edge))
