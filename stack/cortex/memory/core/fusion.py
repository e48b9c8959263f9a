"""How the text and the vector arm's scores become one: named strategies, pure.

A text part is the share of a query's BM25 that an item reached, of what a text of nothing but
its words could reach; a similarity is a cosine. Both mean the same in every search, so their
convex combination does too, and can be held against a threshold. (Min-max normalisation, which
the literature prefers, scores the same on our evals and means nothing by itself; see
docs/decisions/0004-fusion.md. Convex combination: Bruch et al., arXiv 2210.11934.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

VECTOR_WEIGHT = 0.4

# Damps the head of each list; the value of the RRF paper (Cormack et al., SIGIR 2009).
DAMPING = 60

ROUND_TO = 9
"""Digits by which two scores are equal, so that the order does not hang on summation order."""


@dataclass(frozen=True, slots=True)
class Scored:
    """An item's number, fused score in 0–1, and the parts it was made of."""

    item: int
    score: float
    similarity: float | None
    text: float


def fuse(
    strategy: str, similarities: Mapping[int, float], texts: Mapping[int, float]
) -> list[Scored]:
    """Every item of either arm with its fused score, in no order."""
    if strategy == "text-only":
        return [Scored(item, _unit(part), None, part) for item, part in texts.items() if part > 0]
    if strategy == "vector-only":
        return [Scored(item, _unit(one), one, 0.0) for item, one in similarities.items()]
    if strategy == "reciprocal-rank":
        return _by_ranks(similarities, texts)
    return [
        Scored(
            item,
            VECTOR_WEIGHT * _unit(similarities.get(item, 0.0))
            + (1 - VECTOR_WEIGHT) * _unit(texts.get(item, 0.0)),
            similarities.get(item),
            texts.get(item, 0.0),
        )
        for item in similarities.keys() | texts.keys()
    ]


def _by_ranks(similarities: Mapping[int, float], texts: Mapping[int, float]) -> list[Scored]:
    """Reciprocal rank fusion, scaled so that first in both arms is 1."""
    places = [_places(similarities), _places({k: v for k, v in texts.items() if v > 0})]
    top = 2 / (DAMPING + 1)
    return [
        Scored(
            item,
            sum(1 / (DAMPING + place[item]) for place in places if item in place) / top,
            similarities.get(item),
            texts.get(item, 0.0),
        )
        for item in similarities.keys() | texts.keys()
    ]


def _places(scores: Mapping[int, float]) -> dict[int, int]:
    """Competition ranks from 1: equal scores share the better place."""
    ordered = sorted(scores, key=lambda item: -scores[item])
    places: dict[int, int] = {}
    for index, item in enumerate(ordered):
        same = index > 0 and scores[item] == scores[ordered[index - 1]]
        places[item] = places[ordered[index - 1]] if same else index + 1
    return places


def foremost(scored: Sequence[Scored], limit: int) -> list[Scored]:
    """The `limit` best and all that score as much as the last of them, best first."""
    ordered = sorted(scored, key=lambda one: (-round(one.score, ROUND_TO), -one.item))
    if len(ordered) <= limit:
        return ordered
    last = round(ordered[limit - 1].score, ROUND_TO)
    end = limit
    while end < len(ordered) and round(ordered[end].score, ROUND_TO) == last:
        end += 1
    return ordered[:end]


def best_first(
    scored: Sequence[Scored], known: Mapping[int, tuple[datetime, UUID]]
) -> list[Scored]:
    """Best score first; equal scores newest first, then by id. Items not `known` are left out."""
    kept = [one for one in scored if one.item in known]
    kept.sort(key=lambda one: known[one.item][1])
    kept.sort(key=lambda one: known[one.item][0], reverse=True)
    kept.sort(key=lambda one: -round(one.score, ROUND_TO))
    return kept


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
