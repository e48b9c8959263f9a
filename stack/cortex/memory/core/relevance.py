"""When the best there is is still no answer. Calibrated on the evals: docs/decisions/0006."""

LEAST_SIMILARITY = 0.25
LEAST_COVERED = 0.5
"""The best cosine, and the share of a query's words weighed by rarity, that an answer needs."""


def is_relevant(similarity: float | None, covered: float) -> bool:
    """Whether there may be an answer: something near in meaning, or holding enough of the words.

    `similarity` is the best one, None where there are no vectors; then any shared word will do.
    """
    if similarity is None:
        return covered > 0
    return similarity >= LEAST_SIMILARITY or covered >= LEAST_COVERED
