"""A memory server over real backing services, and a project of its own for each test."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from cortex.memory.main import build, migrate_database
from cortex.memory.settings import Settings
from memory_calls import Start, new_project
from servers import Mcp, fresh_database, native_stack, serve


@pytest.fixture(scope="session")
def backing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Postgres and the embedding service; their targets."""
    with native_stack(tmp_path_factory.mktemp("backing"), "postgres", "embedding") as targets:
        yield targets["services"]


@pytest.fixture(scope="session")
def template(backing: dict[str, Any]) -> str:
    """The name of a migrated, empty database to clone."""
    url = backing["postgres"]["url"]
    name = f"template_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    migrate_database(url.rpartition("/")[0] + f"/{name}")
    return name


@pytest.fixture(scope="module")
def database_url(backing: dict[str, Any], template: str) -> Iterator[str]:
    """A migrated, empty database for this module."""
    with fresh_database(backing["postgres"]["url"], template) as url:
        yield url


@pytest.fixture
def start(backing: dict[str, Any], database_url: str) -> Iterator[Start]:
    """Starts a memory server over this module's database, with settings of the test's own."""
    with ExitStack() as stack:

        def start_one(token: str | None = None, **settings: Any) -> Mcp:
            values = {
                "database_url": database_url,
                "embedding_url": backing["embedding"]["url"],
                "pool_size": 4,
            } | settings
            client = Mcp(stack.enter_context(serve(build(Settings(**values)))), token)
            stack.callback(client.close)
            return client

        yield start_one


@pytest.fixture(scope="module")
def memory(backing: dict[str, Any], database_url: str) -> Iterator[Mcp]:
    """A memory server with the default settings."""
    settings = Settings(
        database_url=database_url, embedding_url=backing["embedding"]["url"], pool_size=6
    )
    with serve(build(settings)) as url:
        client = Mcp(url)
        yield client
        client.close()


@pytest.fixture
def project(memory: Mcp) -> str:
    """The slug of a new, empty project."""
    return new_project(memory)
