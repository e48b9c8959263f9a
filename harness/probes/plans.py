"""Has Postgres tell the plans of a database's statements, by `auto_explain` in the server's log.

The settings are the database's own, so new sessions of that database alone are told of; they cost
time, so nothing that is timed runs meanwhile.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from harness.measures.plans import Plans, Tree, gathered

CONNECT_WITHIN_S = 20
SETTINGS = {
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_timing": "on",
    "auto_explain.log_settings": "on",
    # The query's number is told by a verbose plan only.
    "auto_explain.log_verbose": "on",
    "auto_explain.log_format": "json",
    "auto_explain.log_parameter_max_length": "80",
    "auto_explain.sample_rate": "1",
    "auto_explain.log_min_duration": "0",
}


@dataclass
class Explained:
    """The plans of what ran inside; `seen` is filled at the end, `unavailable` says why not."""

    unavailable: str = ""
    seen: list[tuple[int, str, float, Tree]] = field(default_factory=list)

    def plans(self, calls: int, texts: Mapping[int, str]) -> Plans:
        """Them by statement, after so many calls; of statements that `texts` knows, if any."""
        if self.unavailable:
            return Plans(unavailable=self.unavailable)
        if not self.seen:
            return Plans(unavailable="Postgres logged none; is auto_explain loaded?")
        known = [one for one in self.seen if not texts or one[0] in texts]
        return Plans(calls=calls, statements=gathered(known, texts))


@contextlib.contextmanager
def explaining(database_url: str, log: Path | None) -> Iterator[Explained]:
    """Every statement of sessions that begin inside is explained into `log`, and read from it."""
    found = Explained(unavailable=_obstacle(log))
    if not found.unavailable:
        found.unavailable = _set(database_url, SETTINGS)
    if found.unavailable or log is None:
        yield found
        return
    start = log.stat().st_size
    try:
        yield found
    finally:
        _set(database_url, dict.fromkeys(SETTINGS))
    with log.open("rb") as lines:
        lines.seek(start)
        found.seen = list(read(lines.read().decode("utf-8", "replace")))


def _obstacle(log: Path | None) -> str:
    if log is None:
        return "the stack does not say where Postgres' log is"
    try:
        log.open("rb").close()
    except OSError as err:
        return f"Postgres' log {log} cannot be read ({err.strerror})"
    return ""


def _set(database_url: str, settings: Mapping[str, str | None]) -> str:
    """Set them for the database (None: reset); why it could not be done, or nothing."""
    database = sql.Identifier(urlsplit(database_url).path.strip("/"))
    try:
        with psycopg.connect(
            database_url, autocommit=True, connect_timeout=CONNECT_WITHIN_S
        ) as connection:
            for name, value in settings.items():
                setting = sql.SQL(".").join(map(sql.Identifier, name.split(".")))
                change = (
                    sql.SQL("ALTER DATABASE {} RESET {}").format(database, setting)
                    if value is None
                    else sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                        database, setting, sql.Literal(value)
                    )
                )
                connection.execute(change)
    except psycopg.Error as err:
        return f"Postgres refuses to explain: {str(err).splitlines()[0]}"
    return ""


_ENTRY = re.compile(r"duration: ([\d.]+) ms  plan:\n((?:\t[^\n]*\n)+)")


def read(log: str) -> Iterator[tuple[int, str, float, Tree]]:
    """(query id, text, ms, tree) of each JSON plan in a server's log; half a plan is left out."""
    for entry in _ENTRY.finditer(log):
        try:
            told = json.loads(entry[2])
            yield (
                int(told["Query Identifier"]),
                str(told["Query Text"]),
                float(entry[1]),
                told["Plan"],
            )
        except (ValueError, KeyError):
            continue
