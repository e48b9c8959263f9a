"""The same documents into both: our memory by its own tools, the peers' table as they would."""

import httpx
import psycopg

from harness import mcp, progress
from harness.errors import StackFailed
from harness.evalsets import items
from harness.evalsets.records import Document, EvalSet
from harness.probes import databases
from harness.probes.search_peers.recipes import sql

SLUG = "search-peers"
AT_ONCE = 16
"""Texts a request to the embedding service; ours asks in batches as well."""


def fill_ours(mcp_url: str, found: EvalSet) -> dict[str, str]:
    """The set in one project of a memory server; document ids by item id."""
    documents: dict[str, str] = {}
    with mcp.Client(mcp_url) as client, progress.steps("ours", len(found.documents)) as step:
        client.call("CreateProject", name=SLUG, slug=SLUG)
        for batch in items.batches(found.documents, extras=True):
            made = client.call("AddItems", project=SLUG, items=[item for _, item in batch])
            ids = [str(one["id"]) for one in made.content["items"]]
            documents |= dict(zip(ids, (id_ for id_, _ in batch), strict=True))
            step(len(batch))
    return documents


def fill_peers(postgres_url: str, embedding_url: str, found: EvalSet) -> str:
    """A database with the recipes' table and functions, filled; its URL."""
    url = databases.create(postgres_url, "search_peers")
    with (
        psycopg.connect(url, autocommit=True) as connection,
        httpx.Client(base_url=embedding_url, timeout=300, trust_env=False) as embedding,
        progress.steps("peers", len(found.documents)) as step,
    ):
        connection.execute(sql("tables"))
        for start in range(0, len(found.documents), AT_ONCE):
            some = found.documents[start : start + AT_ONCE]
            _add(connection, some, _embed(embedding, [content(one) for one in some]))
            step(len(some))
        for name in ("indexes", "tutorial", "indexed", "any_word"):
            connection.execute(sql(name))
    return url


def content(document: Document) -> str:
    """The text a tutorial keeps: title and text together, one vector for both."""
    return f"{document.title}\n\n{document.text}".strip()


def _embed(client: httpx.Client, texts: list[str]) -> list[list[float]]:
    answer = client.post("/embed", json={"inputs": texts, "truncate": True})
    if answer.status_code != 200:
        raise StackFailed(f"the embedding service answered {answer.status_code}: {answer.text}")
    vectors: list[list[float]] = answer.json()
    return vectors


def _add(
    connection: "psycopg.Connection[tuple[object, ...]]",
    documents: tuple[Document, ...],
    vectors: list[list[float]],
) -> None:
    rows = [
        {"id": one.id, "content": content(one), "embedding": str(vector)}
        for one, vector in zip(documents, vectors, strict=True)
    ]
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(sql("add_document"), rows)


def settle(urls: list[str]) -> None:
    """What autovacuum does within minutes of a load, done now in each database."""
    for url in urls:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")
