"""Databases of the harness's own in the Postgres of a stack it started."""

import secrets
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from harness.errors import StackFailed


def create(postgres_url: str, about: str, copy_of: str | None = None) -> str:
    """A new database, empty or a copy of one that nobody uses; its URL, with the same rights."""
    name = f"harness_{''.join(c if c.isalnum() else '_' for c in about)}_{secrets.token_hex(3)}"
    try:
        with psycopg.connect(postgres_url, autocommit=True, connect_timeout=20) as connection:
            made = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name[:63]))
            if copy_of is not None:
                source = urlsplit(copy_of).path.strip("/")
                made += sql.SQL(" TEMPLATE {}").format(sql.Identifier(source))
            connection.execute(made)
    except psycopg.Error as err:
        raise StackFailed(f"Postgres made no database for the harness: {err}") from err
    return urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name[:63]}"))


def settle(postgres_url: str) -> None:
    """Clean up and take statistics now, not whenever the server finds the time for it."""
    try:
        with psycopg.connect(postgres_url, autocommit=True, connect_timeout=20) as connection:
            connection.execute("VACUUM (ANALYZE)")
    except psycopg.Error as err:
        raise StackFailed(f"Postgres did not settle: {err}") from err
