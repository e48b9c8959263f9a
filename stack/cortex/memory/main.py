"""Wires the memory server and serves it; the only module that knows all its parts."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cortex.clients.embedding import EmbeddingClient
from cortex.memory import http
from cortex.memory.actions import Caller, Embedder, Items, Projects, Search
from cortex.memory.mcp import server as mcp_server
from cortex.memory.mcp.tools import Actions
from cortex.memory.settings import Settings
from cortex.memory.store import Database, ItemStore, ProjectStore, SearchStore, schema_version
from cortex.memory.store.connection import SCHEMA_VERSION
from cortex.shared.errors import Misconfigured, Unavailable
from cortex.shared.logs import set_up_logs

log = logging.getLogger(__name__)

DIMENSION = 384
"""Numbers in a vector; part of the schema."""

HEALTH_WITHIN_S = 1.5
"""A dependency that takes longer counts as away, so that whoever asks has an answer in time."""


def build(settings: Settings) -> ASGIApp:
    """The whole server as an ASGI app."""
    database = Database(settings.database_url.get_secret_value(), settings.pool_size)
    client = _client(settings)
    project_store = ProjectStore(database)
    embedder = Embedder(
        client, project_store, settings.embedding_timeout_s, settings.write_timeout_s
    )
    projects = Projects(project_store)
    language = settings.text_language
    actions = Actions(
        projects=projects,
        items=Items(ItemStore(database), projects, embedder, language),
        search=Search(
            SearchStore(database), embedder, settings.fusion, language, settings.vector_search
        ),
    )
    manager = StreamableHTTPSessionManager(
        app=mcp_server.build(actions),
        json_response=True,
        stateless=True,
        # Host and origin are checked by our own gate, which compares whole names.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    metrics = http.Metrics()
    endpoint = http.McpEndpoint(manager.asgi_app, actions, _gate(settings), metrics)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await database.open()
        async with manager.run():
            yield
        await client.aclose()
        await database.close()

    async def check() -> dict[str, Any]:
        return await _health(database, client)

    routes = [
        Route("/health/live", http.alive),
        Route("/health", http.health_endpoint(check)),
        Route("/metrics", http.metrics_endpoint(metrics)),
    ]
    return _mounted(endpoint, Starlette(routes=routes, lifespan=lifespan))


def _mounted(endpoint: http.McpEndpoint, rest: ASGIApp) -> ASGIApp:
    """`/mcp`, with or without a slash, straight to its endpoint; all else to the other routes."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        mcp = scope["type"] == "http" and scope["path"] in ("/mcp", "/mcp/")
        await (endpoint if mcp else rest)(scope, receive, send)

    return app


def _client(settings: Settings) -> EmbeddingClient:
    key = settings.embedding_api_key
    return EmbeddingClient(
        settings.embedding_url,
        api_key=key.get_secret_value() if key is not None else None,
        dimension=DIMENSION,
    )


def _gate(settings: Settings) -> http.Gate:
    named = [one.strip().lower() for one in settings.allowed_hosts.split(",") if one.strip()]
    origins = [one.strip() for one in settings.allowed_origins.split(",") if one.strip()]
    return http.Gate(
        hosts=[*http.LOOPBACK, settings.host.lower(), *named],
        origins=origins,
        tokens=read_tokens(settings.token.get_secret_value() if settings.token else ""),
        calls_per_minute=settings.calls_per_minute,
    )


def read_tokens(text: str) -> list[http.Token]:
    """Tokens of the setting: `SECRET[ projects=a,b][ read-only]`, separated by ';'."""
    tokens: list[http.Token] = []
    for number, part in enumerate((one for one in text.split(";") if one.strip()), start=1):
        secret, *words = part.split()
        projects = None
        read_only = False
        for word in words:
            if word == "read-only":
                read_only = True
            elif word.startswith("projects=") and word != "projects=":
                projects = frozenset(word.removeprefix("projects=").split(","))
            else:
                raise Misconfigured(
                    f"CORTEX_MEMORY_TOKEN: token {number} has {word!r}; "
                    "after the secret come projects=a,b and read-only"
                )
        if any(secret == other.secret for other in tokens):
            raise Misconfigured(f"CORTEX_MEMORY_TOKEN: token {number} is there twice")
        if len(secret) < 16:
            raise Misconfigured(
                f"CORTEX_MEMORY_TOKEN: token {number} is shorter than 16 characters"
            )
        caller = Caller(name=f"token {number}", projects=projects, read_only=read_only)
        tokens.append(http.Token(secret=secret, caller=caller))
    if text and not tokens:
        raise Misconfigured(
            "CORTEX_MEMORY_TOKEN is set and holds no token; leave it out to let everybody in"
        )
    return tokens


async def refuse_other_schema(url: str) -> None:
    """Refuse to start on a schema this version does not know; a database that is away may come."""
    database = Database(url, 1)
    await database.open()
    try:
        found = await schema_version(database)
    except Unavailable:
        log.warning("the database does not answer yet")
        return
    finally:
        await database.close()
    if found != SCHEMA_VERSION:
        raise Misconfigured(
            f"the database's schema is at {found or 'nothing'}, this version needs "
            f"{SCHEMA_VERSION}; run `cortex memory migrate`"
        )


async def _health(database: Database, client: EmbeddingClient) -> dict[str, Any]:
    body: dict[str, Any] = {"status": "ok", "version": mcp_server.version()}
    schema, lost = await asyncio.gather(_schema_of(database), _why_lost(client))
    if isinstance(schema, Unavailable):
        body |= {"status": "unavailable", "database": "unavailable", "why": str(schema)}
    else:
        body |= {"database": "ok", "schema": schema}
        if schema != SCHEMA_VERSION:
            why = f"schema is at {schema}, needed {SCHEMA_VERSION}: `cortex memory migrate`"
            body |= {"status": "unavailable", "why": why}
    body["embedding"] = "ok" if lost is None else "unavailable"
    if lost is not None and body["status"] == "ok":
        body |= {"status": "degraded", "why": lost}
    return body


async def _schema_of(database: Database) -> str | Unavailable | None:
    try:
        async with asyncio.timeout(HEALTH_WITHIN_S):
            return await schema_version(database)
    except TimeoutError:
        return Unavailable(f"the database did not answer within {HEALTH_WITHIN_S:g} s")
    except Unavailable as err:
        return err


async def _why_lost(client: EmbeddingClient) -> str | None:
    try:
        async with asyncio.timeout(HEALTH_WITHIN_S):
            await client.healthy()
    except TimeoutError:
        return f"the embedding service did not answer within {HEALTH_WITHIN_S:g} s"
    except Unavailable as err:
        return str(err)
    return None


def serve() -> None:
    """Run until told to stop."""
    settings = Settings.read()
    set_up_logs(settings.log_level)
    # Before the server is: what is raised inside it is told as a trace, not as a sentence.
    asyncio.run(refuse_other_schema(settings.database_url.get_secret_value()))
    config = uvicorn.Config(
        build(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=settings.drain_timeout_s,
        server_header=False,
        proxy_headers=False,
    )
    uvicorn.Server(config).run()


def migrate() -> str:
    """Apply the migrations; says where the schema stands. Safe when several do it at once."""
    settings = Settings.read()
    return migrate_database(settings.database_url.get_secret_value())


def migrate_database(url: str) -> str:
    """Bring one database's schema to this version."""
    # Imported here: a server that only serves need not carry them.
    import sqlalchemy
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    folder = resources.files("cortex.memory").joinpath("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    _scheme, _, rest = url.partition("://")
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://{rest}", poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return f"the schema is at {ScriptDirectory.from_config(config).get_current_head()}"
