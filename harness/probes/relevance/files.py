"""The per-query tables of a relevance run: scores, rankings, queries, judgments, documents."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.evalsets import slices
from harness.evalsets.leakage import Leak
from harness.evalsets.records import EvalSet
from harness.measures.ranking import MEASURES
from harness.runs import RunFolder, csv_text

if TYPE_CHECKING:
    from harness.probes.relevance.passes import Pass

DIMENSIONS = ("kind", "language", "length", "category")
SHOWN_HITS = 3
SHOWN_CHARS = 160


def write(folder: RunFolder, done: Sequence["Pass"]) -> None:
    """Write all tables anew from what is done so far."""
    scores = csv_text(["set", "variant", "query", *MEASURES, "hits"], _scores(done))
    folder.write("relevance/scores.csv", scores)
    header = ["set", "query", *DIMENSIONS, "project", "text"]
    folder.write("relevance/queries.csv", csv_text(header, _queries(done)))
    header = ["set", "query", "document", "grade"]
    folder.write("relevance/judgments.csv", csv_text(header, _judgments(done)))
    header = ["set", "document", "title", "start"]
    folder.write("relevance/documents.csv", csv_text(header, _documents(done)))
    folder.write("relevance/rankings.jsonl", "".join(_rankings(done)))


def write_leaks(folder: RunFolder, set_: str, leaks: Sequence[Leak]) -> None:
    """Write the queries and answers of one set that stand in its corpus."""
    rows = [(leak.query, leak.document, leak.kind, leak.words, leak.text) for leak in leaks]
    header = ["query", "document", "kind", "words", "text"]
    folder.write(f"relevance/leakage-{set_}.csv", csv_text(header, rows))


def _sets(done: Sequence["Pass"]) -> list[EvalSet]:
    return list({one.found.name: one.found for one in done}.values())


def _scores(done: Sequence["Pass"]) -> Iterator[list[object]]:
    for one in done:
        for asked in one.asked if one.scores else []:
            values = [f"{one.scores[metric][asked.query.id]:.6f}" for metric in MEASURES]
            yield [one.found.name, one.variant, asked.query.id, *values, len(asked.documents)]


def _queries(done: Sequence["Pass"]) -> Iterator[list[object]]:
    for found in _sets(done):
        names = slices.named(found)
        for query in found.queries:
            text = " | ".join(query.texts)
            project = query.project or ""
            mine = (names[query.id][dimension] for dimension in DIMENSIONS)
            yield [found.name, query.id, *mine, project, text]


def _judgments(done: Sequence["Pass"]) -> Iterator[list[object]]:
    for found in _sets(done):
        for query, grades in found.judgments.items():
            for document, grade in grades.items():
                yield [found.name, query, document, grade]


def _documents(done: Sequence["Pass"]) -> Iterator[list[object]]:
    """The documents a report may name: those judged relevant, those among a query's first hits."""
    for found in _sets(done):
        wanted = {
            id_ for grades in found.judgments.values() for id_, grade in grades.items() if grade
        }
        for one in done:
            if one.found.name == found.name:
                wanted |= {id_ for asked in one.asked for id_ in asked.documents[:SHOWN_HITS]}
        for document in found.documents:
            if document.id in wanted:
                start = " ".join(document.text.split())[:SHOWN_CHARS]
                yield [found.name, document.id, document.title, start]


def _rankings(done: Sequence["Pass"]) -> Iterator[str]:
    for one in done:
        for asked in one.asked:
            row = {
                "set": one.found.name,
                "variant": one.variant,
                "query": asked.query.id,
                "documents": asked.documents,
            }
            yield json.dumps(row, ensure_ascii=False) + "\n"
