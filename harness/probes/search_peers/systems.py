"""What is compared: our server asked over MCP, and recipes run in the client's own process.

A recipe has no server, so its client embeds the query over HTTP and runs one statement on a
connection of its own: no pool, no protocol, no key, which is as cheap as a library can be.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import psycopg

from harness import mcp
from harness.probes.search_cost.asking import Asker, Embedding

LIMIT = 10
ASK = "SELECT id, content, score FROM {}(%(text)s, %(vector)s::vector, %(most)s)"


@dataclass(frozen=True, slots=True)
class Reply:
    """The ids of the hits, best first, and how long each stage took in ms."""

    ids: list[str]
    stages_ms: dict[str, float]


Search = Callable[[str], Reply]


class System(Protocol):
    """Something that searches; it is sent to client processes, each of which opens it."""

    @property
    def name(self) -> str:
        """What it is called in the table."""

    def open(self) -> Search:
        """A client with connections of its own, for one thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """FindItems with its defaults in one project of a memory server."""

    name: str
    base_url: str
    project: str

    def open(self) -> Search:
        """A client with a connection of its own."""
        asker = Asker(self.base_url)

        def search(text: str) -> Reply:
            arguments = {"queries": [text], "project": self.project}
            content, _, timing = asker.timed("FindItems", arguments)
            return Reply([hit["item"]["id"] for hit in content["hits"]], mcp.stages_of(timing))

        return search


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A function of `recipes.sql` in the peers' database."""

    name: str
    database_url: str
    embedding_url: str
    function: str

    def open(self) -> Search:
        """A client with connections of its own to Postgres and the embedding service."""
        embedding = Embedding(self.embedding_url)
        connection = psycopg.connect(self.database_url, autocommit=True)
        statement = ASK.format(self.function)

        def search(text: str) -> Reply:
            vectors, embed_s = embedding.embed([text])
            started = time.perf_counter()
            values = {"text": text, "vector": str(vectors[0]), "most": LIMIT}
            rows = connection.execute(statement, values).fetchall()
            sql_ms = 1000 * (time.perf_counter() - started)
            return Reply([row[0] for row in rows], {"embed": 1000 * embed_s, "sql": sql_ms})

        return search
