"""Asks all queries of a set in each of the ways that are compared; scores nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from harness import adapters, mcp
from harness.evalsets.records import EvalSet
from harness.measures import ranking
from harness.probes.asking import Asked, ask
from harness.probes.workbench import Loaded, Variant, Workbench

HYBRID, AGAIN = Variant("hybrid"), Variant("hybrid-again")
STRATEGIES = [HYBRID] + [
    Variant(name, fusion=name) for name in ("text-only", "vector-only", "reciprocal-rank")
]
ONE_TEXT, NO_EXTRAS = "one-text", "no-extras"
RECIPE = Variant(adapters.RECIPE)


@dataclass(slots=True)
class Pass:
    """All queries of one set asked in one way, with each metric of each query."""

    found: EvalSet
    variant: str
    asked: list[Asked]
    scores: ranking.Scores = field(default_factory=dict)

    @property
    def errors(self) -> list[Asked]:
        """The queries that were not answered whole."""
        return [one for one in self.asked if one.error]


def passes(bench: Workbench, found: EvalSet) -> Iterator[Pass]:
    """One pass a strategy, the default first; then the default with less of what it may use."""
    loaded = bench.load(found)
    variants = [*STRATEGIES, AGAIN] if bench.has_strategies else [HYBRID, AGAIN]
    with bench.servers(loaded.database_url, variants) as clients:
        for variant, client in zip(variants, clients, strict=True):
            what = f"{found.name}, {variant.name}"
            done = Pass(found, variant.name, ask(client, loaded, found.queries, what))
            yield done
            if variant is HYBRID:
                hybrid = done
        if any(len(query.texts) > 1 for query in found.queries):
            yield _one_text(clients[0], loaded, hybrid)
    if bench.can_start_servers and any(document.extras for document in found.documents):
        yield _without_extras(bench, found)
    if bench.has_strategies and bench.has_database:
        yield _by_recipe(bench, found)


def _one_text(client: mcp.Client, loaded: Loaded, hybrid: Pass) -> Pass:
    """Each query by its first text alone; those that have one text were asked that way already."""
    several = [query for query in loaded.found.queries if len(query.texts) > 1]
    first = [replace(query, texts=query.texts[:1]) for query in several]
    what = f"{loaded.found.name}, {ONE_TEXT}"
    asked = {one.query.id: one for one in ask(client, loaded, first, what)}
    return Pass(loaded.found, ONE_TEXT, [asked.get(one.query.id, one) for one in hybrid.asked])


def _without_extras(bench: Workbench, found: EvalSet) -> Pass:
    bare: Loaded = bench.load(found, extras=False)
    with bench.servers(bare.database_url, [HYBRID]) as (client,):
        what = f"{found.name}, {NO_EXTRAS}"
        return Pass(found, NO_EXTRAS, ask(client, bare, found.queries, what))


def _by_recipe(bench: Workbench, found: EvalSet) -> Pass:
    """What one would copy from a tutorial, over the same Postgres and embedding service."""
    with bench.adapted(adapters.RECIPE) as beside:
        loaded = beside.load(found)
        with beside.servers(loaded.database_url, [RECIPE]) as (client,):
            asked = ask(client, loaded, found.queries, f"{found.name}, {RECIPE.name}")
    return Pass(found, RECIPE.name, asked)
