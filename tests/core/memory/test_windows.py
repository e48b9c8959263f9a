"""Cutting long texts: nothing is lost, nothing is too long."""

import random
import re

import pytest
from cortex.memory.core.windows import Window, cut, guessed_spans


def spans_of(text: str) -> list[tuple[int, int]]:
    return [(m.start(), m.end()) for m in re.finditer(r"\w{1,4}|[^\w\s]", text)]


@pytest.mark.parametrize("seed", range(30))
def test_windows_cover_every_character_that_a_token_stands_on(seed: int) -> None:
    rng = random.Random(seed)
    text = " ".join("x" * rng.randint(1, 12) for _ in range(rng.randint(1, 400)))
    spans = spans_of(text)
    room = rng.randint(1, 60)

    windows = cut(text, spans, room)

    covered = {i for w in windows for i in range(w.start, w.end)}
    assert {i for start, end in spans for i in range(start, end)} <= covered
    for window in windows:
        inside = [s for s in spans if s[0] >= window.start and s[1] <= window.end]
        assert len(inside) <= room


def test_a_text_that_fits_is_one_window() -> None:
    assert cut("short text", spans_of("short text"), 10) == [Window(0, 10)]


def test_a_cut_falls_between_words_where_it_can() -> None:
    text = "alphabet " * 40

    windows = cut(text.strip(), spans_of(text.strip()), 21)

    assert all(text[window.end - 1] == "t" for window in windows)


def test_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match="room is 0"):
        cut("a", [(0, 1)], 0)


def test_guessed_spans_cover_the_text() -> None:
    assert guessed_spans("a漢é") == [(0, 1), (1, 2), (2, 3)]
