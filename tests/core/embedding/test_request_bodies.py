"""What request bodies mean, and why some cannot be read."""

import pytest
from cortex.embedding.core.parsing import (
    Unreadable,
    read_decode,
    read_embed,
    read_object,
    read_openai,
    read_similarity,
    read_tokenize,
)
from cortex.embedding.records import Wish


@pytest.mark.parametrize(
    ("body", "items", "batched"),
    [
        (b'{"inputs":"hi"}', ["hi"], False),
        (b'{"inputs":["a","b"]}', ["a", "b"], True),
        (b'{"inputs":[101,102]}', [(101, 102)], False),
        (b'{"inputs":[[101],[102]]}', [(101,), (102,)], True),
        (b'{"inputs":["a",[102]]}', ["a", (102,)], True),
        (b'{"inputs":[]}', [()], False),
    ],
)
def test_inputs_are_texts_ids_or_lists_of_either(
    body: bytes, items: list[object], batched: bool
) -> None:
    texts = read_embed(read_object(body)).texts

    assert (texts.items, texts.batched) == (items, batched)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"not json", 400),
        (b'{"inputs":"a"', 400),
        (b'{"inputs":"\xff"}', 400),
        (b'{"inputs":"\\ud800"}', 400),
        (b'{"inputs":NaN}', 400),
        (b"[" * 100_000, 400),
        (b'"x"', 422),
        (b'{"inputs":"a","inputs":"b"}', 422),
        (b'{"inputs":true}', 422),
        (b'{"inputs":[true]}', 422),
        (b'{"inputs":[-1]}', 422),
        (b'{"inputs":[4294967296]}', 422),
        (b'{"inputs":[1.5]}', 422),
        (b'{"inputs":[1,"a"]}', 422),
        (b'{"inputs":[["a"]]}', 422),
        (b'{"inputs":"a","normalize":null}', 422),
        (b'{"inputs":"a","dimensions":-1}', 422),
        (b'{"inputs":"a","dimensions":1.0}', 422),
        (b'{"inputs":"a","truncation_direction":"up"}', 422),
        (b'{"inputs":"a","prompt_name":3}', 422),
    ],
)
def test_what_cannot_be_read_is_400_for_syntax_and_422_for_shape(body: bytes, status: int) -> None:
    with pytest.raises(Unreadable) as caught:
        read_embed(read_object(body))

    assert caught.value.status == status


@pytest.mark.parametrize("tail", [b" trailing", b"{}", b"\n\n", b"\x00"])
def test_bytes_after_the_document_are_ignored(tail: bytes) -> None:
    assert read_embed(read_object(b'{"inputs":"a"}' + tail)).texts.items == ["a"]


def test_a_field_nobody_knows_may_even_come_twice() -> None:
    assert read_embed(read_object(b'{"x":1,"inputs":"inputs","x":2}')).texts.items == ["inputs"]


def test_a_field_named_in_a_text_is_no_second_field() -> None:
    body = b'{"inputs":["\\"inputs\\"","inputs","input"]}'

    assert read_embed(read_object(body)).texts.items == ['"inputs"', "inputs", "input"]


def test_null_counts_as_absent_where_the_interface_says_so() -> None:
    body = b'{"inputs":"a","truncate":null,"prompt_name":null,"dimensions":null}'

    assert read_embed(read_object(body)).wish == Wish()


def test_openai_vectors_always_have_unit_length() -> None:
    asked = read_openai(read_object(b'{"input":"a","dimensions":8,"encoding_format":"base64"}'))

    assert asked.wish == Wish(normalize=True, dimensions=8)
    assert asked.base64


def test_tokenize_reads_texts_alone() -> None:
    assert read_tokenize(read_object(b'{"inputs":["a"]}')).texts == ["a"]
    with pytest.raises(Unreadable):
        read_tokenize(read_object(b'{"inputs":[1]}'))


def test_decode_reads_ids_and_lists_of_them() -> None:
    assert read_decode(read_object(b'{"ids":[1,2]}')).ids == [(1, 2)]
    assert read_decode(read_object(b'{"ids":[[1],[]]}')).ids == [(1,), ()]
    with pytest.raises(Unreadable):
        read_decode(read_object(b'{"ids":"a"}'))


def test_similarity_takes_its_wishes_from_parameters() -> None:
    body = b'{"inputs":{"source_sentence":"a","sentences":["b"]},"parameters":{"truncate":false}}'

    asked = read_similarity(read_object(body))

    assert (asked.source, asked.sentences, asked.wish.truncate) == ("a", ["b"], False)
