"""How the client cuts what it sends, and reads what it gets."""

import base64
import struct

import pytest
from cortex.clients.embedding.splitting import batches, character_spans, pieces
from cortex.clients.embedding.vectors import QueryCache, read_openai, read_tei
from cortex.shared.errors import Unavailable


def test_batches_keep_the_service_s_limit_and_the_order() -> None:
    assert batches(["x"] * 5, 2) == [range(2), range(2, 4), range(4, 5)]


def test_batches_keep_below_a_body_the_service_reads() -> None:
    assert batches(["aaaa", "aaaa", "a"], 32, max_bytes=5) == [range(1), range(1, 3)]


def test_a_text_too_large_for_any_batch_goes_alone() -> None:
    assert batches(["a", "a" * 100, "a"], 32, max_bytes=5) == [range(1), range(1, 2), range(2, 3)]


def test_pieces_cover_a_text_and_end_behind_white_space() -> None:
    text = "one two three four"

    found = list(pieces(text, 8))

    assert [text[start:end] for start, end in found] == ["one two ", "three ", "four"]


def test_a_word_longer_than_a_piece_is_cut() -> None:
    assert list(pieces("abcdefgh", 3)) == [(0, 3), (3, 6), (6, 8)]


def test_byte_spans_become_character_spans() -> None:
    assert character_spans("é 日本", [(0, 2), (3, 6), (6, 9)]) == [(0, 1), (2, 3), (3, 4)]


@pytest.mark.parametrize(
    "body",
    [
        None,
        {"error": "x"},
        [[0.1, 0.2]],
        [[0.1, 0.2], [0.1]],
        [[0.1, 0.2], [0.0, 0.0]],
        [[0.1, 0.2], [None, 0.1]],
        [[0.1, 0.2], [1e39, 0.1]],
        [[0.1, 0.2], "zzz!"],
    ],
)
def test_vectors_that_mean_nothing_are_never_returned(body: object) -> None:
    with pytest.raises(Unavailable):
        read_tei(body, 2, None)


def test_a_vector_of_another_length_than_the_schema_is_refused() -> None:
    with pytest.raises(Unavailable, match="2 dimensions, not 384"):
        read_tei([[0.6, 0.8]], 1, 384)


def test_openai_vectors_are_put_in_order_and_read_in_both_encodings() -> None:
    packed = base64.b64encode(struct.pack("<2f", 0.0, 1.0)).decode()
    body = {"data": [{"index": 1, "embedding": packed}, {"index": 0, "embedding": [1.0, 0.0]}]}

    assert [list(vector) for vector in read_openai(body, 2, 2)] == [[1, 0], [0, 1]]


def test_the_cache_lets_go_of_what_was_asked_longest_ago() -> None:
    cache = QueryCache(2)
    cache.put("a", [1.0])
    cache.put("b", [2.0])

    assert cache.get("a") == [1.0]
    cache.put("c", [3.0])

    assert cache.get("b") is None
    assert cache.get("a") == [1.0]
