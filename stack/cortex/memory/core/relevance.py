"""When the best there is is still no answer. Calibrated on the evals: docs/decisions/0006."""

LEAST_SIMILARITY = 0.25
LEAST_TEXT = 0.25
"""A cosine, and a share of the query's BM25, below which an item says nothing about a query."""


def is_relevant(similarity: float | None, text: float) -> bool:
    """Whether an item may be an answer: near in meaning, or sharing enough of the words."""
    if similarity is None:
        return text > 0
    return similarity >= LEAST_SIMILARITY or text >= LEAST_TEXT
