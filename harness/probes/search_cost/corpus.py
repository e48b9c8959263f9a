"""A large synthetic memory: projects of Zipf sizes, items of real sentences, all from one seed."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PROJECTS = 60
VECTORS_AN_ITEM = 4 / 3
DELETED_SHARE = 0.08
SENTENCES_A_PROJECT = 300
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many items each project has, largest first; project 0 is the largest."""

    items: tuple[int, ...]

    def nearest(self, vectors: int) -> int:
        """The project whose vectors come closest to so many."""
        wanted = vectors / VECTORS_AN_ITEM
        return min(range(len(self.items)), key=lambda place: abs(self.items[place] - wanted))


def sizes(total: int) -> Sizes:
    """Items a project, by Zipf's law (exponent 1.05, so that the largest holds about a quarter)."""
    shares = np.arange(1, PROJECTS + 1) ** -1.05
    items = np.maximum(50, np.floor(shares / shares.sum() * total)).astype(int)
    items[0] += total - items.sum()
    return Sizes(tuple(int(one) for one in items))


def sentences(notes: Path) -> list[str]:
    """The distinct sentences of the committed notes: real text, in several languages."""
    found: dict[str, None] = {}
    for line in notes.read_text().splitlines():
        item = json.loads(line)
        extra = [one["text"] for one in item["metadata"].get("additionalEmbeddings", [])]
        for text in (item["title"], item["text"], *item["metadata"]["fields"].values(), *extra):
            for sentence in _SENTENCE.split(text):
                whole = " ".join(sentence.split())
                if 4 <= len(whole.split()) <= 40:
                    found[whole] = None
    return list(found)


class Writer:
    """Makes items and queries; the same seed makes the same ones.

    An item says two sentences, the first of its project's own, the second of anybody's: so each
    has near neighbours in meaning and in words, as a memory that says similar things again has.
    """

    def __init__(self, sentences: list[str], seed: int) -> None:
        self.sentences = sentences
        self._chance = np.random.default_rng(seed)

    def items(self, project: int, count: int) -> Iterator[dict[str, Any]]:
        """Notes of one project, as AddItems takes them; one in three has a second embedding."""
        own = self._chance.choice(len(self.sentences), SENTENCES_A_PROJECT, replace=False)
        for number in range(count):
            first, third = (self.sentences[int(one)] for one in self._chance.choice(own, 2))
            second = self.sentences[int(self._chance.integers(len(self.sentences)))]
            item: dict[str, Any] = {
                "category": "note",
                "title": f"{' '.join(first.split()[:6])} {project}-{number}",
                "content": f"{first}\n{second}",
                "subject": f"{project}-{number}",
                "body": first,
            }
            if number % 3 == 0:
                item["additionalEmbeddings"] = [{"label": "asked as", "text": third}]
            yield item

    def query(self, texts: list[str]) -> str:
        """Four to nine words that stand together in one of the texts, and one from elsewhere."""
        first, _, second = texts[int(self._chance.integers(len(texts)))].partition("\n")
        words = first.split()
        length = min(len(words), int(self._chance.integers(4, 10)))
        start = int(self._chance.integers(len(words) - length + 1))
        other = second.split() or words
        picked = [*words[start : start + length], other[int(self._chance.integers(len(other)))]]
        return " ".join(picked)
