"""The statements of a search: candidates by words, by meaning, and the hits' whole items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import UUID

from cortex.memory.records import ItemFilter, MemoryItem
from cortex.memory.store.connection import (
    Database,
    Numbers,
    Reals,
    Row,
    Vector,
    run,
    run_plain,
    search_width,
)
from cortex.memory.store.items import filter_values, item_of
from cortex.memory.store.projects import Slugs, listed

SNIPPET_ROOM = 2_000
"""Characters of the best matching text that are read to cut a snippet from."""

MOST_QUERIES = 4

MOST_POSTINGS = 4_000
"""Postings that are read to find candidates; see `find_by_words`."""


MOST_LISTED = 10_000
"""Items a filter leaves that are listed, and each compared; above, rows are asked one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a caller asks: one project by slug or id, or every one; `allowed` limits both."""

    slug: str = ""
    project_id: UUID | None = None
    every: bool = False
    allowed: Slugs = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where a search looks, and the counts ranking needs; no projects: there is none such."""

    projects: Sequence[int]
    live_items: float
    live_vectors: int
    all_vectors: int
    mean_length: float

    @property
    def share(self) -> float:
        """The part of all vectors that lies in this scope, 0 to 1."""
        return self.live_vectors / self.all_vectors if self.all_vectors else 0.0


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
class Along:
    """Which items come along whole: so many, those that score best with this vector weight.

    A guess at the hits that spares asking again; the hits themselves are chosen by fusion.
    """

    items: int
    vector_weight: float
    most_characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a filter and two text conditions leave: all items of it, or None where too many."""

    filter: ItemFilter
    required: str
    excluded: str
    items: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """What the vector arm is asked: vectors, the text arm's outcome, how many items at most."""

    vectors: Sequence[Sequence[float]]
    scope: Scope
    narrowing: Narrowing | None
    words: WordsFound | None
    most: int
    along: Along


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """A hit's whole item and where it matched best; `position` is None without vectors."""

    item: MemoryItem
    content_length: int
    query: int | None
    position: int | None
    label: str | None
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """Both signals: by item its best similarity, and its text part if the text arm left it out.

    `brought` counts the items an index search brought; `whole` are the items that came along.
    """

    scores: Mapping[int, tuple[float, float | None]]
    brought: int
    whole: Mapping[int, Best]


class SearchStore:
    """Reads for FindItems."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def scope(self, where: Where) -> Scope:
        """The projects asked for, with their counts."""
        async with self._database.reading() as connection:
            return Scope(**(await run(connection, "find_scope", _where(where)))[0])

    async def narrowed(self, projects: Sequence[int], narrowing: Narrowing) -> Narrowing:
        """The same with the items it leaves, if they are few enough to be listed."""
        values = _narrowing_values(narrowing) | {"projects": Numbers(projects)}
        name = "filtered_items"
        name += "_tagged" if narrowing.filter.tags else ""
        name += "_phrased" if narrowing.required else ""
        async with self._database.reading() as connection:
            rows = await run(connection, name, values | {"most": MOST_LISTED + 1})
        numbers = rows[0]["numbers"]
        return replace(narrowing, items=numbers if len(numbers) <= MOST_LISTED else None)

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
        values = {"projects": Numbers(projects)} | filter_values(wanted)
        async with self._database.reading() as connection:
            return (await run(connection, "filter_values_seen", values))[0]

    async def by_words(
        self,
        texts: Sequence[str],
        words: Sequence[str],
        where: Where,
        narrowing: Narrowing | None,
        language: str,
        most_items: int,
    ) -> tuple[Scope, WordsFound]:
        """The best items by words; `texts` one a query, `words` to say which were ignored."""
        values = _where(where) | {
            "texts": list(texts),
            "words": list(words),
            "language": language,
            "most_items": most_items,
            "most_postings": MOST_POSTINGS,
        }
        name, left = _narrowed("find_by_words", narrowing)
        async with self._database.reading() as connection:
            row = (await run(connection, name, values | left))[0]
        scope = Scope(**{one.name: row.pop(one.name) for one in fields(Scope)})
        return scope, WordsFound(**row)

    async def exactly(self, near: Near) -> Both:
        """Both signals of the nearest items and of the text arm's, every vector compared."""
        name, left = _narrowed("find_exactly", near.narrowing)
        if left["items"] is not None:
            name = "find_exactly_listed"
        values = _near_values(near) | left | {"most_items": near.most}
        async with self._database.reading() as connection:
            return _both(*await run_plain(connection, name, values))

    async def nearest(
        self, near: Near, most_vectors: int, ef_search: int, *, every_project: bool
    ) -> Both:
        """Both signals of near items and of the text arm's; not for a narrowing that is listed."""
        name, left = _narrowed("find_nearest", near.narrowing)
        values = _near_values(near) | left | {"every_project": every_project}
        for place in range(MOST_QUERIES):
            asked = place < len(near.vectors)
            values[f"most_vectors{place + 1}"] = most_vectors if asked else 0
        async with self._database.reading() as connection:
            await search_width(connection, ef_search)
            return _both(*await run_plain(connection, name, values))

    async def hits(
        self, numbers: Sequence[int], vectors: Sequence[Sequence[float]], most_characters: int
    ) -> dict[int, Best]:
        """Whole items by number, content cut to `most_characters`."""
        values = _four(vectors) | {
            "numbers": Numbers(numbers),
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


def _where(where: Where) -> dict[str, Any]:
    return {
        "slug": where.slug,
        "project_id": where.project_id,
        "every": where.every,
        "allowed": listed(where.allowed),
    }


def _narrowed(name: str, narrowing: Narrowing | None) -> tuple[str, dict[str, Any]]:
    """The statement that keeps to a narrowing, and its values: by its items, or row by row."""
    if narrowing is None or narrowing.items is not None:
        items = None if narrowing is None else Numbers(narrowing.items or ())
        return name, {"items": items}
    return f"{name}_narrowed", _narrowing_values(narrowing) | {"items": None}


def _narrowing_values(narrowing: Narrowing) -> dict[str, Any]:
    conditions = {"required": narrowing.required, "excluded": narrowing.excluded}
    return filter_values(narrowing.filter) | conditions


def _near_values(near: Near) -> dict[str, Any]:
    """The values both vector statements take; terms only where the text arm left items out."""
    words = near.words
    again = words if words is not None and words.cut else None
    return _four(near.vectors) | {
        "projects": Numbers(near.scope.projects),
        "mean_length": near.scope.mean_length,
        "text_items": Numbers([] if words is None else words.items),
        "text_parts": Reals([] if words is None else words.parts),
        "vector_weight": near.along.vector_weight,
        "foremost": near.along.items,
        "most_characters": near.along.most_characters,
        "snippet_room": SNIPPET_ROOM,
        "queries": list(again.queries) if again else [],
        "terms": list(again.terms) if again else [],
        "weights": list(again.weights) if again else [],
    }


def _both(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Both:
    """Four columns of the candidate, then those of its whole item, null unless it came along."""
    return Both(
        scores={row[0]: (row[1], row[2]) for row in rows},
        brought=rows[0][3] or 0 if rows else 0,
        whole={
            row[0]: _best(dict(zip(columns[4:], row[4:], strict=True)))
            for row in rows
            if row[4] is not None
        },
    )


def _four(vectors: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The query vectors as four values; those not asked for are null, which greatest() ignores."""
    padded = [Vector(one) for one in vectors] + [None] * (MOST_QUERIES - len(vectors))
    return {f"vector{place + 1}": one for place, one in enumerate(padded)}
