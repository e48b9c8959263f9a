"""What Postgres did meanwhile: `pg_stat_statements` before and after, and the difference."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.rows import dict_row

CONNECT_WITHIN_S = 20

# One text may have several numbers: the types of its parameters are part of them.
# Constants of what is planned stand as $1 there; those of all else (a password) are blanked.
_READ = r"""
SELECT CASE WHEN query ~* '^[\s(]*(select|insert|update|delete|merge|with)\M' THEN query
            ELSE regexp_replace(
                regexp_replace(query, '\$(\w*)\$.*\$\1\$', '''…''', 'g'),
                '''(\\.|''|[^''])*''', '''…''', 'g')
       END AS text, array_agg(DISTINCT queryid ORDER BY queryid) AS queryids,
       sum(calls)::bigint AS calls, sum(total_exec_time) AS total_ms,
       sum(calls * (mean_exec_time ^ 2 + stddev_exec_time ^ 2)) AS squares,
       sum(rows)::bigint AS rows,
       sum(shared_blks_hit)::bigint AS hit, sum(shared_blks_read)::bigint AS read,
       sum(temp_blks_read + temp_blks_written)::bigint AS temp
FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = %s)
  AND queryid IS NOT NULL AND query NOT LIKE '%%pg_stat_statements%%'
GROUP BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One statement's counters since they began."""

    queryids: tuple[int, ...]
    calls: int
    total_ms: float
    squares: float
    rows: int
    hit: int
    read: int
    temp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What one statement cost in a stretch of time; pages are of 8 KiB, times in ms.

    Times are the executor's: planning is not among them.
    """

    queryids: tuple[int, ...]
    text: str
    calls: int
    total_ms: float
    mean_ms: float
    stddev_ms: float
    rows: int
    hit: int
    read: int
    temp: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All counters of one database at one moment, or why they could not be read."""

    counted: Mapping[str, Counted]
    unavailable: str = ""


def snapshot(postgres_url: str, database_url: str | None = None) -> Snapshot:
    """The counters of the database (default: the one connected to) as they stand now."""
    database = urlsplit(database_url or postgres_url).path.strip("/")
    try:
        with psycopg.connect(
            postgres_url, connect_timeout=CONNECT_WITHIN_S, row_factory=dict_row
        ) as connection:
            found = connection.execute(_READ, [database]).fetchall()
    except psycopg.Error as err:
        return Snapshot({}, f"pg_stat_statements cannot be read: {str(err).splitlines()[0]}")
    return Snapshot({row.pop("text"): Counted(**_read(row)) for row in found})


def _read(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "queryids": tuple(row["queryids"])}


def between(before: Snapshot, after: Snapshot) -> list[Statement]:
    """What was run between two snapshots, the dearest first."""
    found = []
    for text, now in after.counted.items():
        was = before.counted.get(text)
        if was is None or was.calls > now.calls:  # new, or its counters were reset meanwhile
            was = _NOTHING
        calls = now.calls - was.calls
        if calls <= 0:
            continue
        total_ms = now.total_ms - was.total_ms
        mean_ms = total_ms / calls
        variance = (now.squares - was.squares) / calls - mean_ms**2
        found.append(
            Statement(
                queryids=now.queryids,
                text=text,
                calls=calls,
                total_ms=total_ms,
                mean_ms=mean_ms,
                stddev_ms=math.sqrt(max(0.0, variance)),
                rows=now.rows - was.rows,
                hit=now.hit - was.hit,
                read=now.read - was.read,
                temp=now.temp - was.temp,
            )
        )
    return sorted(found, key=lambda one: (-one.total_ms, one.text))


_NOTHING = Counted(queryids=(), calls=0, total_ms=0.0, squares=0.0, rows=0, hit=0, read=0, temp=0)
