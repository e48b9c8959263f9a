"""The speed gate's measure, over a real Postgres, embedding service and memory server."""

from contextlib import closing
from typing import Any

from memory_calls import Start, note
from servers import Mcp

from harness.environment import ROOT
from harness.evalsets import beir
from harness.probes.load import floor
from harness.probes.search_cost.asking import Asker, Embedding
from harness.probes.search_cost.floors import Floor
from harness.probes.search_cost.measuring import Bench, Scope, measure

NOTES = beir.read(ROOT / "evals" / "relevance" / "memory-notes")


def test_a_search_is_measured_beside_the_fastest_form_that_gives_its_answer(
    start: Start, memory: Mcp, project: str, database_url: str, backing: dict[str, Any]
) -> None:
    texts = [document for document in NOTES.documents if len(document.text.split()) > 20][:60]
    items = [note(document.title, document.text[:2000]) for document in texts]
    memory("AddItems", project=project, items=items)
    bare = Floor(database_url)
    bare.settle()
    ask = floor._phrases(NOTES.only(texts, "some"), 5)

    bench = Bench(
        find=Asker(str(memory.http.base_url)),
        vector_only=Asker(str(start(fusion="vector-only").http.base_url)),
        embedding=Embedding(backing["embedding"]["url"]),
        floor=bare,
    )
    with closing(bench):
        figures = measure(bench, Scope(name="all", slug=None), 1, 12, ask)

    found = {one.name: one for one in floor._results(figures)}
    assert found["load.over-floor"].value == figures.ratio > 0
    assert found["load.find"].value / found["load.floor"].value == figures.ratio
    assert figures.floor in found["load.floor"].note
    assert max(figures.agreement.values()) >= 0.9
    assert figures.recall == 1.0


def test_no_phrase_is_asked_twice() -> None:
    ask = floor._phrases(NOTES, 5)

    asked = [ask() for _ in range(300)]

    assert len(set(asked)) == 300
    assert all(4 <= len(text.split()) <= 9 for text in asked)
