"""From hidden states to vectors."""

import numpy as np
import pytest
from cortex.embedding.core.pooling import pool, rows, shape, similarities
from cortex.embedding.records import Pooling

STATES = np.array([[[1, 0], [3, 2], [9, 9]], [[4, 4], [-2, 8], [6, 0]]], np.float32)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("mean", [[2, 1], [8 / 3, 4]]),
        ("cls", [[1, 0], [4, 4]]),
        ("max", [[3, 2], [6, 8]]),
        ("lasttoken", [[3, 2], [6, 0]]),
    ],
)
def test_padding_takes_no_part(pooling: Pooling, expected: list[list[float]]) -> None:
    assert pool(STATES, [2, 3], pooling) == pytest.approx(np.array(expected, np.float32))


def test_a_vector_is_cut_before_it_gets_unit_length() -> None:
    vectors = np.array([[3, 4, 12], [0, 5, 1]], np.float32)

    assert shape(vectors, 2, normalize=True) == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))


def test_one_vector_and_many_get_the_same_length() -> None:
    vectors = np.random.default_rng(1).normal(size=(3, 384)).astype(np.float32)

    many = shape(vectors, None, normalize=True)
    single = [shape(vectors[[row]], None, normalize=True)[0] for row in range(3)]

    assert np.abs(many - np.stack(single)).max() < 1e-7
    assert many.dtype == single[0].dtype == np.float32


def test_a_vector_of_noughts_stays_finite() -> None:
    assert np.isfinite(shape(np.zeros((1, 4), np.float32), None, normalize=True)).all()


def test_vectors_of_several_batches_become_rows_in_order() -> None:
    parts = [np.array([1, 2], np.float32), np.array([3, 4], np.float32)]

    assert rows(parts).tolist() == [[1, 2], [3, 4]]
    assert rows(parts[:1]).tolist() == [[1, 2]]


def test_similarity_is_the_cosine_with_the_first() -> None:
    assert similarities(np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)) == pytest.approx(
        [0, 0.6]
    )
