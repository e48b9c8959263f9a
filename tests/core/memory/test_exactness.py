"""When every vector is compared, and how wide the index is searched."""

import pytest
from cortex.memory.core.exactness import (
    LEAST_WIDTH,
    MARGIN,
    MOST_WIDTH,
    index_width,
    search_width,
)


@pytest.mark.parametrize(
    ("vectors", "share", "queries"),
    [(500, 0.002, 1), (4_000, 0.02, 1), (4_000, 0.02, 4), (30_000, 0.03, 4), (2_500, 1.0, 1)],
)
def test_a_small_scope_is_compared_whole(vectors: int, share: float, queries: int) -> None:
    assert index_width(vectors, share, queries, 50) is None


def test_all_projects_of_a_large_memory_are_searched_by_the_index() -> None:
    assert index_width(50_000, 1.0, 1, 50) == LEAST_WIDTH
    assert index_width(50_000, 1.0, 4, 50) == LEAST_WIDTH


def test_a_scope_of_a_part_of_all_is_searched_wider() -> None:
    assert index_width(47_000, 0.15, 1, 60) == round(MARGIN * 60 / 0.15)


def test_the_more_vectors_there_are_the_wider_the_index_is_searched() -> None:
    widths = [index_width(vectors, 1.0, 1, 60) for vectors in (20_000, 100_000, 1_000_000, 10**8)]

    assert widths == [LEAST_WIDTH, 264, 663, MOST_WIDTH]
    assert index_width(235_000, 0.235, 1, 60) == 663


def test_what_the_index_cannot_bring_is_compared_whole() -> None:
    assert index_width(1_000_000, 0.01, 1, 50) is None
    assert index_width(1_000_000, 0.0, 1, 50) is None
    assert MOST_WIDTH < MARGIN * 50 / 0.01


def test_an_operator_may_have_all_compared_or_the_index_used_whatever_is_cheaper() -> None:
    assert search_width("exact", 200_000, 1.0, 1, 50) is None
    assert search_width("indexed", 500, 1.0, 1, 50) == LEAST_WIDTH
    assert search_width("indexed", 500, 0.001, 1, 50) == MOST_WIDTH
    assert search_width("auto", 500, 1.0, 1, 50) is None
    assert search_width("auto", 50_000, 1.0, 1, 50) == LEAST_WIDTH
