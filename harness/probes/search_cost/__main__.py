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

from harness.environment import ROOT
from harness.probes.search_cost import sentence_vectors
from harness.probes.search_cost.asking import Asker, Embedding
from harness.probes.search_cost.corpus import (
    VECTORS_AN_ITEM,
    Sizes,
    Writer,
    sentences,
    sizes,
)
from harness.probes.search_cost.floors import Floor
from harness.probes.search_cost.loading import Loader
from harness.probes.search_cost.measuring import Bench, Figures, Scope, measure
from harness.probes.search_cost.variants import memory_server
from harness.stack import own_stack
from harness.targets import Targets

NOTES = ROOT / "evals" / "relevance" / "memory-notes" / "corpus.jsonl"
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
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench" / "search.json")
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
    writer = Writer(sentences(NOTES), seed)
    bench, loader = _made(stack, targets, logs, sizes(items), writer)
    many = loader.sizes
    fixed = [many.nearest(500), many.nearest(4_000)]
    loader.load(fixed, items // 10)
    bench.floor.settle()
    before = [
        measure(bench, _scope(loader, place), 1, queries, partial(writer.query, texts))
        for place in fixed
        for texts in [loader.loaded.texts[place]]
    ]
    bench.floor.without_index(lambda: loader.load(list(range(len(many.items))), items))
    bench.floor.settle()
    say(f"loaded: {bench.floor.counts()}")
    everywhere = [text for texts in loader.loaded.texts.values() for text in texts[:200]]
    scopes = [(_scope(loader, place), loader.loaded.texts[place]) for place in (*fixed, 0)]
    scopes.append((Scope(name="all projects", slug=None), everywhere))
    cells = []
    for scope, texts in scopes:
        for count in (1, 4):
            cells.append(measure(bench, scope, count, queries, partial(writer.query, texts)))
            _print(cells[-1])
    growth = {
        earlier.scope: after.find_ms / earlier.find_ms
        for earlier, after in zip(before, (cells[0], cells[2]), strict=True)
    }
    print("growth from a tenth to all:", {k: round(v, 2) for k, v in growth.items()})
    return {
        "counts": bench.floor.counts(),
        "cells": [asdict(one) | {"floor": one.floor} for one in cells],
        "before": [asdict(one) for one in before],
        "growth": growth,
    }


def _made(
    stack: ExitStack, targets: Targets, logs: Path, many: Sizes, writer: Writer
) -> tuple[Bench, Loader]:
    """The servers that are asked and the one that is loaded through."""
    services = targets.services
    assert services.postgres is not None
    say(f"embedding {len(writer.sentences)} sentences")
    vectors = sentence_vectors.SentenceVectors(services.embedding.url, writer.sentences)
    loading = stack.enter_context(sentence_vectors.serving(vectors))
    filler = stack.enter_context(memory_server(targets, logs, embedding_url=loading))
    only = stack.enter_context(memory_server(targets, logs, fusion="vector-only"))
    floor = Floor(services.postgres.url)
    stack.callback(floor.close)
    bench = Bench(
        find=Asker(services.memory.url),
        vector_only=Asker(only),
        embedding=Embedding(services.embedding.url),
        floor=floor,
    )
    return bench, Loader(Asker(filler), many, writer, say)


def _scope(loader: Loader, place: int) -> Scope:
    """A project, named by how many vectors it holds."""
    vectors = round(loader.sizes.items[place] * VECTORS_AN_ITEM)
    return Scope(name=f"project of {vectors:,} vectors", slug=loader.loaded.slugs[place])


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
