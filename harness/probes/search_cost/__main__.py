"""`python -m harness.probes.search_cost`: loads a large memory, measures, prints, writes JSON."""

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

from harness.probes.search_cost import sentence_vectors
from harness.probes.search_cost.asking import Asker, Embedding
from harness.probes.search_cost.corpus import Writer, sentences, sizes
from harness.probes.search_cost.floors import Floor
from harness.probes.search_cost.loading import Loader
from harness.probes.search_cost.measuring import Bench, Figures, Scope, measure
from harness.probes.search_cost.variants import memory_server
from harness.stack import own_stack

NOTES = Path(__file__).parents[3] / "evals" / "relevance" / "memory-notes" / "corpus.jsonl"
MOST_RATIO = 1.5
LEAST_RECALL = 0.99
MOST_GROWTH = 2.0


def say(text: str) -> None:
    """A line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Run the whole measurement; exit 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=150_000, help="memory items in all")
    parser.add_argument("--queries", type=int, default=60, help="distinct queries a cell")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--out", type=Path, default=Path("reports/bench/search.json"))
    asked = parser.parse_args()
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        results = _run(stack, logs, asked.items, asked.queries, asked.seed)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(results, indent=2) + "\n")
    broken = _broken(results)
    print("\n".join(f"BROKEN: {one}" for one in broken) or "all bounds hold")
    sys.exit(1 if broken else 0)


def _run(stack: ExitStack, logs: Path, items: int, queries: int, seed: int) -> "dict[str, object]":
    targets = stack.enter_context(own_stack("native", logs))
    services = targets.services
    assert services.postgres is not None
    said = sentences(NOTES)
    say(f"embedding {len(said)} sentences")
    vectors = sentence_vectors.SentenceVectors(services.embedding.url, said)
    loading = stack.enter_context(sentence_vectors.serving(vectors))
    filler = stack.enter_context(memory_server(targets, logs, embedding_url=loading))
    only = stack.enter_context(memory_server(targets, logs, fusion="vector-only"))
    floor = Floor(services.postgres.url)
    stack.callback(floor.close)
    many = sizes(items)
    writer = Writer(said, seed)
    small, middle = many.nearest(500), many.nearest(4_000)
    loader = Loader(Asker(filler), many, writer, say)
    bench = Bench(
        find=Asker(services.memory.url),
        vector_only=Asker(only),
        embedding=Embedding(services.embedding.url),
        floor=floor,
    )
    loader.load([small, middle], items // 10)
    floor.settle()
    fixed = [
        Scope(name="project of 500 vectors", slug=f"cost-{small}"),
        Scope(name="project of 4,000 vectors", slug=f"cost-{middle}"),
    ]
    chance = {
        scope.slug: loader.loaded.texts[place]
        for scope, place in zip(fixed, (small, middle), strict=True)
    }
    before = [
        measure(bench, scope, 1, queries, partial(writer.query, chance[scope.slug]))
        for scope in fixed
    ]
    floor.without_index(lambda: loader.load(list(range(len(many.items))), items))
    floor.settle()
    say(f"loaded: {floor.counts()}")
    everywhere = [text for texts in loader.loaded.texts.values() for text in texts[:200]]
    scopes = [
        (fixed[0], chance[fixed[0].slug]),
        (fixed[1], chance[fixed[1].slug]),
        (Scope(name="project of 47,000 vectors", slug="cost-0"), loader.loaded.texts[0]),
        (Scope(name="all projects", slug=None), everywhere),
    ]
    cells = []
    for scope, texts in scopes:
        for count in (1, 4):
            figures = measure(bench, scope, count, queries, partial(writer.query, texts))
            cells.append(figures)
            _print(figures)
    growth = {
        scope.name: after.find_ms / earlier.find_ms
        for scope, earlier, after in zip(fixed, before, (cells[0], cells[2]), strict=True)
    }
    print("growth from a tenth to all:", {k: round(v, 2) for k, v in growth.items()})
    return {
        "counts": floor.counts(),
        "cells": [asdict(one) | {"floor": one.floor} for one in cells],
        "before": [asdict(one) for one in before],
        "growth": growth,
    }


def _print(figures: Figures) -> None:
    forms = ", ".join(
        f"{name} {value:.1f} ({figures.agreement[name]:.2f})"
        for name, value in figures.floors_ms.items()
    )
    stages = ", ".join(f"{name} {value:.1f}" for name, value in figures.stages_ms.items())
    print(
        f"{figures.scope}, {figures.texts} text(s): find {figures.find_ms:.1f} ms "
        f"(p95 {figures.find_p95_ms:.1f}), embed {figures.embed_ms:.1f}, floor {figures.floor}, "
        f"ratio {figures.ratio:.2f}, recall@10 {figures.recall:.3f}\n"
        f"    forms: {forms}\n    stages: {stages}",
        flush=True,
    )


def _broken(results: "dict[str, object]") -> list[str]:
    broken = []
    cells = results["cells"]
    growth = results["growth"]
    assert isinstance(cells, list)
    assert isinstance(growth, dict)
    for cell in cells:
        where = f"{cell['scope']}, {cell['texts']} text(s)"
        if not cell["ratio"] <= MOST_RATIO:
            broken.append(f"{where}: {cell['ratio']:.2f} times the floor, at most {MOST_RATIO}")
        if not cell["recall"] >= LEAST_RECALL:
            broken.append(f"{where}: recall@10 {cell['recall']:.3f}, at least {LEAST_RECALL}")
    broken += [
        f"{name}: grew {value:.2f} times, at most {MOST_GROWTH}"
        for name, value in growth.items()
        if not value <= MOST_GROWTH
    ]
    return broken


if __name__ == "__main__":
    main()
