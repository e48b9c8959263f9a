"""Writes generated items by COPY into the memory server's tables, as a bulk import would.

The benchmark alone knows these tables: a million items through the tools would take hours. A test
holds what it writes against what the tools write for the same item.
"""

import struct
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from harness.probes.search_scale.generating import Batch, Floats

WHEN = "2026-01-01T00:00:00Z"
EPOCH = b"\x00" * 8
"""2000-01-01 as Postgres stores it."""
_POSTINGS_AT_ONCE = 50_000

_ITEM_COLUMNS = (
    "number, id, project_id, project_number, category, title, content, tags, status, created_at, "
    "updated_at, language, field_words, extra_words"
)
_VECTOR_COLUMNS = (
    'id, memory_item_id, item_number, project_number, position, "window", live, embedding_model, '
    "start_offset, end_offset, label, text, embedding, created_at, updated_at"
)
# As the memory server weighs words: a title's twice, a category's own fields' half.
_POSTINGS = """
INSERT INTO memory_item_terms (term, project_number, item_number, frequency, length)
SELECT lexeme, project_number, number, frequency, sum(frequency) OVER (PARTITION BY number)
FROM (
    SELECT m.project_number, m.number, w.lexeme,
        (SELECT sum(CASE weight WHEN 'A' THEN 2.0 WHEN 'D' THEN 0.5 ELSE 1.0 END)
         FROM unnest(w.weights) AS weight)::real AS frequency
    FROM memory_items AS m CROSS JOIN LATERAL unnest(m.search_vector) AS w
    WHERE m.number BETWEEN %s AND %s
) AS weighed
"""
_COUNTS = """
UPDATE projects AS p SET
    live_items = (SELECT count(*) FROM memory_items AS m WHERE m.project_number = p.number),
    live_words = (
        SELECT coalesce(sum(frequency), 0) FROM memory_item_terms AS t
        WHERE t.project_number = p.number),
    live_vectors = (
        SELECT count(*) FROM memory_item_embeddings AS e WHERE e.project_number = p.number)
"""
_LATE = """
SELECT c.relname, pg_get_indexdef(i.indexrelid), a.amname
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS a ON a.oid = c.relam
WHERE i.indrelid IN ('memory_items'::regclass, 'memory_item_embeddings'::regclass,
    'memory_item_terms'::regclass) AND NOT i.indisprimary
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
ORDER BY c.relname
"""


class Copier:
    """Adds batches to a database that has its projects already."""

    def __init__(self, connection: psycopg.Connection[Any], projects: Sequence[str]) -> None:
        self._connection = connection
        rows = connection.execute("SELECT slug, id, number FROM projects").fetchall()
        known = {slug: (id_, number) for slug, id_, number in rows}
        self._projects = [known[slug] for slug in projects]
        model = connection.execute("SELECT number FROM embedding_models WHERE active").fetchone()
        assert model is not None, "write one item by the tools first: it makes the model known"
        self._model = int(model[0])
        self._next = self._highest() + 1

    def _highest(self) -> int:
        row = self._connection.execute("SELECT coalesce(max(number), 0) FROM memory_items")
        found = row.fetchone()
        assert found is not None
        return int(found[0])

    def add(self, batch: Batch) -> None:
        """Items, their note fields and vectors; postings and counts come by `finish`."""
        numbers = range(self._next, self._next + len(batch.titles))
        self._next = numbers.stop
        ids = [uuid.uuid4() for _ in numbers]
        project_id, project = self._projects[batch.project]
        with self._connection.cursor() as cursor:
            with cursor.copy(f"COPY memory_items ({_ITEM_COLUMNS}) FROM STDIN") as copy:
                for number, id_, title, content, tags in zip(
                    numbers, ids, batch.titles, batch.contents, batch.tags, strict=True
                ):
                    own = (number, id_, project_id, project, "note", title, content, tags)
                    copy.write_row((*own, "active", WHEN, WHEN, "english", "\n".join(tags), ""))
            with cursor.copy("COPY note_memory_items FROM STDIN") as copy:
                for id_, title, content in zip(ids, batch.titles, batch.contents, strict=True):
                    copy.write_row((id_, title, content))
            with cursor.copy(
                f"COPY memory_item_embeddings ({_VECTOR_COLUMNS}) FROM STDIN (FORMAT BINARY)"
            ) as copy:
                copy.write(b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0))
                for row in self._vector_rows(batch, numbers, ids, project):
                    copy.write(row)
                copy.write(struct.pack(">h", -1))

    def _vector_rows(
        self, batch: Batch, numbers: range, ids: Sequence[uuid.UUID], project: int
    ) -> Iterator[bytes]:
        for place, (number, id_) in enumerate(zip(numbers, ids, strict=True)):
            parts = [batch.titles[place], batch.contents[place]]
            if batch.tags[place]:
                parts.append(f"Tags: {', '.join(batch.tags[place])}")
            text = "\n".join(parts)
            place_ = (id_.bytes, number, project)
            yield self._row(place_, 0, "", text, batch.vectors[place])
        for vector, (place, text) in zip(batch.second_vectors, batch.seconds.items(), strict=True):
            place_ = (ids[place].bytes, numbers[place], project)
            yield self._row(place_, 1, "asked as", text, vector)

    def _row(
        self, item: tuple[bytes, int, int], position: int, label: str, text: str, vector: Floats
    ) -> bytes:
        id_, number, project = item
        fields = (
            uuid.uuid4().bytes,
            id_,
            struct.pack(">i", number),
            struct.pack(">i", project),
            struct.pack(">h", position),
            struct.pack(">h", 0),
            b"\x01",
            struct.pack(">h", self._model),
            struct.pack(">i", 0),
            struct.pack(">i", len(text)),
            label.encode(),
            text.encode(),
            struct.pack(">hh", len(vector), 0) + vector.astype(">f4").tobytes(),
            EPOCH,
            EPOCH,
        )
        return struct.pack(">h", len(fields)) + b"".join(
            struct.pack(">i", len(field)) + field for field in fields
        )

    def finish(self, first: int) -> None:
        """Postings of all items from number `first` on, and every project's counts."""
        for start in range(first, self._next, _POSTINGS_AT_ONCE):
            stop = min(start + _POSTINGS_AT_ONCE, self._next) - 1
            self._connection.execute(_POSTINGS, (start, stop))
        self._connection.execute(_COUNTS)
        self._connection.execute(
            "SELECT setval(pg_get_serial_sequence('memory_items', 'number'), %s)", (self._next,)
        )

    @property
    def next_number(self) -> int:
        """The number the next item gets."""
        return self._next


@contextmanager
def without_indexes(connection: psycopg.Connection[Any]) -> Iterator[dict[str, str]]:
    """Inside, the searched tables have only their keys; gives the definitions to build anew."""
    found = connection.execute(_LATE).fetchall()
    for name, _, _ in found:
        connection.execute(f'DROP INDEX "{name}"')
    yield {name: definition for name, definition, _ in found}
