"""How far a search is from what it cannot go below: the speed a gate can hold on any machine.

One caller asks FindItems, the embedding service alone, and each of the committed bare SQL forms the
same distinct queries in turn; the ratio of the medians is the measure, never milliseconds.
"""

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from harness import progress
from harness.evalsets.records import EvalSet
from harness.metrics import METRICS
from harness.probes.load.workloads.memory_search import PHRASE_WORDS
from harness.probes.search_cost.asking import Asker, Embedding
from harness.probes.search_cost.floors import Floor
from harness.probes.search_cost.measuring import Bench, Figures, Scope, measure
from harness.probes.workbench import Variant
from harness.results import Record, Result

if TYPE_CHECKING:
    from harness.suites import Context

QUERIES = 200
FIND = Variant("floor-find", cached=False)
NEAREST = Variant("floor-nearest", fusion="vector-only", cached=False)


def records(context: "Context", found: EvalSet) -> Iterator[Record]:
    """The ratio to the floor and what it is made of; nothing where SQL cannot be asked beside."""
    if not (context.bench.has_strategies and context.bench.has_database):
        return
    loaded = context.bench.load(found)
    assert loaded.database_url is not None
    progress.say(f"  floor: {QUERIES} searches of {found.name} beside bare SQL and embedding")
    with context.bench.servers(loaded.database_url, [FIND, NEAREST]) as (find, nearest):
        bench = Bench(
            find=Asker(find.url.removesuffix("/mcp")),
            vector_only=Asker(nearest.url.removesuffix("/mcp")),
            embedding=Embedding(context.targets.services.embedding.url),
            floor=Floor(loaded.database_url),
        )
        with contextlib.closing(bench):
            bench.floor.settle()
            scope = Scope(name=found.name, slug=None)
            figures = measure(bench, scope, 1, QUERIES, _phrases(found, context.seed))
    yield from _results(figures)


def _results(figures: Figures) -> Iterator[Result]:
    bare_ms = figures.floors_ms[figures.floor]
    made_of = f"{figures.floor}: {bare_ms:.1f} ms, embedding alone: {figures.embed_ms:.1f} ms"
    values = {
        "load.over-floor": figures.ratio,
        "load.floor": bare_ms + figures.embed_ms,
        "load.find": figures.find_ms,
    }
    for name, value in values.items():
        yield Result(
            suite="load",
            name=name,
            value=value,
            unit=METRICS[name].unit,
            n=figures.queries,
            note=made_of,
        )


def _phrases(found: EvalSet, seed: int) -> Callable[[], str]:
    """Distinct phrases of the set's documents, one a call."""
    chance, seen = random.Random(seed), set[str]()
    documents = [one.text.split() for one in found.documents]
    long = [words for words in documents if len(words) >= PHRASE_WORDS[1]]

    def phrase() -> str:
        while True:
            words = chance.choice(long)
            length = chance.randint(*PHRASE_WORDS)
            start = chance.randrange(len(words) - length + 1)
            text = " ".join(words[start : start + length])[:500]
            if text not in seen:
                seen.add(text)
                return text

    return phrase
