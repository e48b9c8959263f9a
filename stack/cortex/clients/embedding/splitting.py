"""Cuts what is asked into what the service takes at once, and its offsets back into ours."""

from collections.abc import Iterator, Sequence

MAX_BODY_BYTES = 900_000
"""Text in one request: below the 2 MB that a service reads even if JSON doubles it by escapes."""

Span = tuple[int, int]


def batches(texts: Sequence[str], max_texts: int, max_bytes: int = MAX_BODY_BYTES) -> list[range]:
    """Runs of places in `texts`, each at most `max_texts` long and, if it can be, `max_bytes`."""
    found: list[range] = []
    start = size = 0
    for place, text in enumerate(texts):
        cost = len(text.encode())
        if place > start and (place - start == max_texts or size + cost > max_bytes):
            found.append(range(start, place))
            start, size = place, 0
        size += cost
    if start < len(texts):
        found.append(range(start, len(texts)))
    return found


def pieces(text: str, max_characters: int) -> Iterator[Span]:
    """Character ranges that cover the text, none too long; cut behind white space if it can be."""
    start = 0
    while len(text) - start > max_characters:
        end = start + max_characters
        backwards = range(end, start + max_characters // 2, -1)
        end = next((place for place in backwards if text[place - 1].isspace()), end)
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def character_spans(text: str, byte_spans: Sequence[Span]) -> list[Span]:
    """Byte ranges of the text's UTF-8 as ranges of its characters."""
    if text.isascii():
        return list(byte_spans)
    places: dict[int, int] = {}
    offset = 0
    for place, character in enumerate(text):
        places[offset] = place
        offset += len(character.encode())
    places[offset] = len(text)
    return [(places[start], places[stop]) for start, stop in byte_spans]
