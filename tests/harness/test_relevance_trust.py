"""Beyond one number: parts of the queries, what the index misses, whether scores can be trusted."""

import csv
from pathlib import Path

from conftest import Ended, Harness

from harness import results
from harness.environment import ROOT
from harness.evalsets import beir, slices
from harness.evalsets.records import Query
from harness.probes.asking import Asked
from harness.probes.relevance.ann import recall

MEMORY_NOTES = beir.read(ROOT / "evals" / "relevance" / "memory-notes")


def test_every_query_is_in_one_part_of_each_dimension() -> None:
    parts = slices.of(MEMORY_NOTES)

    for dimension in ("kind", "length", "category"):
        inside = [q for name, qs in parts.items() if name.startswith(dimension) for q in qs]
        assert sorted(inside) == sorted(query.id for query in MEMORY_NOTES.queries), dimension
    assert {"kind: typo", "language: de", "length: 1–2", "category: todo"} <= parts.keys()


def test_a_part_that_is_the_whole_set_is_not_told(finished: tuple[Harness, Ended]) -> None:
    found = results.read(finished[1].run)

    parts = {one.part for one in found.results if one.name == "relevance.slice.ndcg@10"}
    asked = found.find("relevance.queries", "garage", "hybrid")
    assert parts
    assert asked is not None
    assert all(
        one.n is not None and one.n < asked.value
        for one in found.results
        if one.name == "relevance.slice.ndcg@10" and one.set == "garage"
    )


def test_an_index_that_misses_items_fails_by_its_own_gate(harness: Harness) -> None:
    ended = harness.run("relevance", CORTEX_FAKE_FAULT="gappy-index")

    assert ended.code == 1, ended.output
    fallen = [gate["id"] for gate in ended.json["gates"] if gate["standing"] == "fell"]
    assert fallen == ["index-finds/garage/floor", "index-finds/kitchen/floor"]


def test_an_item_as_near_as_the_last_counts_as_found() -> None:
    query = Query(id="q", texts=("x",))
    exact = Asked(query, ("a", "b", "c"), (0.9, 0.5, 0.5))

    assert recall(exact, Asked(query, ("a", "d", "c"), (0.9, 0.5, 0.5))) == 1.0
    assert recall(exact, Asked(query, ("a", "e"), (0.9, 0.4))) == 1 / 3
    assert recall(exact, Asked(query, (), ())) == 0.0


def test_scores_are_told_beside_how_often_they_are_right(
    finished: tuple[Harness, Ended],
) -> None:
    run = finished[1].run
    found = results.read(run)

    asked = found.find("relevance.queries", "garage", "hybrid")
    assert asked is not None
    assert sum(int(row["queries"]) for row in _rows(run / "relevance" / "scores-garage.csv")) == (
        asked.value
    )
    least = _rows(run / "relevance" / "least-scores-garage.csv")
    assert (float(least[0]["quiet"]), float(least[0]["lost"])) == (0.0, 0.0)
    shares = [(float(row["quiet"]), float(row["lost"])) for row in least]
    assert shares == sorted(shares)
    nothing = found.find("relevance.nothing-found", "garage", "hybrid")
    assert nothing is not None
    assert nothing.low is not None
    assert nothing.low <= nothing.value <= (nothing.high or 0)
    assert "What a caller gets by asking for a least score" in (run / "report.html").read_text()


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
