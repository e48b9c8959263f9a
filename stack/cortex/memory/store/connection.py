"""Connections to Postgres: the pool, the driver's errors turned into ours, vectors as binary."""

import asyncio
import logging
import select
import socket
import struct
import sys
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import pq
from psycopg.adapt import Dumper
from psycopg.rows import dict_row
from psycopg.types import TypeInfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from cortex.shared.errors import Conflict, InvalidInput, StackError, Unavailable, Uncertain

log = logging.getLogger(__name__)

SCHEMA_VERSION = "0001"
"""The migration this code was written for."""

STATEMENT_TIMEOUT_MS = 30_000

# Each statement was written for one plan, by index; planning it anew costs as much as running
# it, and a plan that flips with the statistics costs more (measured: docs/decisions/0005).
SESSION = (
    "SET plan_cache_mode = force_generic_plan",
    "SET enable_seqscan = off",
    "SET enable_sort = off",
    "SET jit = off",
    "SET max_parallel_workers_per_gather = 0",
    "SET hnsw.iterative_scan = strict_order",
    "SET hnsw.max_scan_tuples = 40000",
    f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}",
    "SET TIME ZONE 'UTC'",
)

Row = dict[str, Any]
Connection = psycopg.AsyncConnection[Row]

POOL_TIMEOUT_S = 5.0

CONNECT_AGAIN_FOR_S = 5.0
"""How long the pool tries one lost connection again. Its pauses double, and a new try starts with
the next call after it gave up: a longer time would let the pool sleep on when Postgres is back."""

READ_WITHIN_S = 35.0
WRITE_WITHIN_S = 120.0
"""When a connection in use is cut: a server that stands still keeps no statement timeout."""

NETWORK = {"keepalives_idle": 30, "keepalives_interval": 10, "tcp_user_timeout": 15_000}
"""So that a machine that vanished is noticed; for libpq, seconds and milliseconds."""


def _load_queries() -> dict[str, str]:
    text = resources.files("cortex.memory.store").joinpath("queries.sql").read_text()
    queries: dict[str, str] = {}
    for block in text.split("-- name: ")[1:]:
        name, _, body = block.partition("\n")
        # Without comments and indentation: the driver keeps parsed only what is short.
        lines = (line.strip() for line in body.splitlines())
        queries[name.strip()] = "\n".join(line for line in lines if line[:2] != "--").strip()
    return queries


SQL: Mapping[str, str] = _load_queries()

WIDTHS = (100, 150, 200, 300, 450, 650, 1000)
_widths: "WeakKeyDictionary[Connection, int]" = WeakKeyDictionary()


class Vector:
    """A vector on its way to Postgres, as pgvector's binary form (RFC: pgvector `vector_send`)."""

    __slots__ = ("data",)

    def __init__(self, values: Sequence[float]) -> None:
        numbers = array("f", values)
        if sys.byteorder == "little":
            numbers.byteswap()
        self.data = struct.pack("!HH", len(numbers), 0) + numbers.tobytes()


class _VectorDumper(Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: Vector) -> bytes:
        return obj.data


class Database:
    """The pool of one memory server."""

    def __init__(
        self,
        url: str,
        size: int,
        *,
        read_within_s: float = READ_WITHIN_S,
        write_within_s: float = WRITE_WITHIN_S,
    ) -> None:
        self._read_within_s, self._write_within_s = read_within_s, write_within_s
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            url,
            min_size=min(2, size),
            max_size=size,
            open=False,
            timeout=POOL_TIMEOUT_S,
            reconnect_timeout=CONNECT_AGAIN_FOR_S,
            configure=_configure,
            kwargs={
                "row_factory": dict_row,
                "connect_timeout": 5,
                "application_name": "cortex-memory",
                "prepare_threshold": 0,
                **NETWORK,
            },
        )

    async def open(self) -> None:
        """Start the pool; a database that is away is met again at each use."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """A connection for reads, each its own transaction."""
        async with self._connection(self._read_within_s) as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """A connection inside one transaction: all of it, or nothing."""
        written = False
        try:
            async with (
                self._connection(self._write_within_s) as connection,
                connection.transaction(),
            ):
                yield connection
                written = True
        except Unavailable as err:
            if not written:
                raise
            raise Uncertain(
                "the database went away while it saved this; look whether it is there before "
                "you try again"
            ) from err

    @asynccontextmanager
    async def _connection(self, within_s: float) -> AsyncIterator[Connection]:
        try:
            connection = await self._borrowed()
            cut = asyncio.get_running_loop().call_later(within_s, _hang_up, connection)
            try:
                async with connection:
                    yield connection
            finally:
                cut.cancel()
                await self._pool.putconn(connection)
        except StackError:
            raise
        except psycopg.errors.QueryCanceled as err:
            log.warning("statement took too long")
            raise Unavailable("the database took too long over this; ask for less") from err
        except psycopg.errors.ProgramLimitExceeded as err:
            raise InvalidInput(
                "title, content and fields: too many different words for one item's text index "
                "(1 MB); split the item"
            ) from err
        except (PoolTimeout, psycopg.OperationalError, psycopg.InterfaceError) as err:
            log.warning("database error", extra={"error": type(err).__name__})
            raise Unavailable("the database did not answer; try again shortly") from err
        except psycopg.errors.UniqueViolation as err:
            raise Conflict("somebody else added the same thing at the same moment") from err

    async def _borrowed(self) -> Connection:
        """A connection whose server has not hung up: after a restart each idle one's has."""
        while True:
            connection = await self._pool.getconn()
            if not _has_ended(connection):
                return connection
            await connection.close()
            await self._pool.putconn(connection)


def _has_ended(connection: Connection) -> bool:
    """Whether the server said something unasked, which is a farewell: one system call, no wait."""
    if connection.closed:
        return True
    look = select.poll()
    look.register(connection.pgconn.socket, select.POLLIN)
    return bool(look.poll(0))


def _hang_up(connection: Connection) -> None:
    """End a connection that is in use: its statement fails at once, whatever the server does."""
    log.warning("the database stands still; its connection is cut")
    if connection.closed:
        return
    with socket.fromfd(connection.pgconn.socket, socket.AF_INET, socket.SOCK_STREAM) as end:
        end.shutdown(socket.SHUT_RDWR)


async def _configure(connection: Connection) -> None:
    await connection.set_autocommit(True)
    for setting in SESSION:
        await connection.execute(setting)
    info = await TypeInfo.fetch(connection, "vector")
    if info is None:
        raise psycopg.OperationalError("the extension vector is not installed in this database")
    dumper = type("VectorDumper", (_VectorDumper,), {"oid": info.oid})
    connection.adapters.register_dumper(Vector, dumper)
    info.register(connection)


async def run(connection: Connection, name: str, values: Mapping[str, Any]) -> list[Row]:
    """Run one named query; its rows as dictionaries, none where it returns nothing."""
    cursor = await connection.execute(SQL[name], values)
    return await cursor.fetchall() if cursor.description else []


async def search_width(connection: Connection, ef_search: int) -> None:
    """Let HNSW searches on this connection keep at least so many candidates.

    Widths are rounded up to a few steps, so that a connection seldom has to be told.
    """
    width = next((step for step in WIDTHS if step >= ef_search), WIDTHS[-1])
    if _widths.get(connection) != width:
        await connection.execute(f"SET hnsw.ef_search = {width}")
        _widths[connection] = width


async def run_many(connection: Connection, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run one named query for each row of values, sent together."""
    if rows:
        async with connection.cursor() as cursor:
            await cursor.executemany(SQL[name], rows)


async def schema_version(database: Database) -> str | None:
    """The migration the database stands at; None before the first."""
    async with database.reading() as connection:
        known = await connection.execute("SELECT to_regclass('alembic_version') AS found")
        row = await known.fetchone()
        if row is None or row["found"] is None:
            return None
        rows = await (
            await connection.execute("SELECT version_num FROM alembic_version")
        ).fetchall()
        return str(rows[0]["version_num"]) if rows else None
