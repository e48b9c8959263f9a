"""Worsens a ranking by a known amount, to see whether the gates find it."""

import random
from collections.abc import Mapping, Sequence

from harness.evalsets.records import EvalSet
from harness.measures import ranking

NDCG = "ndcg@10"
FARTHEST = 11
"""A hit pushed down so many places is out of the first ten."""
CAPS = {"few": 1.0, "many": 0.15}
"""The most one query may lose: all it has, or about a place or two."""


def worsened(
    found: EvalSet, rankings: Mapping[str, Sequence[str]], loss: float, shape: str, seed: int
) -> dict[str, Sequence[str]]:
    """The rankings with the best relevant hit of some queries pushed down.

    The queries are drawn from the seed, until the mean nDCG@10 is lower by `loss`.
    """
    made = dict(rankings)
    left = loss * len(rankings)
    queries = sorted(rankings)
    random.Random(seed).shuffle(queries)
    for query in queries:
        if left < 0.005 * loss * len(rankings):
            break
        lost, worse = _pushed(found, query, rankings[query], min(left, CAPS[shape]))
        if lost > 0:
            made[query] = worse
            left -= lost
    return made


def _pushed(
    found: EvalSet, query: str, hits: Sequence[str], most: float
) -> tuple[float, Sequence[str]]:
    """The push that loses most without losing more than `most`, and what it loses."""
    grades = found.judgments[query]
    first = next((place for place, hit in enumerate(hits) if grades.get(hit, 0) > 0), None)
    if first is None:
        return 0.0, hits
    was = _ndcg(found, query, hits)
    best: tuple[float, Sequence[str]] = (0.0, hits)
    for place in range(first + 1, min(FARTHEST, len(hits))):
        rest = [hit for hit in hits if hit != hits[first]]
        worse = [*rest[:place], hits[first], *rest[place:]]
        lost = was - _ndcg(found, query, worse)
        if best[0] < lost <= most + 1e-9:
            best = (lost, worse)
    return best


def _ndcg(found: EvalSet, query: str, hits: Sequence[str]) -> float:
    scores = ranking.score({query: found.judgments[query]}, {query: hits}, set(hits))
    return scores[NDCG][query]
