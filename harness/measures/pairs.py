"""Is one build slower? Paired blocks, signed-rank statistics on the logarithm of their ratio.

Each pair asks both builds the same queries, in an order drawn by chance: if the builds are alike,
the sign of a pair's log ratio is a coin's, which is all that the signed-rank test needs (Wilcoxon
1945; exact up to 50 pairs). The ratio is the Hodges-Lehmann estimate, the median of all means of
two pairs, with the interval that inverts the same test (Hollander, Wolfe and Chicken 2014, 3.2):
one pair that a neighbour on the machine spoilt moves neither far.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.errors import HarnessError

LEAST_PAIRS = 14
"""With fewer, a test corrected for a dozen stages cannot reach 0.5 %: 2 / 2**n is too large."""
LOOKS = (1, 3)
"""At how many times `pairs` the blocks are looked at; what is open then is measured on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a change is a regression: beyond chance, and both relatively and absolutely large.

    `alpha` is for all series of a comparison and both looks together; `pairs` blocks of `calls`
    timed calls each, after `warm_up` that do not count, are asked of both builds, and three times
    as many where that leaves something open.
    """

    alpha: float = 0.01
    relative: float = 0.10
    absolute_ms: float = 0.1
    pairs: int = 60
    calls: int = 20
    warm_up: int = 1

    @property
    def alpha_of_a_look(self) -> float:
        """Each look's share, so that looking twice finds no more than looking once (Bonferroni)."""
        return self.alpha / len(LOOKS)

    @property
    def most_pairs(self) -> int:
        """The pairs of the last look, settled before the first."""
        return LOOKS[-1] * self.pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A middle with the interval that goes with the test."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How one series of the candidate differs from the base's; `p` is of this series alone."""

    series: str
    pairs: int
    base_ms: float
    candidate_ms: float
    ratio: Estimate
    difference_ms: Estimate
    p: float


def change(series: str, base: Sequence[float], candidate: Sequence[float], alpha: float) -> Change:
    """The change of one series from its value in ms in each pair's two blocks."""
    if len(base) != len(candidate) or len(base) < 2:
        raise HarnessError(f"{series}: {len(base)} and {len(candidate)} blocks make no pairs")
    old, new = np.asarray(base, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if not (np.isfinite(old).all() and np.isfinite(new).all()):
        raise HarnessError(f"{series}: a block's time is not a number")
    # A time of zero has no logarithm; a tenth of a microsecond is below every clock here.
    logs = np.log(np.maximum(new, 1e-4)) - np.log(np.maximum(old, 1e-4))
    ratio = middle(logs.tolist(), alpha)
    return Change(
        series=series,
        pairs=len(base),
        base_ms=float(np.median(old)),
        candidate_ms=float(np.median(new)),
        ratio=Estimate(
            value=math.exp(ratio.value), low=math.exp(ratio.low), high=math.exp(ratio.high)
        ),
        difference_ms=middle((new - old).tolist(), alpha),
        p=signed_rank(logs.tolist()),
    )


def signed_rank(values: Sequence[float]) -> float:
    """The two-sided p of a middle of zero; 1 where every value is zero."""
    from scipy import stats  # here: most commands read the limits and compare nothing

    if not any(values):
        return 1.0
    return float(stats.wilcoxon(values, zero_method="wilcox").pvalue)


def middle(values: Sequence[float], alpha: float) -> Estimate:
    """The Hodges-Lehmann estimate; its interval holds the middle with confidence 1 - `alpha`.

    With too few values for such an interval it spans all of them.
    """
    array = np.asarray(values, dtype=np.float64)
    first, second = np.triu_indices(array.size)
    means = np.sort((array[first] + array[second]) / 2)
    outside = max(0, _critical(array.size, alpha))
    return Estimate(
        value=float(np.median(means)), low=float(means[outside]), high=float(means[-1 - outside])
    )


def _critical(n: int, alpha: float) -> int:
    """The largest sum of ranks that is significant, two-sided; -1 where none is."""
    # P(T <= t) of the signed-rank sum, by counting the subsets of 1..n that add up to t.
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[: counts.size - rank].copy()
    below = np.cumsum(counts) / 2.0**n
    return int(np.searchsorted(below, alpha / 2, side="right")) - 1


def holm(found: Mapping[str, float]) -> dict[str, float]:
    """Each p corrected for how many there are (Holm 1979): the smallest pays most."""
    corrected: dict[str, float] = {}
    worst = 0.0
    for place, name in enumerate(sorted(found, key=lambda name: (found[name], name))):
        worst = max(worst, min(1.0, found[name] * (len(found) - place)))
        corrected[name] = worst
    return corrected
