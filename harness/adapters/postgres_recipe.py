"""Hybrid search as tutorials have it: one table in Postgres, `websearch_to_tsquery`, HNSW, RRF.

A text is embedded whole and cut where the model's window ends; a search takes one text, the first.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import psycopg

from harness.adapters import Hit, Item, Place, Wanted

TEXTS_A_REQUEST = 16
TIMEOUT_S = 300.0


def _statements() -> Mapping[str, str]:
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    blocks = (block.partition("\n") for block in text.split("-- name: ")[1:])
    return {name.strip(): body.strip() for name, _, body in blocks}


SQL = _statements()


class PostgresRecipe:
    """The recipe, over a database and an embedding service; a connection a thread."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._own = threading.local()

    def prepare(self) -> None:
        """Make the table and its indexes."""
        (vector,) = self._embed(["how long is a vector?"])
        self._connection.execute(SQL["tables"])
        self._connection.execute(SQL["index"].replace("{dimensions}", str(len(vector))))

    def add(self, project: str, items: Sequence[Item]) -> Sequence[str]:
        """Keep each item as one text with one vector."""
        contents = [f"{item.title}\n\n{item.content}".strip() for item in items]
        vectors = [
            vector
            for start in range(0, len(contents), TEXTS_A_REQUEST)
            for vector in self._embed(contents[start : start + TEXTS_A_REQUEST])
        ]
        ids = []
        with self._connection.transaction():
            for item, content, vector in zip(items, contents, vectors, strict=True):
                values = {
                    "project": project,
                    "category": item.category,
                    "tags": list(item.tags),
                    "status": item.status or "active",
                    "content": content,
                    "embedding": json.dumps(vector),
                }
                row = self._connection.execute(SQL["add"], values).fetchone()
                assert row is not None
                ids.append(str(row[0]))
        return ids

    def find(self, wanted: Wanted) -> Sequence[Hit]:
        """Both arms' first places, by reciprocal rank."""
        (vector,) = self._embed([wanted.texts[0]])
        values = {
            "text": wanted.texts[0],
            "vector": json.dumps(vector),
            "most": wanted.limit,
            "project": wanted.project,
            "categories": list(wanted.categories),
            "tags": list(wanted.tags),
            "statuses": list(wanted.statuses),
        }
        statement = SQL["find"].replace("{where}", _where(wanted))
        rows = self._connection.execute(statement, values).fetchall()
        return [Hit(id=row[0], content=row[1], score=row[2]) for row in rows]

    def close(self) -> None:
        """Close what this thread has open."""
        for name in ("connection", "client"):
            if hasattr(self._own, name):
                getattr(self._own, name).close()
                delattr(self._own, name)

    @property
    def _connection(self) -> "psycopg.Connection[tuple[Any, ...]]":
        if not hasattr(self._own, "connection"):
            self._own.connection = psycopg.connect(self._place.database_url, autocommit=True)
        connection: psycopg.Connection[tuple[Any, ...]] = self._own.connection
        return connection

    def _embed(self, texts: list[str]) -> list[list[float]]:
        if not hasattr(self._own, "client"):
            self._own.client = httpx.Client(
                base_url=self._place.embedding_url, timeout=TIMEOUT_S, trust_env=False
            )
        asked = {"inputs": texts, "truncate": True}
        answer = self._own.client.post("/embed", json=asked).raise_for_status()
        vectors: list[list[float]] = answer.json()
        return vectors


def _where(wanted: Wanted) -> str:
    """Only the conditions that are asked for, as one would write them."""
    conditions = {
        "d.project = %(project)s": wanted.project is not None,
        "d.category = ANY(%(categories)s)": bool(wanted.categories),
        "d.tags @> %(tags)s": bool(wanted.tags),
        "d.status = ANY(%(statuses)s)": bool(wanted.statuses),
    }
    return " AND ".join(text for text, asked in conditions.items() if asked) or "true"
