"""What gates are judged on, as plain values: a run's measurements, and the baseline's scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from harness.results import Records

HYBRID = "hybrid"
QueryScores = Mapping[str, Mapping[str, float]]
"""Metric (without `relevance.`) -> query id -> score."""


@dataclass(frozen=True, slots=True)
class SetScores:
    """One strategy's scores on one set, and how many hits each query had."""

    scores: QueryScores
    hits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BaselineSet:
    """What was accepted for one set, and the fingerprint of the data it was measured on."""

    fingerprint: str
    scores: QueryScores
    hits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The committed baseline of one profile."""

    profile: str
    model: str
    revision: str
    sets: Mapping[str, BaselineSet]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A run as the gates see it; `scores` by set and strategy.

    `says_nothing` tells whether the server can say that nothing is relevant; `required` names the
    sets that must be there, None when those that are absent may be.
    """

    records: Records
    profile: Literal["quick", "full"]
    suites: frozenset[str]
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[tuple[str, str], SetScores] = field(default_factory=dict)
    model: str = "unknown"
    strategies: bool = True
    says_nothing: bool = True
    baseline: Baseline | None = None
    required: bool = False
