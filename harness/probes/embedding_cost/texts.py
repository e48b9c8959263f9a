"""Texts of a wanted length, and the lengths a mixed load has."""

import json
from itertools import cycle, islice
from pathlib import Path

_WORDS = (
    *("time", "year", "people", "way", "day", "man", "thing", "woman", "life"),
    *("child", "world", "school", "state", "family", "student", "group", "country", "problem"),
    *("hand", "part", "place", "case", "week", "company", "system", "program", "question"),
    *("work", "government", "number", "night", "point", "home", "water", "room", "mother"),
    *("area", "money", "story", "fact", "month", "lot", "right", "study", "book"),
)

LENGTHS = Path(__file__).with_name("lengths.json")


def text_of(tokens: int, start: int = 0) -> str:
    """Plain words, one token each, that make `tokens` with the two special ones."""
    return " ".join(islice(cycle(_WORDS), start % len(_WORDS), start % len(_WORDS) + tokens - 2))


def mixed_lengths() -> list[int]:
    """Token counts of the committed mixed load, in order of arrival."""
    return [int(length) for length in json.loads(LENGTHS.read_text())]
