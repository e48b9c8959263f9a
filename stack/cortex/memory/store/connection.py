"""Connections to Postgres: the pool, the driver's errors turned into ours, vectors as binary."""

import asyncio
import logging
import re
import select
import socket
import struct
import sys
from array import array
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any
from weakref import WeakKeyDictionary

import orjson
import psycopg
from psycopg import pq
from psycopg.adapt import Dumper
from psycopg.rows import dict_row, tuple_row
from psycopg.types import TypeInfo
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from cortex.memory.core.exactness import MOST_WIDTH
from cortex.shared.errors import Conflict, InvalidInput, StackError, Unavailable, Uncertain
from cortex.shared.stages import stage

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


_BLOCK = re.compile(r"^-- (name|part): (\w+)\n(.*?)(?=^-- (?:name|part): |\Z)", re.S | re.M)


def _load_queries() -> dict[str, str]:
    """Every `-- name:` block of `queries.sql`, with each `{part}` in it set in.

    A `{part?otherwise}` makes two queries of one: `name` with the text `otherwise`, and `name_part`
    with the part in its place.
    """
    text = resources.files("cortex.memory.store").joinpath("queries.sql").read_text()
    found: dict[str, dict[str, str]] = {"name": {}, "part": {}}
    for kind, name, body in _BLOCK.findall(text):
        # Without comments and indentation: the driver keeps parsed only what is short.
        lines = (line.strip() for line in body.splitlines())
        found[kind][name] = "\n".join(line for line in lines if line[:2] != "--").strip()
    queries = found["name"]
    for name, part in found["part"].items():
        choice = re.compile(rf"{{{name}\?([^{{}}]*)}}\n?")
        chosen = {
            f"{query}_{name}": choice.sub(lambda _: f"{part}\n", body)  # noqa: B023
            for query, body in queries.items()
            if choice.search(body)
        }
        queries = {
            query: choice.sub(lambda met: met[1] and f"{met[1]}\n", body)
            for query, body in queries.items()
        }
        queries = {
            query: body.replace(f"{{{name}}}", part) for query, body in (queries | chosen).items()
        }
    return queries


SQL: Mapping[str, str] = _load_queries()

WIDTH_STEP = 25
_widths: "WeakKeyDictionary[Connection, int]" = WeakKeyDictionary()


_INTEGER, _INTEGERS, _DOUBLE, _DOUBLES = 23, 1007, 701, 1022
"""Object ids of Postgres' number types and of their arrays, the same in every database."""


class Vector:
    """A vector on its way to Postgres, as pgvector's binary form (RFC: pgvector `vector_send`)."""

    __slots__ = ("data",)

    def __init__(self, values: Sequence[float]) -> None:
        numbers = array("f", values)
        if sys.byteorder == "little":
            numbers.byteswap()
        self.data = struct.pack("!HH", len(numbers), 0) + numbers.tobytes()


class Numbers:
    """Item or project numbers on their way to Postgres, as its binary form of `integer[]`.

    The driver writes a list as text, one by one, which takes longer than a small search.
    """

    __slots__ = ("data",)

    def __init__(self, values: Collection[int]) -> None:
        self.data = _array(_INTEGER, _INTEGER_CELL, values)


class Reals:
    """Numbers with a fraction, as the binary form of `double precision[]`."""

    __slots__ = ("data",)

    def __init__(self, values: Collection[float]) -> None:
        self.data = _array(_DOUBLE, _DOUBLE_CELL, values)


_INTEGER_CELL, _DOUBLE_CELL = struct.Struct("!ii"), struct.Struct("!id")
"""A cell of an array: its length in bytes, then its value."""


def _array(kind: int, cell: struct.Struct, values: Collection[float]) -> bytes:
    """Postgres' `array_send`: dimensions, no nulls, type, length, first index; then the cells."""
    if not values:
        return struct.pack("!iii", 0, 0, kind)
    size, pack = cell.size - 4, cell.pack
    head = struct.pack("!iiiii", 1, 0, kind, len(values), 1)
    return head + b"".join([pack(size, value) for value in values])


class _BinaryDumper(Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: "Vector | Numbers | Reals") -> bytes:
        return obj.data


class _NumbersDumper(_BinaryDumper):
    oid = _INTEGERS


class _RealsDumper(_BinaryDumper):
    oid = _DOUBLES


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
            with stage("store"):
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
        except psycopg.errors.DiskFull as err:
            log.error("the database's disk is full")
            raise Unavailable(
                "the database's disk is full; it can be read, and written again when there is space"
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
    dumper = type("VectorDumper", (_BinaryDumper,), {"oid": info.oid})
    connection.adapters.register_dumper(Vector, dumper)
    connection.adapters.register_dumper(Numbers, _NumbersDumper)
    connection.adapters.register_dumper(Reals, _RealsDumper)
    set_json_loads(orjson.loads, connection)
    info.register(connection)


async def run(connection: Connection, name: str, values: Mapping[str, Any]) -> list[Row]:
    """Run one named query; its rows as dictionaries, none where it returns nothing."""
    columns, rows = await run_plain(connection, name, values)
    return [dict(zip(columns, row, strict=True)) for row in rows]


async def run_plain(
    connection: Connection, name: str, values: Mapping[str, Any]
) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    """Run one named query; its columns' names, and its rows as tuples."""
    async with connection.cursor(binary=True, row_factory=tuple_row) as cursor:
        await cursor.execute(SQL[name], values)
        if not (cursor.pgresult and cursor.pgresult.nfields):
            return (), []
        if name not in _columns:  # the driver makes a list of them anew at each look
            _columns[name] = [one.name for one in cursor.description or ()]
        return _columns[name], await cursor.fetchall()


_columns: dict[str, Sequence[str]] = {}


async def search_width(connection: Connection, ef_search: int) -> None:
    """Let HNSW searches on this connection keep at least so many candidates.

    Widths are rounded up to steps, so that a connection seldom has to be told.
    """
    width = min(MOST_WIDTH, -(-ef_search // WIDTH_STEP) * WIDTH_STEP)
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
