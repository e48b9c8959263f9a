"""The bare SQL forms that give a search's answer: what no server around Postgres can beat."""

import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import tuple_row

SETTINGS = (
    "SET jit = off",
    "SET plan_cache_mode = force_custom_plan",
    "SET hnsw.iterative_scan = strict_order",
    "SET hnsw.ef_search = 100",
    "SET max_parallel_workers_per_gather = 0",
)


def forms() -> dict[str, str]:
    """The committed statements by name."""
    text = Path(__file__).with_name("floors.sql").read_text()
    found = {}
    for block in text.split("-- name: ")[1:]:
        name, _, body = block.partition("\n")
        found[name.strip()] = body.strip()
    return found


class Floor:
    """Runs the forms on a connection of its own."""

    def __init__(self, database_url: str) -> None:
        self._connection = psycopg.connect(
            database_url, autocommit=True, prepare_threshold=1, row_factory=tuple_row
        )
        for setting in SETTINGS:
            self._connection.execute(setting)
        self._forms = forms()

    def run(
        self, form: str, slug: str | None, texts: list[str], vectors: list[list[float]]
    ) -> tuple[list[str], float]:
        """The ten best ids, and seconds until all rows were read."""
        values: dict[str, Any] = {"slug": slug, "texts": texts, "number": 0}
        if slug is not None:
            values["number"] = self._number(slug)
        values["more"] = 100 if len(texts) > 1 else 0
        padded = [*vectors, *[None] * (4 - len(vectors))]
        values |= {
            f"v{place}": None if one is None else _literal(one)
            for place, one in enumerate(padded, start=1)
        }
        started = time.perf_counter()
        rows = self._connection.execute(self._forms[form], values).fetchall()
        return [str(row[0]) for row in rows], time.perf_counter() - started

    def exact(
        self, slug: str | None, vectors: list[list[float]], limit: int, narrowed: str = ""
    ) -> list[float]:
        """The similarities of the items nearest by meaning, every vector compared.

        `narrowed` is a condition in SQL on an item, `m`.
        """
        best = ", ".join(f"-(e.embedding <#> '{_literal(one)}')" for one in vectors)
        where = "" if slug is None else f" AND e.project_number = {self._number(slug)}"
        if narrowed:
            where += (
                f" AND e.item_number IN (SELECT number FROM memory_items AS m WHERE {narrowed})"
            )
        most = limit
        while True:  # the nearest vectors, as many as it takes to have so many items
            most *= 4
            rows = self._connection.execute(
                f"SELECT e.item_number, greatest({best}) FROM memory_item_embeddings AS e "
                f"WHERE live{where} ORDER BY 2 DESC LIMIT {most}"
            ).fetchall()
            items = {number: float(similarity) for number, similarity in reversed(rows)}
            if len(items) >= limit or len(rows) < most:
                return sorted(items.values(), reverse=True)[:limit]

    def _number(self, slug: str) -> int:
        row = self._connection.execute("SELECT number FROM projects WHERE slug = %s", (slug,))
        found = row.fetchone()
        assert found is not None
        return int(found[0])

    def without_index(self, load: Callable[[], None]) -> None:
        """Load in bulk as an operator would: the HNSW index is dropped, and built anew after."""
        found = self._connection.execute(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
            "JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam "
            "WHERE amname = 'hnsw'"
        ).fetchall()
        for name, _ in found:
            self._connection.execute(f"DROP INDEX {name}")
        load()
        self._connection.execute("SET maintenance_work_mem = '1GB'")
        for _, definition in found:
            self._connection.execute(definition)

    def settle(self) -> None:
        """What autovacuum does within minutes of a load, done now."""
        for table in ("memory_item_terms", "memory_item_embeddings", "memory_items"):
            self._connection.execute(f"VACUUM (ANALYZE) {table}")

    def counts(self) -> dict[str, int]:
        """How much stands there."""
        query = (
            "SELECT (SELECT count(*) FROM memory_items), "
            "(SELECT count(*) FROM memory_item_embeddings), "
            "(SELECT count(*) FROM memory_items WHERE deleted_at IS NOT NULL), "
            "(SELECT count(*) FROM memory_item_terms), pg_database_size(current_database())"
        )
        row = self._connection.execute(query).fetchone()
        assert row is not None
        return dict(zip(("items", "vectors", "deleted", "postings", "bytes"), row, strict=True))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _literal(vector: list[float]) -> str:
    return str(array("f", vector).tolist())
