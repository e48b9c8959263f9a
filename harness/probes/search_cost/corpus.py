"""A large synthetic memory: projects of Zipf sizes, items of topical words, all from one seed."""

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
TOPICS = 400
TOPIC_WORDS = 60
_WORD = re.compile(r"[a-z]{3,}")


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


def vocabulary(notes: Path) -> list[str]:
    """Distinct words of the committed notes, most frequent first."""
    counts: dict[str, int] = {}
    for line in notes.read_text().splitlines():
        item = json.loads(line)
        for word in _WORD.findall(f"{item['title']} {item['text']}".lower()):
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))


class Writer:
    """Makes items and queries; the same seed makes the same ones."""

    def __init__(self, words: list[str], seed: int) -> None:
        self._words = np.array(words)
        self._chance = np.random.default_rng(seed)
        ranks = np.arange(1, len(words) + 1) ** -1.0
        self._common = ranks / ranks.sum()
        # A topic is made of rarer words, so that items of one topic are near each other.
        self._topics = [
            self._chance.choice(len(words), TOPIC_WORDS, replace=False) for _ in range(TOPICS)
        ]

    def items(self, project: int, count: int) -> Iterator[dict[str, Any]]:
        """Notes of one project, as AddItems takes them; one in three has a second embedding."""
        own = self._chance.choice(TOPICS, 24, replace=False)
        for number in range(count):
            topic = self._topics[int(self._chance.choice(own))]
            body = self._text(topic, int(self._chance.integers(15, 60)))
            title = self._text(topic, int(self._chance.integers(3, 8)))
            item: dict[str, Any] = {
                "category": "note",
                "title": f"{title} {project}-{number}",
                "content": body,
                "subject": title,
                "body": body[:80],
            }
            if number % 3 == 0:
                text = self._text(topic, 8)
                item["additionalEmbeddings"] = [{"label": "asked as", "text": text}]
            yield item

    def _text(self, topic: "np.ndarray[Any, Any]", length: int) -> str:
        own = self._chance.choice(topic, length - length // 3)
        common = self._chance.choice(len(self._words), length // 3, p=self._common)
        picked = np.concatenate([own, common])
        self._chance.shuffle(picked)
        return " ".join(self._words[picked])

    def query(self, texts: list[str]) -> str:
        """A query of three to eight words, most of them from one of the texts."""
        words = texts[int(self._chance.integers(len(texts)))].split()
        length = int(self._chance.integers(3, 9))
        picked = [words[int(self._chance.integers(len(words)))] for _ in range(length)]
        picked.append(str(self._words[int(self._chance.integers(len(self._words)))]))
        return " ".join(picked)
