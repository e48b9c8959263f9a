"""Items without end from one seed: texts of Zipf words, vectors in clusters around real ones.

A vector is that of a real sentence and some noise, so that the clusters lie where a model puts
texts and real queries find neighbours among them. The noise lies in the directions in which real
sentences differ most: what makes a vector index's work easy or hard is in how many directions a
vector's neighbours lie (local intrinsic dimension, Levina and Bickel 2004, 20 neighbours). The
public sets' texts have 10 to 14 of them, these vectors 16; even noise in all 384 directions, which
no text makes, would have 35. A text is a piece of the sentence and words of a made-up language,
drawn by Zipf's law as words of any language are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.probes.search_cost.corpus import sizes

VOCABULARY = 50_000
ZIPF_EXPONENT = 1.07
NOISE = (0.5, 1.5)
"""Lengths of the noise, beside centres of length 1: near relatives and distant ones."""
DIRECTIONS = 24
"""Main directions of the real sentences in which the noise lies."""
EVERY_NTH_HAS_TWO = 4
BATCH = 5_000
TAGS = {"half": 0.5, "twentieth": 0.05, "rare": 0.005}
"""The part of all items that each tag stands on, by chance and whatever they say."""
SOME_HAVE = 20
"""The place in the vocabulary of a word that stands in about one item of sixteen."""
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"

Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one project, with a unit vector for each text; `seconds` are second texts."""

    project: int
    titles: list[str]
    contents: list[str]
    vectors: Floats
    seconds: dict[int, str]
    second_vectors: Floats
    tags: list[list[str]]


def items_for(vectors: int) -> int:
    """How many items have so many vectors."""
    return round(vectors * EVERY_NTH_HAS_TWO / (EVERY_NTH_HAS_TWO + 1))


def words(chance: np.random.Generator, count: int = VOCABULARY) -> list[str]:
    """Distinct words of two to four syllables that no stemmer knows."""
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = int(chance.integers(2, 5))
        letters = (
            _CONSONANTS[int(chance.integers(len(_CONSONANTS)))]
            + _VOWELS[int(chance.integers(len(_VOWELS)))]
            for _ in range(syllables)
        )
        found["".join(letters) + "x"] = None
    return list(found)


class Generator:
    """Makes batches of items, and queries for what it made."""

    def __init__(self, sentences: list[str], centres: Floats, seed: int) -> None:
        self._sentences, self._centres = sentences, centres
        _, sizes_, axes = np.linalg.svd(centres - centres.mean(0), full_matrices=False)
        self._directions = (sizes_[:DIRECTIONS, None] * axes[:DIRECTIONS]).astype(np.float32)
        self._chance = np.random.default_rng(seed)
        self._tag_chance = np.random.default_rng([seed, 1])
        self._words = np.array(words(np.random.default_rng(seed)))
        shares = np.arange(1, VOCABULARY + 1) ** -ZIPF_EXPONENT
        self._upto = np.cumsum(shares / shares.sum())
        self.samples: dict[int, list[str]] = {}

    def batches(self, have: int, want: int) -> Iterator[Batch]:
        """What a memory of `have` items lacks to be one of `want`, project by project."""
        before = sizes(have).items if have else (0,) * len(sizes(want).items)
        for project, (old, new) in enumerate(zip(before, sizes(want).items, strict=True)):
            left = max(0, new - old)
            while left:
                count = min(BATCH, left)
                yield self._batch(project, count)
                left -= count

    def _batch(self, project: int, count: int) -> Batch:
        first = self._chance.integers(len(self._sentences), size=count)
        lengths = self._chance.integers(10, 26, size=count)
        drawn = np.searchsorted(self._upto, self._chance.random(int(lengths.sum())))
        made = np.split(self._words[np.minimum(drawn, VOCABULARY - 1)], np.cumsum(lengths)[:-1])
        titles, contents = [], []
        for place, own in zip(first, made, strict=True):
            said = self._sentences[int(place)].split()
            titles.append(" ".join(said[:5]))
            contents.append(f"{' '.join(said[:12])}. {' '.join(own)}")
        two = np.arange(0, count, EVERY_NTH_HAS_TWO)
        self.samples.setdefault(project, []).extend(contents[:: max(1, count // 40)])
        return Batch(
            project=project,
            titles=titles,
            contents=contents,
            vectors=self._vectors(first),
            seconds={int(place): self._sentences[int(first[place])] for place in two},
            second_vectors=self._vectors(first[two]),
            tags=self._tags(count),
        )

    def _tags(self, count: int) -> list[list[str]]:
        drawn = self._tag_chance.random((count, len(TAGS))) < list(TAGS.values())
        return [[tag for tag, has in zip(TAGS, row, strict=True) if has] for row in drawn]

    @property
    def some_have(self) -> str:
        """A made-up word that stands in some items of every project."""
        return str(self._words[SOME_HAVE])

    def _vectors(self, places: "np.ndarray[Any, np.dtype[np.int64]]") -> Floats:
        drawn = self._chance.standard_normal((len(places), len(self._directions)), np.float32)
        noise = drawn @ self._directions
        noise *= self._chance.uniform(*NOISE, size=(len(places), 1)) / np.linalg.norm(
            noise, axis=1, keepdims=True
        )
        made = self._centres[places] + noise
        unit: Floats = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def query(self, project: int | None) -> str:
        """Three to six words of a made item's sentence, and one or two of its made-up words."""
        if project is None:
            known = list(self.samples)
            project = known[int(self._chance.integers(len(known)))]
        texts = self.samples[project]
        sentence, _, rest = texts[int(self._chance.integers(len(texts)))].partition(". ")
        said, own = re.findall(r"\w+", sentence), rest.split()  # words alone: no operator
        length = min(len(said), int(self._chance.integers(3, 7)))
        start = int(self._chance.integers(len(said) - length + 1))
        picked = self._chance.choice(
            len(own), min(len(own), int(self._chance.integers(1, 3))), replace=False
        )
        return " ".join([*said[start : start + length], *(own[int(one)] for one in picked)])
