"""The relevance suite: how well each search strategy finds what people judged relevant.

Each eval set is loaded once; one server a strategy answers over the same database, the default one
twice (a second replica), so that a run that is not deterministic is found in the run itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness import mcp
from harness.errors import NothingCollected
from harness.evalsets import leakage
from harness.evalsets.records import EvalSet
from harness.measures import ranking
from harness.measures.significance import macro_interval
from harness.metrics import METRICS
from harness.probes import relevance_files
from harness.probes.asking import Asked, ask
from harness.probes.workbench import Loaded, Variant, Workbench
from harness.results import Failure, Record, Result

if TYPE_CHECKING:
    from harness.suites import Context

HYBRID, AGAIN = Variant("hybrid"), Variant("hybrid-again")
STRATEGIES = [HYBRID] + [
    Variant(name, fusion=name) for name in ("text-only", "vector-only", "reciprocal-rank")
]
ONE_TEXT, NO_EXTRAS = "one-text", "no-extras"


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


def measure(context: "Context") -> Iterator[Record]:
    """Ask every set's queries in every way, and yield what was measured."""
    if not context.sets:
        raise NothingCollected("no eval set; put one into evals/relevance, see docs/guides")
    done: list[Pass] = []
    for found in context.sets:
        yield from _leaks(context, found)
        passes = list(_passes(context.bench, found))
        for one in passes:
            yield from _scored(one)
        yield from _stability(passes)
        yield from _nothing_relevant(context.bench, found, passes[0])
        done += [one for one in passes if one.variant != AGAIN.name]
        relevance_files.write(context.folder, done)
    yield from _macro(done)
    hits, misses = context.bench.cached
    yield _count("relevance.cache-hits", hits)
    yield _count("relevance.cache-misses", misses)


def _passes(bench: Workbench, found: EvalSet) -> Iterator[Pass]:
    loaded = bench.load(found)
    variants = [*STRATEGIES, AGAIN] if bench.can_start_servers else [HYBRID, AGAIN]
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


def _scored(one: Pass) -> Iterator[Record]:
    """A pass's metrics, or its failures: a query that failed is never scored, nor is its set."""
    set_, variant = one.found.name, one.variant
    for asked in one.errors:
        yield Failure(
            suite="relevance",
            name="query",
            message=asked.error,
            set=set_,
            variant=variant,
            query=asked.query.id,
        )
    yield _count("relevance.query-errors", len(one.errors), set_, variant)
    if one.errors:
        return
    rankings = {asked.query.id: asked.documents for asked in one.asked}
    known = {document.id for document in one.found.documents}
    one.scores = ranking.score(one.found.judgments, rankings, known)
    if variant != AGAIN.name:
        yield _count("relevance.queries", len(one.asked), set_, variant)
        for metric in ranking.MEASURES:
            yield _interval(metric, [one], set_, variant)


def _stability(passes: Sequence[Pass]) -> Iterator[Record]:
    """How far two runs of the default strategy differ; nothing where either could not be scored."""
    by_name = {one.variant: one for one in passes}
    first, second = by_name[HYBRID.name], by_name[AGAIN.name]
    if not first.scores or not second.scores:
        return
    differences = [
        abs(value - second.scores[metric][query])
        for metric, values in first.scores.items()
        for query, value in values.items()
    ]
    moved = [
        a for a, b in zip(first.asked, second.asked, strict=True) if a.documents != b.documents
    ]
    set_, n = first.found.name, len(first.asked)
    yield _result("relevance.unstable", max(differences), set_, HYBRID.name, n=n)
    yield _count("relevance.unstable-queries", len(moved), set_, HYBRID.name)


def _nothing_relevant(bench: Workbench, found: EvalSet, hybrid: Pass) -> Iterator[Record]:
    if not found.unanswerable or hybrid.errors:
        return
    false = [asked for asked in hybrid.asked if asked.nothing_relevant]
    loaded = bench.load(found)
    with bench.servers(loaded.database_url, [HYBRID]) as (client,):
        what = f"{found.name}, without an answer"
        asked = ask(client, loaded, found.unanswerable, what)
    if failed := [one for one in asked if one.error]:
        for one in failed:
            yield Failure(
                suite="relevance",
                name="query without an answer",
                message=one.error,
                set=found.name,
                variant=HYBRID.name,
                query=one.query.id,
            )
        return
    told = sum(one.nothing_relevant for one in asked) / len(asked)
    share = len(false) / len(hybrid.asked)
    yield _result("relevance.nothing-found", told, found.name, HYBRID.name, n=len(asked))
    yield _result("relevance.nothing-false", share, found.name, HYBRID.name, n=len(hybrid.asked))


def _leaks(context: "Context", found: EvalSet) -> Iterator[Record]:
    leaks = leakage.find(found)
    relevance_files.write_leaks(context.folder, found.name, leaks)
    sentences = {leak.query for leak in leaks if leak.words >= leakage.SENTENCE_WORDS}
    yield _count("relevance.leaks", len(sentences), found.name)


def _macro(done: Sequence[Pass]) -> Iterator[Record]:
    """Means over all sets, for each variant that was scored on every one of them."""
    sets = {one.found.name for one in done}
    for variant in dict.fromkeys(one.variant for one in done):
        scored = [one for one in done if one.variant == variant and one.scores]
        if {one.found.name for one in scored} == sets:
            yield _count("relevance.queries", sum(len(p.asked) for p in scored), "all", variant)
            for metric in ranking.MEASURES:
                yield _interval(metric, scored, "all", variant)


def _interval(metric: str, passes: Sequence[Pass], set_: str, variant: str) -> Result:
    strata: list[Mapping[str, float]] = [one.scores[metric] for one in passes]
    found = macro_interval([list(values.values()) for values in strata])
    name = f"relevance.{metric}"
    bounds = {"low": found.low, "high": found.high}
    return _result(name, found.mean, set_, variant, n=found.n, **bounds)


def _count(name: str, value: int, set_: str = "", variant: str = "") -> Result:
    return _result(name, value, set_, variant)


def _result(
    name: str,
    value: float,
    set_: str = "",
    variant: str = "",
    n: int | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Result:
    return Result(
        suite="relevance",
        name=name,
        value=float(value),
        unit=METRICS[name].unit,
        set=set_,
        variant=variant,
        n=n,
        low=low,
        high=high,
    )
