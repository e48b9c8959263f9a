"""What a stack says of itself: versions, model, index parameters, the database's settings."""

import json

import psycopg

from harness import plain_get
from harness.errors import StackFailed
from harness.runs import StackRecord
from harness.targets import Targets

SETTINGS = (
    "effective_cache_size",
    "effective_io_concurrency",
    "fsync",
    "jit",
    "maintenance_work_mem",
    "max_parallel_workers_per_gather",
    "random_page_cost",
    "shared_buffers",
    "synchronous_commit",
    "work_mem",
)
"""Settings of Postgres that change how fast it answers, or by which plan."""

_VERSION = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
_INDEXES = (
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname NOT LIKE 'pg\\_%' ORDER BY 1"
)
_SETTINGS = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s) ORDER BY 1"
SAYS_WITHIN_S = 20.0
VECTOR_INDEXES = (" USING hnsw ", " USING ivfflat ")


def stack_record(found: Targets, owned: bool) -> StackRecord:
    """The stack as a run keeps it; raises `StackFailed` where a service does not say what it is."""
    services = found.services
    versions = {"memory": services.memory.version, "embedding": services.embedding.version}
    made = StackRecord(
        name=found.stack.name,
        runtime=found.stack.runtime,
        profile=found.stack.profile,
        revision=found.stack.revision,
        owned=owned,
        model=_model(found),
        versions=versions,
    )
    if services.postgres:
        versions["postgres"] = services.postgres.version
        _describe_database(services.postgres.url, made)
    return made


def _describe_database(url: str, made: StackRecord) -> None:
    """The version of pgvector, the vector indexes' parameters, the settings of Postgres."""
    try:
        with psycopg.connect(url, connect_timeout=20) as connection:
            if row := connection.execute(_VERSION).fetchone():
                made.versions["pgvector"] = str(row[0])
            made.indexes = {
                str(name): str(definition)
                for name, definition in connection.execute(_INDEXES)
                if any(kind in definition for kind in VECTOR_INDEXES)
            }
            made.settings = {
                str(name): str(value)
                for name, value in connection.execute(_SETTINGS, (list(SETTINGS),))
            }
    except psycopg.Error as err:
        raise StackFailed(f"Postgres does not say what it is: {err}") from err


def _model(found: Targets) -> str:
    """The embedding model with its revision, as the service itself says."""
    url = f"{found.services.embedding.url}/info"
    try:
        status, body = plain_get.get(url, SAYS_WITHIN_S)
        info = json.loads(body)
    except (StackFailed, ValueError, RecursionError) as err:
        raise StackFailed(f"the embedding service does not say what it is: {err}") from err
    if status != 200 or not isinstance(info, dict):
        told = f"HTTP {status}: {body[:200]!r}"
        raise StackFailed(f"the embedding service does not say what it is: {url}: {told}")
    revision = info.get("model_sha")
    name = str(info.get("model_id", found.services.embedding.model))
    return f"{name}@{revision}" if revision else name
