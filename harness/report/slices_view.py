"""What the report says about parts of the queries: by kind, language, length and category."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from harness.evidence import HYBRID, SetScores
from harness.report.charts import Scale
from harness.results import Records, Result

NDCG, RECALL = "relevance.slice.ndcg@10", "relevance.slice.recall@100"
CELL_PX = 120
TITLES = {
    "kind": "kind of query",
    "language": "language of the query",
    "length": "words in the query",
    "category": "category of the best answer",
}


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a set's queries; `x…` place its interval on 0 to 1, `delta` is to the baseline."""

    set: str
    name: str
    ndcg: Result
    recall: float
    delta: float | None
    x: float
    x_low: float
    x_high: float


@dataclass(frozen=True, slots=True)
class SliceTable:
    """The parts of one dimension."""

    title: str
    slices: tuple[Slice, ...]


def slice_tables(
    records: Records,
    scores: Mapping[tuple[str, str], SetScores],
    olds: Mapping[str, Mapping[str, float]],
    queries: Mapping[tuple[str, str], Mapping[str, str]],
) -> tuple[SliceTable, ...]:
    """One table a dimension, as the run measured them; `olds` are the baseline's scores by set."""
    found: defaultdict[str, list[Slice]] = defaultdict(list)
    for one in records.results:
        if one.name == NDCG and one.variant == HYBRID:
            dimension, _, name = one.part.partition(": ")
            recall = records.find(RECALL, one.set, one.variant, one.part)
            inside = [
                query
                for (set_, query), row in queries.items()
                if set_ == one.set and row.get(dimension) == name
            ]
            now = scores[one.set, HYBRID].scores["ndcg@10"]
            delta = _delta(now, olds.get(one.set, {}), inside)
            found[dimension].append(_slice(name, one, recall, delta))
    return tuple(SliceTable(TITLES.get(name, name), tuple(of)) for name, of in found.items())


def _delta(now: Mapping[str, float], old: Mapping[str, float], inside: list[str]) -> float | None:
    known = [query for query in inside if query in old and query in now]
    if not known or len(known) < len(inside):
        return None
    return sum(now[query] - old[query] for query in known) / len(known)


def _slice(name: str, one: Result, recall: Result | None, delta: float | None) -> Slice:
    x = Scale(0.0, 1.0, 4.0, CELL_PX - 4.0)
    low = one.value if one.low is None else one.low
    high = one.value if one.high is None else one.high
    return Slice(
        set=one.set,
        name=name,
        ndcg=one,
        recall=recall.value if recall else 0.0,
        delta=delta,
        x=x.at(one.value),
        x_low=x.at(low),
        x_high=x.at(high),
    )
