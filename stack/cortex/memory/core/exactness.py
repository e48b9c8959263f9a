"""When to compare every vector, and how wide to search the index where not."""

ALWAYS_EXACT = 2_000
"""Vectors in scope that are compared faster than anything else could be decided."""

# Measured side by side (docs/decisions/0005-vector-arm.md); only their ratio matters.
COST_OF_A_ROW = 2.0
COST_OF_A_FURTHER_QUERY = 0.1
COST_OF_A_STEP = 30.0

LEAST_WIDTH = 200
"""Candidates an index search keeps; recall@10 stays above .99 from here on."""

MARGIN = 1.2
"""Candidates beyond the share that is expected in scope: one pass over the index is enough."""

MOST_WIDTH = 1_000
"""What pgvector allows."""


def index_width(vectors: int, share: float, queries: int, brought: int) -> int | None:
    """How many candidates an index search keeps to bring so many vectors; None: compare all.

    `vectors` are those in scope, `share` is their part of all vectors, 0 to 1: the index knows no
    projects, so a scope of a tenth of all needs ten times the candidates.
    """
    wanted = max(LEAST_WIDTH, MARGIN * brought / share) if share > 0 else MOST_WIDTH + 1
    if wanted > MOST_WIDTH:
        return None
    exact = vectors * (COST_OF_A_ROW + COST_OF_A_FURTHER_QUERY * (queries - 1))
    return None if exact <= queries * wanted * COST_OF_A_STEP else round(wanted)
