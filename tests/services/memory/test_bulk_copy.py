"""What the scale benchmark writes by COPY is what the tools write for the same items."""

from typing import Any

import numpy as np
import psycopg
import pytest
from memory_calls import new_project
from servers import Mcp

from harness.probes.search_scale.copying import Copier, without_indexes
from harness.probes.search_scale.generating import TAGS, Batch, Generator, items_for

TITLES = ["Where the pump stands", "The valve"]
CONTENTS = ["In the cellar. tofanux gelibax", "It leaks since May. tofanux"]
EXTRA = "who repairs the pump?"
ITEMS = (
    "SELECT title, content, category, tags, status, language::text, search_vector::text, "
    "field_words, extra_words, deleted_at FROM memory_items AS m WHERE project_number = %s "
    "ORDER BY number"
)
VECTORS = (
    'SELECT position, "window", live, embedding_model, start_offset, end_offset, label, text '
    "FROM memory_item_embeddings WHERE project_number = %s ORDER BY item_number, position"
)
POSTINGS = (
    "SELECT term, frequency, length FROM memory_item_terms WHERE project_number = %s "
    "ORDER BY term, frequency"
)
COUNTS = "SELECT live_items, live_words, live_vectors FROM projects WHERE number = %s"


def test_copied_items_are_those_the_tools_write(memory: Mcp, database_url: str) -> None:
    by_tools, by_copy = new_project(memory), new_project(memory)
    items: list[dict[str, Any]] = [
        {"category": "note", "title": title, "content": content, "subject": title, "body": content}
        for title, content in zip(TITLES, CONTENTS, strict=True)
    ]
    items[0]["tags"] = ["half", "rare"]
    items[0]["additionalEmbeddings"] = [{"label": "asked as", "text": EXTRA}]
    memory("AddItems", project=by_tools, items=items)

    with psycopg.connect(database_url, autocommit=True) as connection:
        vectors = np.eye(384, dtype=np.float32)
        batch = Batch(
            0, TITLES, CONTENTS, vectors[:2], {0: EXTRA}, vectors[2:3], [["half", "rare"], []]
        )
        with without_indexes(connection) as definitions:
            copier = Copier(connection, [by_copy])
            first = copier.next_number
            copier.add(batch)
            copier.finish(first)
            for definition in definitions.values():
                connection.execute(definition)

        for query in (ITEMS, VECTORS, POSTINGS, COUNTS):
            wrote, copied = (_rows(connection, query, slug) for slug in (by_tools, by_copy))
            assert wrote
            assert copied == wrote
    found = memory("FindItems", queries=["tofanux gelibax"], project=by_copy)
    assert found["hits"][0]["item"]["title"] == TITLES[0]
    assert found["hits"][0]["item"]["body"] == CONTENTS[0]


def _rows(connection: "psycopg.Connection[Any]", query: str, slug: str) -> list[tuple[Any, ...]]:
    number = connection.execute("SELECT number FROM projects WHERE slug = %s", [slug]).fetchone()
    assert number is not None
    return connection.execute(query, number).fetchall()


def test_a_memory_grows_by_what_it_lacks() -> None:
    made = Generator(["one two three four five six"] * 3, np.eye(3, 384, dtype=np.float32), 7)

    smaller = sum(len(batch.titles) for batch in made.batches(0, items_for(10_000)))
    grown = list(made.batches(items_for(10_000), items_for(20_000)))

    assert smaller == items_for(10_000) == 8_000
    assert abs(sum(len(batch.titles) for batch in grown) - 8_000) < 60
    assert all(abs(np.linalg.norm(batch.vectors, axis=1) - 1).max() < 1e-5 for batch in grown)
    shares = [sum(tag in one for batch in grown for one in batch.tags) / 8_000 for tag in TAGS]
    assert shares == pytest.approx(list(TAGS.values()), rel=0.4)
    assert {text.split()[0] for _ in range(20) for text in [made.query(None)]} <= {
        "one", "two", "three", "four"
    }  # fmt: skip
