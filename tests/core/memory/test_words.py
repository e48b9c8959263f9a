"""What a text is also found by."""

import pytest
from cortex.memory.core.words import MOST_BYTES, extra_words, unaccented


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ABC-1234", {"abc", "1234", "abc1234"}),
        ("src/app/main.py", {"src", "app", "main", "py"}),
        ("fooBar_baz", {"foo", "bar", "baz", "foobar"}),
        ("HTTPServerError", {"http", "server", "error"}),
        ("数据库迁移计划", {"迁移", "计", "据库"}),
        ("café", {"cafe"}),
        ("Straße", {"strasse"}),
        ("Ünïcode_naïve", {"unicode", "naive"}),
        ("10,000", {"10000"}),
        ("e-mail", {"email"}),
        ("user@example.org", {"user", "example", "org"}),
    ],
)
def test_the_parts_of_a_compound_are_found(text: str, found: set[str]) -> None:
    assert found <= set(extra_words(text))


@pytest.mark.parametrize("text", ["", "plain words of a sentence", "…!?", "🎉"])
def test_plain_text_needs_no_extra_words(text: str) -> None:
    assert extra_words(text) == []


def test_extra_words_are_bounded_whatever_is_sent() -> None:
    rare = "".join(chr(0x20000 + place) for place in range(40_000))
    attacks = ["a-1_" * 50_000, "漢" * 100_000, rare, "-".join(rare)]

    added = [extra_words(attack) for attack in attacks]

    for words in added:
        assert sum(len(word.encode()) for word in set(words)) <= MOST_BYTES


def test_every_word_of_a_long_text_without_spaces_is_found() -> None:
    text = "".join(chr(0x4E00 + place * 7919 % 20_000) for place in range(30_000))

    words = set(extra_words(text))

    assert {text[place : place + 2] for place in range(len(text) - 1)} <= words


def test_other_scripts_keep_their_marks() -> None:
    assert unaccented("plain") == "plain"
    assert unaccented("Łódź") == "Lodz"
