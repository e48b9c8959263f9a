"""The stretch of a text that shows best why it was found."""

import re
from collections.abc import Iterable

LENGTH = 240
_WORD = re.compile(r"\w+", re.UNICODE)


def snippet(text: str, words: Iterable[str], length: int = LENGTH) -> str:
    """At most `length` characters of `text`, where most different `words` stand together."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    stems = {word.lower()[:6] for word in words if len(word) > 2}
    places = [
        (match.start(), match.group().lower()[:6])
        for match in _WORD.finditer(text)
        if match.group().lower()[:6] in stems
    ]
    start = _densest(places, length)
    if start > 0:
        start = max(0, text.rfind(" ", 0, max(1, start - 20)) + 1)
    end = min(len(text), start + length)
    if end < len(text):
        end = max(text.rfind(" ", start, end), start + length // 2)
    cut = text[start:end].strip()
    return f"{'… ' if start else ''}{cut}{' …' if end < len(text) else ''}"


def _densest(places: list[tuple[int, str]], length: int) -> int:
    best, best_count = 0, 0
    for index, (start, _stem) in enumerate(places):
        inside = {stem for place, stem in places[index : index + 40] if place < start + length - 40}
        if len(inside) > best_count:
            best, best_count = start, len(inside)
    return best


def words_of(text: str) -> list[str]:
    """The words of a query, as a person counts them."""
    return _WORD.findall(text)
