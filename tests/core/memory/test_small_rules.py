"""Ids, slugs, snippets, cursors, tokens."""

import uuid

import pytest
from cortex.memory.actions.listing import read_cursor
from cortex.memory.core.identifiers import IdMaker
from cortex.memory.core.slugs import slug_of
from cortex.memory.core.snippets import snippet
from cortex.memory.main import read_tokens
from cortex.shared.errors import InvalidInput, Misconfigured


def test_ids_are_uuid_7_and_rise_strictly_even_when_the_clock_falls_back() -> None:
    maker = IdMaker()

    ids = [maker.make(1_700_000_000_000 - step // 3, step * 7919) for step in range(1000)]

    assert ids == sorted(set(ids))
    assert {one.version for one in ids} == {7}
    assert {one.variant for one in ids} == {uuid.RFC_4122}


def test_an_id_carries_its_time() -> None:
    made = IdMaker().make(1_700_000_000_123, 1)

    assert made.int >> 80 == 1_700_000_000_123


@pytest.mark.parametrize(
    ("name", "slug"),
    [("Ätlas Pay!", "atlas-pay"), ("a -- b", "a-b"), ("数据", ""), ("x" * 300, "x" * 100)],
)
def test_a_slug_is_made_of_a_name(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_a_snippet_shows_where_the_words_stand() -> None:
    text = "filler words " * 200 + "the vault door code is kept by Ines " + "more filler " * 100

    shown = snippet(text, ["vault", "code"])

    assert "vault door code" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) < 260


@pytest.mark.parametrize(
    "cursor", ["", "x", "ééé", "W10", "WyIyMDI2IiwgIngiXQ", "bnVsbA", "WzEsMl0"]
)
def test_a_cursor_of_somebody_else_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor is not one that ListItems gave"):
        read_cursor(cursor)


def test_tokens_may_be_limited() -> None:
    open_token, limited = read_tokens("0123456789abcdef; fedcba9876543210 projects=a,b read-only")

    assert (open_token.caller.projects, open_token.caller.read_only) == (None, False)
    assert (limited.caller.projects, limited.caller.read_only) == (frozenset({"a", "b"}), True)


@pytest.mark.parametrize(
    "text", ["short", "0123456789abcdef readonly", "0123456789abcdef projects="]
)
def test_a_token_setting_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(Misconfigured, match="CORTEX_MEMORY_TOKEN"):
        read_tokens(text)
