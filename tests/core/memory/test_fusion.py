"""Fusing the two arms."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from cortex.memory.core.fusion import DAMPING, VECTOR_WEIGHT, Scored, best_first, fuse

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def scores(
    strategy: str, similarities: dict[int, float], texts: dict[int, float]
) -> dict[int, float]:
    return {one.item: one.score for one in fuse(strategy, similarities, texts)}


def test_the_convex_combination_weighs_both_parts() -> None:
    fused = scores("convex", {1: 0.5, 2: 0.9}, {1: 0.8})

    assert fused[1] == pytest.approx(VECTOR_WEIGHT * 0.5 + (1 - VECTOR_WEIGHT) * 0.8)
    assert fused[2] == pytest.approx(VECTOR_WEIGHT * 0.9)


def test_a_score_stays_between_0_and_1_whatever_the_parts() -> None:
    fused = scores("convex", {1: -0.4, 2: 1.0000001}, {1: 1.2, 2: 1.0})

    assert all(0 <= score <= 1 for score in fused.values())


def test_reciprocal_rank_gives_first_in_both_a_one() -> None:
    fused = scores("reciprocal-rank", {1: 0.9, 2: 0.5}, {1: 0.7})

    assert fused[1] == pytest.approx(1)
    assert fused[2] == pytest.approx((1 / (DAMPING + 2)) / (2 / (DAMPING + 1)))


def test_equal_ranks_are_shared() -> None:
    fused = scores("reciprocal-rank", {1: 0.5, 2: 0.5}, {})

    assert fused[1] == fused[2]


def test_one_arm_alone_ignores_the_other() -> None:
    assert scores("text-only", {1: 0.9}, {2: 0.3, 3: 0.0}) == {2: 0.3}
    assert scores("vector-only", {1: 0.9}, {2: 0.3}) == {1: 0.9}


def test_equal_scores_come_newest_first_then_by_id() -> None:
    ids = sorted(uuid.uuid4() for _ in range(3))
    known = {
        1: (NOW, ids[1]),
        2: (NOW, ids[0]),
        3: (NOW + timedelta(seconds=1), ids[2]),
    }
    tied = [Scored(item, 0.5, None, 0.5) for item in (1, 2, 3)]

    assert [one.item for one in best_first(tied, known)] == [3, 2, 1]


def test_an_item_that_is_gone_is_left_out() -> None:
    assert best_first([Scored(1, 0.5, None, 0.5)], {}) == []
