"""When to compare every vector, and how wide to search the index where not."""

import math
from typing import Literal

ALWAYS_EXACT = 2_000
"""Vectors in scope that are compared faster than anything else could be decided."""

# Measured side by side (docs/decisions/0005-vector-arm.md); only their ratio matters.
COST_OF_A_ROW = 2.0
COST_OF_A_FURTHER_QUERY = 0.1
COST_OF_A_STEP = 30.0

LEAST_WIDTH = 200
WIDE_FROM = 50_000
WIDENING = 0.4
"""Candidates an index search keeps, that recall@10 stays above .99: 200 among 50,000 vectors, and
more as there are more, by this power: 264 among 100,000 (200 found .987, 400 all), 663 among a
million (400 found .988, 800 .998)."""

MARGIN = 1.2
"""Candidates beyond the share that is expected in scope: one pass over the index is enough."""

MOST_WIDTH = 1_000
"""What pgvector allows."""


VectorSearch = Literal["auto", "exact", "indexed"]
"""Whichever is cheaper; every vector compared; the index wherever it can serve."""


def search_width(
    mode: VectorSearch, vectors: int, share: float, queries: int, brought: int
) -> int | None:
    """`index_width` as far as `mode` leaves it a choice; `auto` compares a small scope whole."""
    if mode == "exact":
        return None
    if mode == "indexed":
        return round(min(MOST_WIDTH, _wanted(vectors, share, brought)))
    return None if vectors <= ALWAYS_EXACT else index_width(vectors, share, queries, brought)


def index_width(vectors: int, share: float, queries: int, brought: int) -> int | None:
    """How many candidates an index search keeps to bring so many vectors; None: compare all.

    `vectors` are those in scope, `share` is their part of all vectors, 0 to 1: the index knows no
    projects, so a scope of a tenth of all needs ten times the candidates.
    """
    wanted = _wanted(vectors, share, brought)
    if wanted > MOST_WIDTH:
        return None
    exact = vectors * (COST_OF_A_ROW + COST_OF_A_FURTHER_QUERY * (queries - 1))
    return None if exact <= queries * wanted * COST_OF_A_STEP else round(wanted)


def _wanted(vectors: int, share: float, brought: int) -> float:
    if share <= 0:
        return MOST_WIDTH + 1
    least = LEAST_WIDTH * math.pow(max(1.0, vectors / share / WIDE_FROM), WIDENING)
    return max(min(least, MOST_WIDTH), MARGIN * brought / share)
