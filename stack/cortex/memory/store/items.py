"""Memory items and their vectors: each write whole or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from cortex.memory.records import CATEGORY_FIELDS, Embedding, ItemFilter, MemoryItem, VectorRow
from cortex.memory.store.connection import SQL, Connection, Database, Row, Vector, run, run_many
from cortex.memory.store.projects import Slugs, listed
from cortex.shared.errors import Conflict, NotFound


class OtherVersion(Conflict):
    """An item stands at another version than the one a change was made from."""

    kind = "Conflict"

    def __init__(self, found: int, expected: int) -> None:
        super().__init__(
            f"the item is at version {found}, you expected {expected}; read it again, then retry"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemWords:
    """What an item is found by in words, beside its title and content."""

    field_words: str
    extra_words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """An item about to be written, with all its vectors."""

    id: UUID
    category: str
    title: str
    content: str
    tags: Sequence[str]
    status: str
    fields: Mapping[str, str]
    words: ItemWords
    vectors: Sequence[VectorRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An item's new texts, with the vectors of each position that changes.

    `vectors` by position replace that position's; an empty list removes it and closes the gap.
    """

    title: str
    content: str
    tags: Sequence[str]
    fields: Mapping[str, str]
    words: ItemWords | None
    vectors: Mapping[int, Sequence[VectorRow]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a list is asked for; times are half-open ranges."""

    project_number: int
    filter: ItemFilter
    include_deleted: bool
    created_from: datetime | None
    created_before: datetime | None
    updated_from: datetime | None
    updated_before: datetime | None
    after_time: datetime | None
    after_id: UUID | None
    limit: int


class ItemStore:
    """Reads and writes memory items."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        project_id: UUID,
        project_number: int,
        items: Sequence[NewItem],
        model_number: int,
        language: str,
        now: datetime,
    ) -> None:
        """Write new items in one transaction."""
        async with self._database.writing() as connection:
            rows = await run(connection, "next_numbers", {"count": len(items)})
            numbers = [row["number"] for row in rows]
            places = [
                _Place(item.id, number, project_number, model_number, now)
                for item, number in zip(items, numbers, strict=True)
            ]
            common = {"project_id": project_id, "language": language}
            await run_many(
                connection,
                "add_item",
                [
                    _item_values(item, place) | common
                    for item, place in zip(items, places, strict=True)
                ],
            )
            for category in CATEGORY_FIELDS:
                fields = [{"id": one.id, **one.fields} for one in items if one.category == category]
                await run_many(connection, f"add_{category}_fields", fields)
            vectors = [
                _vector_values(row, place)
                for item, place in zip(items, places, strict=True)
                for row in item.vectors
            ]
            await run_many(connection, "add_vector", vectors)
            words = await _words(connection, "add_postings", {"item_numbers": numbers})
            await _count(connection, project_number, len(items), words, len(vectors))

    async def get(self, ids: Sequence[UUID], allowed: Slugs) -> dict[UUID, MemoryItem]:
        """Whole items with their embeddings' texts, by id; unknown ids are left out."""
        async with self._database.reading() as connection:
            rows = await run(
                connection, "get_items", {"ids": list(ids), "allowed": listed(allowed)}
            )
            found = [row["id"] for row in rows]
            texts = await run(connection, "list_embeddings", {"ids": found})
        embeddings: dict[UUID, list[Embedding]] = {one: [] for one in found}
        for row in texts:
            embeddings[row["memory_item_id"]].append(
                Embedding(position=row["position"], label=row["label"], text=row["text"])
            )
        return {row["id"]: item_of(row, tuple(embeddings[row["id"]])) for row in rows}

    async def page(self, listing: Listing) -> list[tuple[UUID, datetime]]:
        """Ids and creation times of a page, oldest first."""
        values = {
            "project_number": listing.project_number,
            "include_deleted": listing.include_deleted,
            "created_from": listing.created_from,
            "created_before": listing.created_before,
            "updated_from": listing.updated_from,
            "updated_before": listing.updated_before,
            "after_time": listing.after_time,
            "after_id": listing.after_id,
            "limit": listing.limit,
        } | filter_values(listing.filter)
        async with self._database.reading() as connection:
            rows = await run(connection, "list_items", values)
            return [(row["id"], row["created_at"]) for row in rows]

    async def change(
        self, item: MemoryItem, change: Change, model_number: int, now: datetime
    ) -> None:
        """Write an item's change if it still stands at the version read, else `OtherVersion`."""
        async with self._database.writing() as connection:
            row = await _locked(connection, item.id, item.version)
            number, project_number = row["number"], row["project_number"]
            words = 0.0
            before = (await run(connection, "count_vectors", {"item_number": number}))[0]["vectors"]
            if change.words is None:
                await run(connection, "touch_item", {"id": item.id, "now": now})
            else:
                words -= await _words(connection, "remove_postings", {"item_number": number})
                await run(connection, "change_item", _change_values(item, change, now))
                await _write_fields(connection, item.id, item.category, change.fields)
                words += await _words(connection, "add_postings", {"item_numbers": [number]})
            for position, vectors in change.vectors.items():
                values = {"item_number": number, "position": position}
                await run(connection, "remove_vectors", values)
                place = _Place(item.id, number, project_number, model_number, now)
                await run_many(
                    connection, "add_vector", [_vector_values(row, place) for row in vectors]
                )
                if not vectors:
                    await _close_gap(connection, number, position, now)
            after = (await run(connection, "count_vectors", {"item_number": number}))[0]["vectors"]
            await _count(connection, project_number, 0, words, after - before)

    async def relabel(
        self, item_id: UUID, expected: int, position: int, label: str, now: datetime
    ) -> None:
        """Give an embedding another label; its vectors stay."""
        async with self._database.writing() as connection:
            row = await _locked(connection, item_id, expected)
            values = {"item_number": row["number"], "position": position, "label": label}
            await run(connection, "relabel", values | {"now": now})
            await run(connection, "touch_item", {"id": item_id, "now": now})

    async def set_status(
        self, item_id: UUID, status: str, expected: int | None, now: datetime
    ) -> None:
        """Set an item's status; `Conflict` where it is at another version or deleted."""
        async with self._database.writing() as connection:
            row = await _locked(connection, item_id, expected)
            if row["deleted_at"] is not None:
                raise Conflict("the item is deleted; restore it first with RestoreItem")
            values = {"id": item_id, "status": status, "now": now}
            await run(connection, "set_status", values)

    async def delete(self, item_id: UUID, now: datetime) -> None:
        """Hide an item from every search and list; nothing if it is hidden already."""
        async with self._database.writing() as connection:
            row = await _locked(connection, item_id, None)
            if row["deleted_at"] is not None:
                return
            number = row["number"]
            words = await _words(connection, "remove_postings", {"item_number": number})
            values = {"item_number": number, "live": False}
            vectors = (await run(connection, "set_live", values))[0]["vectors"]
            await run(connection, "delete_item", {"id": item_id, "now": now})
            await _count(connection, row["project_number"], -1, -words, -vectors)

    async def restore(self, item_id: UUID, now: datetime) -> None:
        """Undo `delete`; nothing if the item is not hidden."""
        async with self._database.writing() as connection:
            row = await _locked(connection, item_id, None)
            if row["deleted_at"] is None:
                return
            number = row["number"]
            await run(connection, "restore_item", {"id": item_id, "now": now})
            words = await _words(connection, "add_postings", {"item_numbers": [number]})
            values = {"item_number": number, "live": True}
            vectors = (await run(connection, "set_live", values))[0]["vectors"]
            await _count(connection, row["project_number"], 1, words, vectors)


@dataclass(frozen=True, slots=True)
class _Place:
    item_id: UUID
    item_number: int
    project_number: int
    model_number: int
    now: datetime


def filter_values(wanted: ItemFilter) -> dict[str, Any]:
    """A filter as the queries' values."""
    return {
        "categories": list(wanted.categories),
        "statuses": list(wanted.statuses),
        "tags": list(wanted.tags),
        "any_tag": wanted.any_tag,
    }


def item_of(row: Row, embeddings: tuple[Embedding, ...] | None) -> MemoryItem:
    """A row of `get_items` or `get_hits` as a record."""
    own = CATEGORY_FIELDS[row["category"]]
    return MemoryItem(
        number=row["number"],
        id=row["id"],
        project_id=row["project_id"],
        project_number=row["project_number"],
        project=row["project"],
        category=row["category"],
        title=row["title"],
        content=row["content"],
        tags=tuple(row["tags"]),
        status=row["status"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        deleted_at=row["deleted_at"],
        fields={name: row["fields"][name] for name in own},
        embeddings=embeddings,
    )


def _change_values(item: MemoryItem, change: Change, now: datetime) -> dict[str, Any]:
    assert change.words is not None
    return {
        "id": item.id,
        "title": change.title,
        "content": change.content,
        "tags": list(change.tags),
        "field_words": change.words.field_words,
        "extra_words": change.words.extra_words,
        "now": now,
    }


async def _locked(connection: Connection, item_id: UUID, expected: int | None) -> Row:
    rows = await run(connection, "lock_item", {"id": item_id})
    if not rows:
        raise NotFound(f"there is no memory item {item_id}")
    if expected is not None and rows[0]["version"] != expected:
        raise OtherVersion(rows[0]["version"], expected)
    return rows[0]


async def _write_fields(
    connection: Connection, item_id: UUID, category: str, fields: Mapping[str, str]
) -> None:
    await run(connection, f"add_{category}_fields", {"id": item_id, **fields})


def _item_values(item: NewItem, place: _Place) -> dict[str, Any]:
    return {
        "id": item.id,
        "number": place.item_number,
        "project_number": place.project_number,
        "category": item.category,
        "title": item.title,
        "content": item.content,
        "tags": list(item.tags),
        "status": item.status,
        "now": place.now,
        "field_words": item.words.field_words,
        "extra_words": item.words.extra_words,
    }


def _vector_values(row: VectorRow, place: _Place) -> dict[str, Any]:
    return {
        "embedding_id": row.id,
        "id": place.item_id,
        "item_number": place.item_number,
        "project_number": place.project_number,
        "position": row.position,
        "window": row.window,
        "model": place.model_number,
        "start": row.start,
        "end": row.end,
        "label": row.label,
        "text": row.text,
        "vector": Vector(row.vector),
        "created_at": place.now,
        "now": place.now,
    }


async def _close_gap(connection: Connection, number: int, position: int, now: datetime) -> None:
    while True:
        position += 1
        values = {"item_number": number, "position": position, "now": now}
        cursor = await connection.execute(SQL["close_gap"], values)
        if cursor.rowcount == 0:
            return


async def _words(connection: Connection, query: str, values: Mapping[str, Any]) -> float:
    return float((await run(connection, query, values))[0]["words"])


async def _count(
    connection: Connection, project_number: int, items: int, words: float, vectors: int
) -> None:
    """Keep the project's counts; last in a transaction, since it holds the project's row."""
    values = {
        "project_number": project_number,
        "items": items,
        "words": words,
        "vectors": vectors,
    }
    await run(connection, "count_project", values)
