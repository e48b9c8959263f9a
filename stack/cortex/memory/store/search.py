"""The statements of a search: candidates by words, by meaning, and the hits' whole items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from cortex.memory.records import ItemFilter, MemoryItem
from cortex.memory.store.connection import Database, Row, Vector, run
from cortex.memory.store.items import filter_values, item_of

SNIPPET_ROOM = 2_000
"""Characters of the best matching text that are read to cut a snippet from."""

MOST_QUERIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where a search looks: projects, and items (None: all) left after filters."""

    projects: Sequence[int]
    every_project: bool
    live_items: int
    mean_words: float
    live_vectors: int
    items: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsFound:
    """The text arm's answer: best items first, `parts` in 0–1, and the terms it ranked by.

    `covered` is the largest share of a query's words, weighed by rarity, that one item holds.
    """

    items: Sequence[int]
    parts: Sequence[float]
    queries: Sequence[int]
    terms: Sequence[str]
    weights: Sequence[float]
    covered: float
    asked_terms: int
    cut: bool
    ignored: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """A hit's whole item and where it matched best; `position` is None without vectors."""

    item: MemoryItem
    content_length: int
    query: int | None
    position: int | None
    label: str | None
    text: str | None


class SearchStore:
    """Reads for FindItems."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def filtered_items(
        self, projects: Sequence[int], wanted: ItemFilter, required: str, excluded: str
    ) -> list[int]:
        """The numbers of all items a filter and two text conditions leave."""
        values = {"projects": list(projects), "required": required, "excluded": excluded}
        async with self._database.reading() as connection:
            rows = await run(connection, "filtered_items", values | filter_values(wanted))
            return list(rows[0]["numbers"])

    async def phrase_conditions(
        self, required: Sequence[str], excluded: Sequence[str], language: str
    ) -> tuple[str, str]:
        """Phrases as two text conditions: all of the first, none of the second."""
        values = {"required": list(required), "excluded": list(excluded), "language": language}
        async with self._database.reading() as connection:
            row = (await run(connection, "phrase_queries", values))[0]
            return row["required"], row["excluded"]

    async def filter_values_seen(
        self, projects: Sequence[int], wanted: ItemFilter
    ) -> Mapping[str, Sequence[str]]:
        """Which of a filter's values stand on any item of the projects."""
        values = {"projects": list(projects)} | filter_values(wanted)
        async with self._database.reading() as connection:
            return (await run(connection, "filter_values_seen", values))[0]

    async def by_words(
        self,
        texts: Sequence[str],
        words: Sequence[str],
        scope: Scope,
        language: str,
        most_items: int,
        most_postings: int,
    ) -> WordsFound:
        """The best items by words; `texts` one a query, `words` to say which were ignored."""
        values = {
            "texts": list(texts),
            "words": list(words),
            "language": language,
            "projects": list(scope.projects),
            "items": None if scope.items is None else list(scope.items),
            "live_items": scope.live_items,
            "mean_length": max(scope.mean_words, 1.0),
            "most_items": most_items,
            "most_postings": most_postings,
        }
        async with self._database.reading() as connection:
            return WordsFound(**(await run(connection, "find_by_words", values))[0])

    async def exactly(
        self, vectors: Sequence[Sequence[float]], scope: Scope, text_items: Sequence[int], most: int
    ) -> dict[int, float]:
        """Best similarity of the nearest items and of `text_items`, every vector compared."""
        values = _four(vectors) | {
            "projects": list(scope.projects),
            "items": None if scope.items is None else list(scope.items),
            "text_items": list(text_items),
            "most_items": most,
        }
        async with self._database.reading() as connection:
            rows = await run(connection, "find_exactly", values)
            return {row["item_number"]: row["similarity"] for row in rows}

    async def nearest(
        self,
        vectors: Sequence[Sequence[float]],
        scope: Scope,
        text_items: Sequence[int],
        most_vectors: int,
        ef_search: int,
    ) -> dict[int, float]:
        """Best similarity of near items and of `text_items`, by the HNSW index."""
        values = _four(vectors) | {
            "projects": list(scope.projects),
            "every_project": scope.every_project,
            "text_items": list(text_items),
        }
        for place in range(MOST_QUERIES):
            values[f"most_vectors{place + 1}"] = most_vectors if place < len(vectors) else 0
        async with self._database.writing() as connection:
            await connection.execute(f"SET LOCAL hnsw.ef_search = {int(ef_search)}")
            rows = await run(connection, "find_nearest", values)
            return {row["item_number"]: row["similarity"] for row in rows}

    async def score_words(
        self, found: WordsFound, scope: Scope, items: Sequence[int]
    ) -> dict[int, float]:
        """The text part of items that the text arm did not bring."""
        values = {
            "queries": list(found.queries),
            "terms": list(found.terms),
            "weights": list(found.weights),
            "projects": list(scope.projects),
            "mean_length": max(scope.mean_words, 1.0),
            "items": list(items),
        }
        async with self._database.reading() as connection:
            rows = await run(connection, "score_words", values)
            return {row["item_number"]: row["part"] for row in rows}

    async def tie_breakers(self, numbers: Sequence[int]) -> dict[int, tuple[datetime, UUID]]:
        """When each item was updated, and its id; deleted items are left out."""
        async with self._database.reading() as connection:
            rows = await run(connection, "tie_breakers", {"numbers": list(numbers)})
            return {row["number"]: (row["updated_at"], row["id"]) for row in rows}

    async def hits(
        self, numbers: Sequence[int], vectors: Sequence[Sequence[float]], most_characters: int
    ) -> dict[int, Best]:
        """Whole items by number, content cut to `most_characters` (below 0: whole)."""
        values = _four(vectors) | {
            "numbers": list(numbers),
            "most_characters": most_characters,
            "snippet_room": SNIPPET_ROOM,
        }
        async with self._database.reading() as connection:
            rows = await run(connection, "get_hits", values)
            return {row["number"]: _best(row) for row in rows}


def _best(row: Row) -> Best:
    return Best(
        item=item_of(row, None),
        content_length=row["content_length"],
        query=None if row["query"] is None else row["query"] - 1,
        position=row["position"],
        label=row["label"],
        text=row["snippet"],
    )


def _four(vectors: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The query vectors as four values; those not asked for are null, which greatest() ignores."""
    padded = [Vector(one) for one in vectors] + [None] * (MOST_QUERIES - len(vectors))
    return {f"vector{place + 1}": one for place, one in enumerate(padded)}
