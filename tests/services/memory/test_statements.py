"""The store's statements, as the driver takes them."""

import asyncio

import pytest
from cortex.memory.store import Database
from cortex.memory.store.connection import SQL, Numbers, Reals

# psycopg keeps a statement parsed only up to so many characters; a longer one is parsed anew at
# each use, which takes longer than many a search.
KEPT = 4_096


@pytest.mark.parametrize("name", SQL)
def test_a_statement_is_whole_and_short_enough_to_be_kept_parsed(name: str) -> None:
    # One that asks row by row whether a filter leaves it is rare, and takes much longer anyway.
    assert len(SQL[name]) <= KEPT or name.endswith("_narrowed")
    assert "{" not in SQL[name].replace("'{}'", "")
    assert "--" not in SQL[name]


def test_what_a_filter_leaves_is_looked_up_by_hash_in_postings_and_by_key_among_vectors() -> None:
    """`= ANY` of a value is searched from its start for each row, where no index asks by it."""
    assert "IN (SELECT unnest(%(items)s::int[]))" in SQL["find_by_words"]
    assert "WHERE live AND item_number = ANY(%(items)s::int[])\nGROUP" in SQL["find_exactly_listed"]


@pytest.mark.parametrize("name", ["find_by_words", "find_exactly", "find_nearest"])
def test_a_statement_that_can_be_narrowed_is_there_in_both_forms(name: str) -> None:
    assert "%(required)s" not in SQL[name]
    assert "%(required)s" in SQL[f"{name}_narrowed"]


def test_numbers_arrive_as_they_were(database_url: str) -> None:
    async def echo(values: object, kind: str) -> object:
        database = Database(database_url, 1)
        await database.open()
        async with database.reading() as connection:
            row = await (await connection.execute(f"SELECT %s::{kind} AS it", [values])).fetchone()
        await database.close()
        assert row is not None
        return row["it"]

    for whole in ([], [0], [1, -1, 2**31 - 1, -(2**31)]):
        assert asyncio.run(echo(Numbers(whole), "int[]")) == whole
    for real in ([], [0.0], [1.5, -1e300, 5e-324]):
        assert asyncio.run(echo(Reals(real), "float8[]")) == real
