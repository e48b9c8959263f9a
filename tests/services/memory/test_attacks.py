"""What breaks servers of this kind: races, odd texts, odd requests, a database that goes away."""

import asyncio
import random
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest
from cortex.memory.http import Gate
from cortex.memory.main import read_tokens
from cortex.memory.store import Database
from cortex.shared.errors import InvalidInput, Misconfigured, Unavailable, Uncertain
from memory_calls import Start, new_project, note
from servers import Mcp, ToolFailed

# Each names what is wrong; none may bring a row.
FALSE_COUNTS = """
SELECT slug FROM projects AS p WHERE
    live_items <> (SELECT count(*) FROM memory_items AS m
                   WHERE m.project_number = p.number AND deleted_at IS NULL)
    OR live_vectors <> (SELECT count(*) FROM memory_item_embeddings AS e
                        WHERE e.project_number = p.number AND live)
    OR abs(live_words - (SELECT coalesce(sum(frequency), 0) FROM memory_item_terms AS t
                         WHERE t.project_number = p.number)) > 0.01 * greatest(1, live_words)
"""
GAPS = """
SELECT item_number FROM memory_item_embeddings GROUP BY item_number
HAVING count(DISTINCT position) <> max(position) + 1
"""
HALF_WINDOWS = """
SELECT item_number FROM memory_item_embeddings GROUP BY item_number, position
HAVING count(*) <> max("window") + 1
"""
WRONGLY_LIVE = """
SELECT m.number FROM memory_items AS m LEFT JOIN memory_item_embeddings AS e
    ON e.item_number = m.number
WHERE e.live IS NULL OR e.live <> (m.deleted_at IS NULL)
"""
MISSING_POSTINGS = """
SELECT number, lexeme FROM memory_items AS m, unnest(search_vector) AS w
WHERE deleted_at IS NULL
EXCEPT SELECT item_number, term FROM memory_item_terms
"""
STRAY_POSTINGS = """
SELECT item_number, term FROM memory_item_terms
EXCEPT SELECT number, lexeme FROM memory_items AS m, unnest(search_vector) AS w
WHERE deleted_at IS NULL
"""


def all_is_true(database_url: str) -> bool:
    """Whether counts, positions, windows and postings say what the items say."""
    checks = (FALSE_COUNTS, GAPS, HALF_WINDOWS, WRONGLY_LIVE, MISSING_POSTINGS, STRAY_POSTINGS)
    with psycopg.connect(database_url) as connection:
        for check in checks:
            assert connection.execute(check).fetchall() == [], check
    return True


def outcome(memory: Mcp, tool: str, **arguments: Any) -> str:
    """ "" for an answer, else the refusal's kind."""
    try:
        memory(tool, **arguments)
    except ToolFailed as refused:
        return str(refused).partition(":")[0]
    return ""


def test_a_storm_of_writes_to_one_item_leaves_all_true(
    memory: Mcp, project: str, database_url: str
) -> None:
    item = memory("AddItem", project=project, **note("Storm", "calm"))["item"]["id"]
    chance = random.Random(7)
    calls: list[tuple[str, dict[str, Any]]] = []
    for turn in range(90):
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("UpdateItem", {"content": f"wind {turn} " * chance.randint(1, 200)}),
            ("AddEmbedding", {"label": "l", "text": f"gust {turn}"}),
            ("UpdateEmbedding", {"position": 1, "text": f"breeze {turn}"}),
            ("RemoveEmbedding", {"position": 1}),
            ("SetItemStatus", {"status": f"s{turn}"}),
            ("DeleteItem", {}),
            ("RestoreItem", {}),
        ]
        calls.append(chance.choice(kinds))

    with ThreadPoolExecutor(6) as threads:
        said = list(threads.map(lambda call: outcome(memory, call[0], id=item, **call[1]), calls))

    assert set(said) <= {"", "Conflict", "InvalidInput"}
    assert all_is_true(database_url)


def test_of_many_changes_that_name_no_version_none_is_turned_away(
    memory: Mcp, project: str, database_url: str
) -> None:
    item = memory("AddItem", project=project, **note("Busy", "start"))["item"]["id"]

    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(
                lambda turn: memory("UpdateItem", id=item, content=f"turn {turn}"), range(32)
            )
        )

    assert memory("GetItem", id=item)["item"]["version"] == 33
    assert all_is_true(database_url)


def test_a_project_is_filled_and_renamed_by_many_at_once(
    memory: Mcp, project: str, database_url: str
) -> None:
    project_id = memory("GetProject", project=project)["project"]["id"]

    def fill(turn: int) -> str:
        items = [note(f"{turn} {place}", "alpha beta") for place in range(10)]
        return outcome(memory, "AddItems", project=project_id, items=items)

    def rename(turn: int) -> str:
        return outcome(memory, "UpdateProject", project=project_id, slug=f"{project}-{turn}")

    with ThreadPoolExecutor(10) as threads:
        said = [*threads.map(fill, range(16)), *threads.map(rename, range(16))]

    assert set(said) == {""}
    assert len(memory("ListItems", project=project_id, limit=200)["items"]) == 160
    assert all_is_true(database_url)


def test_a_slug_never_spells_another_projects_id(memory: Mcp, project: str) -> None:
    project_id = memory("GetProject", project=project)["project"]["id"]

    for slug in (project_id, project_id.replace("-", ""), str(uuid.uuid4())):
        with pytest.raises(ToolFailed, match="spells an id"):
            memory("CreateProject", name="Other", slug=slug)
        with pytest.raises(ToolFailed, match="spells an id"):
            memory("UpdateProject", project=project, slug=slug)
    with pytest.raises(ToolFailed, match="spells an id"):
        memory("CreateProject", name=project_id.upper())


def test_a_text_that_no_index_can_hold_is_refused_with_the_reason(database_url: str) -> None:
    rare = " ".join(f"{place:030}" for place in range(40_000))

    async def write() -> None:
        database = Database(database_url, 1)
        await database.open()
        try:
            async with database.writing() as connection:
                await connection.execute("SELECT to_tsvector('simple', %s)", (rare,))
        finally:
            await database.close()

    with pytest.raises(InvalidInput, match="too many different words"):
        asyncio.run(write())


ODD_TEXTS = {
    "unbroken": "a" * 100_000,
    "zero width": "\u200b\u200d\ufeff" * 500,
    "combining": "e" + "\u0301" * 5_000,
    "right to left": "\u202eשלום עולם\u202c " * 40,
    "emoji": "👩‍👩‍👧‍👦" * 400,
    "controls": "\x01\x1f\x7f\ufffe\uffff",
    "metacharacters": "a & | ! ( ) : * <-> ' \" \\\\ %s %(x)s _ %",
}


@pytest.mark.parametrize("kind", list(ODD_TEXTS))
def test_an_odd_text_is_kept_as_it_is_and_can_be_asked_for(
    memory: Mcp, project: str, kind: str
) -> None:
    text = ODD_TEXTS[kind]

    item = memory("AddItem", project=project, **note(f"T {text[:400]}", text, tags=[text[:90]]))
    asked = [text[:10_000], f'"{text[:100]}"', f"{text[:50]} fox"]
    found = memory("FindItems", queries=asked, project=project, tags=[text[:90]])
    assert memory("FindItems", queries=[f'fox -"{text[:100]}"'], project=project)

    assert memory("GetItem", id=item["item"]["id"])["item"]["content"] == text
    assert [hit["item"]["content"][:50] for hit in found["hits"]] == [text[:50]]
    assert max(map(len, found["ignoredWords"]), default=0) <= 100


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "http://localhost:x", ""])
def test_an_origin_that_is_no_address_is_refused(memory: Mcp, origin: str) -> None:
    answer = memory.http.post("/mcp", json={}, headers={"origin": origin})

    assert answer.status_code == 403


@pytest.mark.parametrize("depth", [100, 900, 1_000, 1_020, 5_000])
def test_a_deeply_nested_call_is_refused_and_the_connection_lives(memory: Mcp, depth: int) -> None:
    call = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ListProjects","arguments":'
    )
    body = f'{call}{{"x":{"[" * depth}{"]" * depth}}}}}}}'
    headers = {"content-type": "application/json"}

    with httpx.Client(base_url=memory.http.base_url, trust_env=False) as client:
        for _ in range(2):
            answer = client.post("/mcp", content=body, headers=headers)
            assert answer.status_code in (200, 400)
            assert "error" in answer.json() or answer.json()["result"]["isError"]


def test_a_refusal_is_short_however_long_the_field_is(memory: Mcp) -> None:
    with pytest.raises(ToolFailed, match="unknown field") as refused:
        memory("ListProjects", **{"k" * 1_000_000: 1})

    assert len(str(refused.value)) < 500


def test_a_token_may_hold_any_characters_and_be_there_once() -> None:
    secret = "pässwort-ключ-à-%s"
    tokens = read_tokens(f"{secret}; other-token-of-16 read-only")
    gate = Gate(hosts=[], origins=[], tokens=tokens, calls_per_minute=0)
    sent = "Bearer " + secret.encode().decode("latin-1")  # as servers hand headers on
    assert gate.caller(sent) is tokens[0].caller
    assert gate.caller(sent[:-1]) is None
    with pytest.raises(Misconfigured, match="there twice"):
        read_tokens(f"{secret} read-only; {secret}")
    for blank in (" ", ";", " ; "):
        with pytest.raises(Misconfigured, match="holds no token"):
            read_tokens(blank)


def test_after_the_database_hung_up_the_first_call_is_answered(
    start: Start, database_url: str
) -> None:
    memory = start(pool_size=4)
    project = new_project(memory)
    with ThreadPoolExecutor(8) as threads:  # fills the pool
        list(threads.map(lambda _: memory("ListItems", project=project), range(32)))
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name = 'cortex-memory' AND datname = current_database()"
        )

    for turn in range(8):
        assert memory("AddItem", project=project, **note(f"n{turn}", "kept"))

    assert len(memory("ListItems", project=project)["items"]) == 8


def test_a_database_that_stands_still_is_given_up_in_time(database_url: str) -> None:
    async def ask() -> None:
        database = Database(database_url, 1, read_within_s=0.5)
        await database.open()
        try:
            async with database.reading() as connection:
                await connection.execute("SELECT pg_sleep(20)")
        finally:
            await database.close()

    started = time.monotonic()
    with pytest.raises(Unavailable, match="did not answer"):
        asyncio.run(ask())

    assert time.monotonic() - started < 5


def test_a_save_that_lost_its_database_at_the_last_moment_says_so(database_url: str) -> None:
    async def write() -> None:
        database = Database(database_url, 1)
        await database.open()
        try:
            async with database.writing() as connection:
                mine = connection.info.backend_pid
                with psycopg.connect(database_url, autocommit=True) as other:
                    other.execute("SELECT pg_terminate_backend(%s, 5000)", (mine,))
        finally:
            await database.close()

    with pytest.raises(Uncertain, match="look whether it is there"):
        asyncio.run(write())


def test_a_full_disk_is_named_and_searching_goes_on(
    start: Start, disk_that_is_full: Callable[[], object]
) -> None:
    memory = start()
    project = new_project(memory)
    memory("AddItem", project=project, **note("ladder", "in the shed"))
    disk_that_is_full()

    with pytest.raises(ToolFailed, match=r"^Unavailable: the database's disk is full.*nothing was"):
        memory("AddItem", project=project, **note("rope", "in the cellar"))

    found = memory("FindItems", project=project, queries=["ladder", "rope"])
    assert [hit["item"]["title"] for hit in found["hits"]] == ["ladder"]


@pytest.fixture
def disk_that_is_full(database_url: str) -> Iterator[Callable[[], object]]:
    """From its call on, Postgres answers new items with its error for a full disk."""
    make = (
        "CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
        "'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;"
        "CREATE TRIGGER no_space BEFORE INSERT ON memory_items EXECUTE FUNCTION no_space()"
    )
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield lambda: connection.execute(make)
        connection.execute("DROP FUNCTION IF EXISTS no_space CASCADE")


def test_what_was_saved_and_could_not_be_read_back_is_not_called_unchanged(
    start: Start, database_url: str, reading_that_ends_the_connection: Callable[[], object]
) -> None:
    memory = start()
    project = new_project(memory)
    item = memory("AddItem", project=project, **note("ladder", "in the shed"))["item"]
    reading_that_ends_the_connection()

    saved = r"^Uncertain: this was saved, .*do not send it again$"
    with pytest.raises(ToolFailed, match=saved):
        memory("AddItem", project=project, **note("rope", "in the cellar"))

    with psycopg.connect(database_url) as connection:
        titles = connection.execute(
            "SELECT title FROM memory_items WHERE title IN ('rope', 'ladder') ORDER BY title"
        ).fetchall()
    assert ("rope",) in titles
    with pytest.raises(ToolFailed, match=r"^Unavailable: .*nothing was changed"):
        memory("DeleteItem", id=item["id"])


@pytest.fixture
def reading_that_ends_the_connection(database_url: str) -> Iterator[Callable[[], object]]:
    """From its call on, whoever reads embeddings loses the connection; they can be written."""
    table = "memory_item_embeddings"
    make = (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; "
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY; "
        f"CREATE POLICY writes ON {table} FOR INSERT WITH CHECK (true); "
        f"CREATE POLICY reads ON {table} FOR SELECT "
        "USING (pg_terminate_backend(pg_backend_pid()) IS NULL)"
    )
    unmake = (
        f"DROP POLICY IF EXISTS reads ON {table}; DROP POLICY IF EXISTS writes ON {table}; "
        f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY; "
        f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"
    )
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield lambda: connection.execute(make)
        connection.execute(unmake)
