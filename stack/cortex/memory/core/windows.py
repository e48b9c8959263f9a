"""How a text longer than the model's window is cut, so that nothing of it stays unembedded."""

from collections.abc import Sequence
from dataclasses import dataclass

OVERLAP_TOKENS = 32
"""Tokens two neighbours share, so that a sentence on the cut is whole in one of them."""


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of a text, as character offsets into it."""

    start: int
    end: int


def cut(
    text: str, spans: Sequence[tuple[int, int]], room: int, overlap: int = OVERLAP_TOKENS
) -> list[Window]:
    """Windows of at most `room` tokens that together cover `text`.

    `spans` are the tokens' character offsets. Cuts fall before a word where there is one to cut at.
    """
    if room < 1:
        raise ValueError(f"room is {room}; a window holds at least one token")
    if len(spans) <= room:
        return [Window(0, len(text))]
    overlap = min(overlap, room // 4)
    windows: list[Window] = []
    first = 0
    while True:
        last = _word_end(text, spans, first, min(first + room, len(spans)))
        end = len(text) if last == len(spans) else spans[last - 1][1]
        windows.append(Window(0 if first == 0 else spans[first][0], end))
        if last == len(spans):
            return windows
        first = _word_start(text, spans, max(first + 1, last - overlap), last)


def _word_end(text: str, spans: Sequence[tuple[int, int]], first: int, last: int) -> int:
    """The latest token count up to `last` after which a word ends; `last` if none is near."""
    if last == len(spans):
        return last
    for candidate in range(last, max(first, last - 16), -1):
        if spans[candidate - 1][1] < spans[candidate][0]:
            return candidate
    return last


def _word_start(text: str, spans: Sequence[tuple[int, int]], first: int, last: int) -> int:
    for candidate in range(first, last):
        if spans[candidate - 1][1] < spans[candidate][0]:
            return candidate
    return first


def guessed_spans(text: str) -> list[tuple[int, int]]:
    """Offsets to cut by where the service tells no tokens: each is a character at the least."""
    return [(place, place + 1) for place in range(len(text))]
