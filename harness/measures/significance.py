"""Is a difference real? Paired bootstrap over queries, stratified by eval set, fixed seed.

Each resample draws, within every set, as many queries as it has; the statistic is the mean over
sets of the sets' mean difference, so that a large set does not drown a small one. The interval is
the percentile interval (Efron and Tibshirani 1993, chapter 13).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.errors import HarnessError

RESAMPLES = 10_000
SEED = 20_240_611
CONFIDENCE = 0.95
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval, and over how many queries."""

    mean: float
    low: float
    high: float
    n: int


def paired(new: Mapping[str, float], old: Mapping[str, float]) -> list[float]:
    """The differences new - old per query, in order of the ids; both must have the same queries."""
    if new.keys() != old.keys():
        odd = sorted(new.keys() ^ old.keys())
        raise HarnessError(f"queries differ: {len(odd)} are in one only, such as {odd[0]!r}")
    return [new[query] - old[query] for query in sorted(new)]


def macro_interval(strata: Sequence[Sequence[float]], resamples: int = RESAMPLES) -> Interval:
    """The mean over sets of each set's mean, with its bootstrap interval."""
    arrays = [np.asarray(values, dtype=np.float64) for values in strata]
    if not arrays or any(array.size == 0 for array in arrays):
        raise HarnessError("a bootstrap needs at least one set, and values in each")
    if not all(np.isfinite(array).all() for array in arrays):
        raise HarnessError("a value to resample is not a number")
    chance = np.random.default_rng(SEED)
    means = np.mean([_resampled(array, resamples, chance) for array in arrays], axis=0)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    mean = float(np.mean([array.mean() for array in arrays]))
    return Interval(mean, float(low), float(high), sum(array.size for array in arrays))


def _resampled(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    resamples: int,
    chance: np.random.Generator,
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Means of `resamples` draws with replacement, in chunks to bound memory."""
    means = np.empty(resamples)
    for start in range(0, resamples, _CHUNK):
        rows = min(_CHUNK, resamples - start)
        drawn = chance.integers(0, values.size, size=(rows, values.size))
        means[start : start + rows] = values[drawn].mean(axis=1)
    return means
