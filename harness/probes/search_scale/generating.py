"""Items without end from one seed: texts of Zipf words, vectors in clusters around real ones.

A vector is that of a real sentence, part of another's and some noise, so that the clusters lie
where a model puts texts and real queries find neighbours among them. A text is a piece of the
sentence and words of a made-up language, drawn by Zipf's law as words of any language are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.probes.search_cost.corpus import sizes

VOCABULARY = 50_000
ZIPF_EXPONENT = 1.07
SECOND_WEIGHT = 0.6
NOISE = (0.15, 0.6)
"""Lengths of the noise, beside centres of length 1: near copies and loose relatives."""
EVERY_NTH_HAS_TWO = 4
BATCH = 5_000
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
        self._chance = np.random.default_rng(seed)
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
        )

    def _vectors(self, places: "np.ndarray[Any, np.dtype[np.int64]]") -> Floats:
        others = self._chance.integers(len(self._centres), size=len(places))
        noise = self._chance.standard_normal((len(places), self._centres.shape[1]), np.float32)
        noise *= self._chance.uniform(*NOISE, size=(len(places), 1)) / np.linalg.norm(
            noise, axis=1, keepdims=True
        )
        made = self._centres[places] + SECOND_WEIGHT * self._centres[others] + noise
        unit: Floats = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def query(self, project: int | None) -> str:
        """Three to six words of a made item's sentence, and one or two of its made-up words."""
        if project is None:
            known = list(self.samples)
            project = known[int(self._chance.integers(len(known)))]
        texts = self.samples[project]
        sentence, _, rest = texts[int(self._chance.integers(len(texts)))].partition(". ")
        said, own = sentence.split(), rest.split()
        length = min(len(said), int(self._chance.integers(3, 7)))
        start = int(self._chance.integers(len(said) - length + 1))
        picked = self._chance.choice(
            len(own), min(len(own), int(self._chance.integers(1, 3))), replace=False
        )
        return " ".join([*said[start : start + length], *(own[int(one)] for one in picked)])
