"""Scores passes: metrics with intervals by set, by slice and over all sets, and their stability."""

from collections.abc import Iterator, Mapping, Sequence

from harness.evalsets import slices
from harness.measures import ranking
from harness.measures.calibration import wilson
from harness.measures.significance import macro_interval
from harness.metrics import METRICS
from harness.probes.asking import Asked
from harness.probes.relevance.passes import AGAIN, HYBRID, Pass
from harness.results import Failure, Record, Result

SHOWN_HITS = 10
SLICED = ("ndcg@10", "recall@100")


def scored(one: Pass) -> Iterator[Record]:
    """A pass's metrics, or its failures: a query that failed is never scored, nor is its set."""
    set_, variant = one.found.name, one.variant
    yield from failures(one.errors, "query", set_, variant)
    yield count("relevance.query-errors", len(one.errors), set_, variant)
    if one.errors:
        return
    rankings = {asked.query.id: asked.documents for asked in one.asked}
    known = {document.id for document in one.found.documents}
    one.scores = ranking.score(one.found.judgments, rankings, known)
    if variant == AGAIN.name:
        return
    yield count("relevance.queries", len(one.asked), set_, variant)
    for metric in ranking.MEASURES:
        yield _interval(metric, [one], set_, variant)
    yield share("relevance.empty", [not asked.documents for asked in one.asked], set_, variant)
    yield _judged(one)
    if variant == HYBRID.name:
        yield from _sliced(one)


def failures(asked: Sequence[Asked], name: str, set_: str, variant: str) -> Iterator[Failure]:
    """The queries that were not answered whole, as records."""
    for one in asked:
        yield Failure(
            suite="relevance",
            name=name,
            message=one.error,
            set=set_,
            variant=variant,
            query=one.query.id,
        )


def stability(of_set: Sequence[Pass]) -> Iterator[Record]:
    """How far two runs of the default strategy differ; nothing where either could not be scored."""
    by_name = {one.variant: one for one in of_set}
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
    yield result("relevance.unstable", max(differences), set_, HYBRID.name, n=n)
    yield count("relevance.unstable-queries", len(moved), set_, HYBRID.name)


def macro(done: Sequence[Pass]) -> Iterator[Record]:
    """Means over all sets, for each variant that was scored on every one of them."""
    sets = {one.found.name for one in done}
    for variant in dict.fromkeys(one.variant for one in done):
        whole = [one for one in done if one.variant == variant and one.scores]
        if {one.found.name for one in whole} == sets:
            yield count("relevance.queries", sum(len(p.asked) for p in whole), "all", variant)
            for metric in ranking.MEASURES:
                yield _interval(metric, whole, "all", variant)


def _judged(one: Pass) -> Result:
    """Hits that people looked at: where it is low, a score says less than it seems to."""
    judged = [
        document in one.found.judgments.get(asked.query.id, {})
        for asked in one.asked
        for document in asked.documents[:SHOWN_HITS]
    ]
    value = sum(judged) / len(judged) if judged else 0.0
    return result("relevance.judged@10", value, one.found.name, one.variant, n=len(judged))


def _sliced(one: Pass) -> Iterator[Result]:
    for slice_, queries in slices.of(one.found).items():
        for metric in SLICED:
            found = macro_interval([[one.scores[metric][query] for query in queries]])
            yield result(
                f"relevance.slice.{metric}",
                found.mean,
                one.found.name,
                one.variant,
                part=slice_,
                n=found.n,
                low=found.low,
                high=found.high,
            )


def _interval(metric: str, of: Sequence[Pass], set_: str, variant: str) -> Result:
    strata: list[Mapping[str, float]] = [one.scores[metric] for one in of]
    found = macro_interval([list(values.values()) for values in strata])
    name = f"relevance.{metric}"
    return result(name, found.mean, set_, variant, n=found.n, low=found.low, high=found.high)


def share(name: str, claims: Sequence[bool], set_: str, variant: str) -> Result:
    """The share of claims that are true, with its interval."""
    low, high = wilson(sum(claims), len(claims))
    value = sum(claims) / len(claims)
    return result(name, value, set_, variant, n=len(claims), low=low, high=high)


def count(name: str, value: int, set_: str = "", variant: str = "") -> Result:
    """A plain count."""
    return result(name, value, set_, variant)


def result(
    name: str,
    value: float,
    set_: str = "",
    variant: str = "",
    *,
    part: str = "",
    n: int | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Result:
    """A record of this suite, in its metric's unit."""
    return Result(
        suite="relevance",
        name=name,
        value=float(value),
        unit=METRICS[name].unit,
        set=set_,
        variant=variant,
        part=part,
        n=n,
        low=low,
        high=high,
    )
