"""`python -m harness.probes.search_scale`: ten thousand to a million vectors, measured and told."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import psycopg

from harness.environment import ROOT, machine
from harness.probes.search_cost.asking import Asker, Embedding
from harness.probes.search_cost.corpus import sentences, sizes
from harness.probes.search_cost.floors import Floor
from harness.probes.search_cost.variants import memory_server
from harness.probes.search_scale import page
from harness.probes.search_scale.copying import Copier, without_indexes
from harness.probes.search_scale.generating import Generator, items_for
from harness.probes.search_scale.measuring import (
    Asked,
    Cell,
    Question,
    Size,
    measure,
    timed,
    watched,
)
from harness.stack import own_stack
from harness.targets import Targets

NOTES = ROOT / "evals" / "relevance" / "memory-notes" / "corpus.jsonl"
STEPS = (10_000, 100_000, 1_000_000)
MOST_INDEX_S = 45 * 60.0
LEAST_RECALL = 0.98
TABLES = ("memory_items", "memory_item_embeddings", "memory_item_terms")
WITHOUT_A_WORD = "an excluded word"
CELLS = (
    ("all projects", None, "", 1),
    ("all projects", None, "", 4),
    ("largest project", 0.0, "", 1),
    ("small project", 0.5, "", 1),
    ("all projects", None, "tag half", 1),
    ("all projects", None, "tag twentieth", 1),
    ("all projects", None, "tag rare", 1),
    ("all projects", None, WITHOUT_A_WORD, 1),
)
"""Scope, the project's place by size (0 the largest), what narrows the items, query texts."""
BUILDING = ("SET maintenance_work_mem = '3GB'", "SET max_parallel_maintenance_workers = 1")


def say(text: str) -> None:
    """A line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Run all steps; exit 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=STEPS[-1], help="vectors of the last step")
    parser.add_argument("--queries", type=int, default=400, help="distinct queries a cell")
    parser.add_argument("--exact", type=int, default=40, help="queries compared with all vectors")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench" / "scale.json")
    parser.add_argument("--page", type=Path, help="also write the figures as Markdown")
    asked = parser.parse_args()
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = _Bench(stack, logs, asked).run()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(found, indent=2) + "\n")
    broken = _broken(found)
    text = page.written(found, broken)
    print(text)
    if asked.page:
        asked.page.write_text(text)
    print("\n".join(f"BROKEN: {one}" for one in broken) or "all bounds hold")
    sys.exit(1 if broken else 0)


class _Bench:
    """A stack that grows from step to step."""

    def __init__(self, stack: ExitStack, logs: Path, asked: argparse.Namespace) -> None:
        self._asked = asked
        self._steps = [*(step for step in STEPS if step < asked.vectors), asked.vectors]
        targets = stack.enter_context(own_stack("native", logs))
        services = targets.services
        assert services.postgres is not None
        self._pids = services.postgres.pids
        self._connection = stack.enter_context(
            psycopg.connect(services.postgres.url, autocommit=True)
        )
        for setting in BUILDING:
            self._connection.execute(setting)
        only = stack.enter_context(memory_server(targets, logs, fusion="vector-only"))
        floor = Floor(services.postgres.url)
        stack.callback(floor.close)
        self._servers = Asked(
            find=Asker(services.memory.url),
            vector_only=Asker(only),
            embedding=Embedding(services.embedding.url),
            floor=floor,
        )
        self._generator = self._made(targets)
        self._slugs = self._projects()
        self._copier = Copier(self._connection, self._slugs)

    def _made(self, targets: Targets) -> Generator:
        own = sentences(NOTES)
        say(f"embedding {len(own)} sentences")
        embedding, rows = Embedding(targets.services.embedding.url), list[list[float]]()
        for start in range(0, len(own), 32):
            rows += embedding.embed(own[start : start + 32])[0]
        return Generator(own, np.array(rows, np.float32), self._asked.seed)

    def _projects(self) -> list[str]:
        find = self._servers.find
        slugs = [f"scale-{place}" for place in range(len(sizes(1).items))]
        for slug in slugs:
            find.call("CreateProject", {"name": slug, "slug": slug})
        # By the tools, so that the model is known and the first write is the product's own.
        note = {"category": "note", "title": "First", "content": "first", "subject": "first"}
        find.call("AddItem", {"project": slugs[0], **note, "body": "first"})
        return slugs

    def run(self) -> dict[str, object]:
        """All steps' figures."""
        have, found_sizes, cells = 0, list[Size](), list[Cell]()
        for step in self._steps:
            found_sizes.append(self._grow(have, items_for(step)))
            have = items_for(step)
            say(f"{found_sizes[-1]}")
            cells += self._measured(found_sizes[-1])
        return {
            "machine": machine(),
            "sizes": [asdict(one) for one in found_sizes],
            "cells": [asdict(one) for one in cells],
        }

    def _grow(self, have: int, want: int) -> Size:
        started, first = time.perf_counter(), self._copier.next_number
        index_s: dict[str, float] = {}
        with without_indexes(self._connection) as definitions:
            for batch in self._generator.batches(have, want):
                self._copier.add(batch)
            say(f"copied {want - have} items in {time.perf_counter() - started:.0f} s")
            self._copier.finish(first)
            load_s = time.perf_counter() - started
            say(f"with postings in {load_s:.0f} s")
            with watched(self._pids) as peak:
                for name, definition in definitions.items():
                    index_s[name] = timed(partial(self._connection.execute, definition))
                    say(f"{name} built in {index_s[name]:.0f} s")
        self._servers.floor.settle()
        return self._size(load_s, index_s, peak.bytes)

    def _size(self, load_s: float, index_s: dict[str, float], peak: int) -> Size:
        counts = self._servers.floor.counts()
        return Size(
            vectors=counts["vectors"],
            items=counts["items"],
            postings=counts["postings"],
            load_s=load_s,
            index_s=index_s,
            index_bytes={name: self._bytes("pg_relation_size", name) for name in index_s},
            table_bytes={name: self._bytes("pg_table_size", name) for name in TABLES},
            database_bytes=counts["bytes"],
            peak_pss_bytes=peak,
        )

    def _bytes(self, function: str, relation: str) -> int:
        row = self._connection.execute(f"SELECT {function}(%s::regclass)", (relation,)).fetchone()
        assert row is not None
        return int(row[0])

    def _measured(self, size: Size) -> list[Cell]:
        cells = []
        for scope, place, narrowed, texts in CELLS:
            where = None if place is None else round(place * (len(self._slugs) - 1))
            cell = Cell(
                vectors=size.vectors,
                scope=scope,
                scope_vectors=size.vectors if where is None else self._vectors(where),
                texts=texts,
                queries=self._asked.queries,
                narrowed=narrowed,
            )
            question = self._question(where, narrowed)
            cells.append(measure(self._servers, cell, question, self._asked.exact))
            say(f"{cells[-1]}")
        return cells

    def _question(self, place: int | None, narrowed: str) -> Question:
        ask = partial(self._generator.query, place)
        slug = None if place is None else self._slugs[place]
        if narrowed.startswith("tag "):
            tag = narrowed.removeprefix("tag ")
            condition = f"m.tags @> ARRAY['{tag}']"
            return Question(ask=ask, slug=slug, filter={"tags": [tag]}, condition=condition)
        if narrowed == WITHOUT_A_WORD:
            word = self._generator.some_have
            condition = f"NOT m.search_vector @@ to_tsquery('english', '{word}')"
            return Question(ask=partial(_excluding, word, ask), slug=slug, condition=condition)
        return Question(ask=ask, slug=slug)

    def _vectors(self, place: int) -> int:
        row = self._connection.execute(
            "SELECT live_vectors FROM projects WHERE slug = %s", (self._slugs[place],)
        ).fetchone()
        assert row is not None
        return int(row[0])


def _excluding(word: str, ask: Callable[[], str]) -> str:
    """A query without `word`; among more than five others a sign before it excludes nothing."""
    return f"{' '.join(ask().split()[:5])} -{word}"


def _broken(found: dict[str, object]) -> list[str]:
    found_sizes, cells = found["sizes"], found["cells"]
    assert isinstance(found_sizes, list)
    assert isinstance(cells, list)
    broken = [
        f"{name} of {size['vectors']:,} vectors built in {took / 60:.0f} min, "
        f"at most {MOST_INDEX_S / 60:.0f}"
        for size in found_sizes
        for name, took in size["index_s"].items()
        if not took <= MOST_INDEX_S
    ]
    for cell in cells:
        name = f"{cell['vectors']:,} vectors, {cell['scope']} {cell['narrowed']}".rstrip()
        if not cell["recall"] >= LEAST_RECALL:
            broken.append(f"{name}: recall@10 {cell['recall']:.3f}, at least {LEAST_RECALL}")
        if cell["failed"]:
            broken.append(f"{name}: {cell['failed']} calls failed")
    return broken


if __name__ == "__main__":
    main()
