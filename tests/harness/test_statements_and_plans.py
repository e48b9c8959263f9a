"""Statement statistics and plans of a real Postgres: what is read of them, how a flip is told."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from servers import fresh_database, native_stack

from harness.measures import plans as measured
from harness.measures.plans import Plans, fingerprint, flips, flips_within, lines
from harness.probes import plans, statements
from harness.probes.load import where
from harness.probes.load.watching import Calls, Watched
from harness.probes.resources import Sampled

pytestmark = pytest.mark.xdist_group("where")

BY_NUMBER = "SELECT note FROM things WHERE number = %s"


@dataclass(frozen=True)
class Database:
    """A database of 5,000 things in a stack's Postgres, as its owner sees it."""

    url: str
    log: Path

    def run(self, *texts: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for text in texts:
                connection.execute(text)

    def ask(self, times: int, text: str = BY_NUMBER) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for number in range(times):
                connection.execute(text, [number])

    def plans_of(self, times: int = 3) -> Plans:
        with plans.explaining(self.url, self.log) as found:
            self.ask(times)
        return found.plans(times, {})


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    with native_stack(tmp_path_factory.mktemp("where"), "postgres") as targets:
        service = targets["services"]["postgres"]
        yield service["url"], Path(service["log"])


@pytest.fixture
def database(postgres: tuple[str, Path]) -> Iterator[Database]:
    with fresh_database(postgres[0]) as url:
        made = Database(url, postgres[1])
        made.run(
            "CREATE TABLE things (number int, note text)",
            "INSERT INTO things SELECT n, repeat('x', 40) FROM generate_series(1, 5000) AS n",
            "ANALYZE things",
        )
        yield made


def test_the_difference_of_two_snapshots_is_what_ran_between_them(database: Database) -> None:
    database.ask(4)
    before = statements.snapshot(database.url)
    database.ask(7)
    database.run("SELECT count(*) FROM things")
    found = {one.text: one for one in statements.between(before, statements.snapshot(database.url))}

    asked = found["SELECT note FROM things WHERE number = $1"]
    assert asked.calls == 7
    assert asked.rows == 6  # number 0 is nobody's
    assert asked.total_ms > 0
    assert asked.mean_ms == pytest.approx(asked.total_ms / 7)
    assert asked.hit + asked.read > 7 * 40  # 5,000 rows of 60 bytes, each time
    assert found["SELECT count(*) FROM things"].calls == 1
    assert not any("pg_stat_statements" in text for text in found)


def test_counters_that_were_reset_meanwhile_are_taken_from_zero() -> None:
    def seen(calls: int, total_ms: float) -> statements.Snapshot:
        one = statements.Counted(
            queryids=(1,),
            calls=calls,
            total_ms=total_ms,
            squares=9.0,
            rows=0,
            hit=0,
            read=0,
            temp=0,
        )
        return statements.Snapshot({"SELECT $1": one})

    (found,) = statements.between(seen(900, 1000.0), seen(3, 6.0))

    assert (found.calls, found.total_ms, found.mean_ms) == (3, 6.0, 2.0)
    assert statements.between(seen(3, 6.0), seen(3, 6.0)) == []


def test_a_secret_in_a_statement_that_is_not_planned_is_blanked(database: Database) -> None:
    before = statements.snapshot(database.url)
    with psycopg.connect(database.url, autocommit=True) as connection:
        for word in ("hush", "hu''sh", "hush again"):
            connection.execute(f"COMMENT ON TABLE things IS '{word}'")
        connection.execute(r"COMMENT ON TABLE things IS E'hu\'shed'")
        connection.execute("DO $x$ BEGIN PERFORM 'hush'; END $x$")

    found = {one.text: one for one in statements.between(before, statements.snapshot(database.url))}

    assert found["COMMENT ON TABLE things IS '…'"].calls == 3
    assert not any("hush" in text or "shed" in text for text in found)


def test_statistics_that_cannot_be_read_say_why() -> None:
    found = statements.snapshot("postgresql://nobody@127.0.0.1:9/none")

    assert "pg_stat_statements cannot be read" in found.unavailable


def test_no_statement_beside_answered_calls_is_not_measured_and_no_zero() -> None:
    seen = Watched(resources=Sampled())

    why = where._no_statements(seen, Calls(sent=10, service_ms=3.0))

    assert "no statement was counted though calls were answered" in why
    assert where._no_statements(seen, Calls(sent=0, service_ms=0.0)) == ""


def test_an_index_that_comes_and_goes_is_a_flip_told_by_its_names(database: Database) -> None:
    scanned = database.plans_of()
    database.run("CREATE INDEX things_number ON things (number)", "ANALYZE things")
    indexed = database.plans_of()
    again = database.plans_of()

    assert flips(scanned, indexed) == [
        "SELECT note FROM things WHERE number = $1: "
        "Seq Scan on things → Index Scan using things_number on things"
    ]
    assert flips(indexed, scanned)[0].endswith(
        "Index Scan using things_number on things → Seq Scan on things"
    )
    assert flips(indexed, again) == []
    (statement,) = indexed.statements
    assert statement.plans[0].seen == 3
    assert statement.plans[0].slowest.took_ms >= statement.plans[0].sample.took_ms
    text = "\n".join(lines(statement.plans[0].slowest.tree))
    assert "Index Scan using things_number on things  [" in text
    assert "Index Cond: (things.number = " in text


def test_a_statement_with_two_plans_in_one_run_is_named(database: Database) -> None:
    with plans.explaining(database.url, database.log) as found:
        database.ask(4)
        database.run("CREATE INDEX things_number ON things (number)", "ANALYZE things")
        database.ask(2)

    told = flips_within(found.plans(6, {}))

    assert len(told) == 1
    assert (
        "Seq Scan on things → Index Scan using things_number on things (4 and 2 times)" in told[0]
    )


def test_nothing_is_explained_before_or_after_or_of_another_database(
    database: Database, postgres: tuple[str, Path]
) -> None:
    with plans.explaining(database.url, database.log) as found:
        with psycopg.connect(postgres[0], autocommit=True) as other:
            other.execute("SELECT 'of another database'")
        database.ask(1)
    after = database.log.stat().st_size
    database.ask(5)

    assert [text for _, text, _, _ in found.seen] == ["SELECT note FROM things WHERE number = $1"]
    assert "plan:" not in database.log.read_bytes()[after:].decode()


def test_a_log_that_is_not_there_is_a_reason_and_no_failure(
    database: Database, tmp_path: Path
) -> None:
    for log, why in ((None, "does not say where"), (tmp_path / "gone.log", "cannot be read")):
        with plans.explaining(database.url, log) as found:
            database.ask(1)
        assert why in found.plans(1, {}).unavailable

    with plans.explaining("postgresql://nobody@127.0.0.1:9/none", database.log) as refused:
        pass
    assert "Postgres refuses to explain" in refused.plans(1, {}).unavailable


def node(kind: str, *below: dict, **keys: object) -> dict:
    return {"Node Type": kind, **keys, **({"Plans": list(below)} if below else {})}


def test_a_fingerprint_knows_places_and_names_and_no_figures() -> None:
    scan = node("Index Scan", **{"Index Name": "i", "Relation Name": "t", "Total Cost": 3.0})
    dear = {**scan, "Total Cost": 900.0, "Actual Rows": 4, "Index Cond": "(a = 4)"}
    other = {**scan, "Index Name": "j"}

    assert fingerprint(node("Limit", scan)) == fingerprint(node("Limit", dear))
    assert fingerprint(node("Limit", scan)) != fingerprint(node("Limit", other))
    assert fingerprint(node("Limit", scan)) != fingerprint(scan)
    left, right = (node("Hash Join", *sides) for sides in ((scan, other), (other, scan)))
    assert fingerprint(left) != fingerprint(right)
    assert measured.changed(left, right).endswith("the same steps in another order")
    assert measured.changed(node("Limit", scan), scan) == "Limit → nothing"


def test_half_a_plan_in_a_log_and_what_only_looks_like_one_are_left_out() -> None:
    whole = {"Query Text": "SELECT 1", "Plan": {"Node Type": "Result"}, "Query Identifier": 7}
    text = "\t" + json.dumps(whole, indent=1).replace("\n", "\n\t") + "\n"
    log = f"x LOG:  duration: 1.5 ms  plan:\n{text}y LOG:  duration: 2 ms  plan:\n\t{{\n\t 'half\n"

    assert list(plans.read(log)) == [(7, "SELECT 1", 1.5, {"Node Type": "Result"})]
