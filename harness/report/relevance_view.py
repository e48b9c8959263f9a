"""What the report says about relevance: scores by set and strategy, slices, wins and losses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import score_tables
from harness.evidence import HYBRID, Baseline, SetScores
from harness.measures.ranking import MEASURES
from harness.report.charts import Bars, Scale, Scored, bars
from harness.report.moved_view import ARMS, before, comparable, rows
from harness.report.slices_view import SliceTable, slice_tables
from harness.report.trust_view import Trust, trust
from harness.results import Records, Result
from harness.runs import RunRecord

MACRO = "all"
SHOWN_LEAKS = 6
CELL_PX = 120
NAMES = {
    "hybrid": "hybrid (the default)",
    "reciprocal-rank": "hybrid by reciprocal rank",
    "one-text": "hybrid, first query text only",
    "no-extras": "hybrid, no additional embeddings",
    "postgres-recipe": "plain Postgres, as tutorials have it",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric of one strategy, with its interval drawn on 0 to 1."""

    value: float | None
    low: float | None = None
    high: float | None = None
    x: float = 0.0
    x_low: float = 0.0
    x_high: float = 0.0
    best: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy on one set."""

    name: str
    variant: str
    n: int
    cells: tuple[Cell, ...]
    delta: float | None


@dataclass(frozen=True, slots=True)
class Table:
    """All strategies on one set; `low` is where the scale of the intervals starts."""

    set: str
    rows: tuple[Row, ...]
    low: float


@dataclass(frozen=True, slots=True)
class Leaked:
    """A query or answer that stands in the corpus."""

    set: str
    query: str
    kind: str
    words: int
    text: str


@dataclass(frozen=True, slots=True)
class RelevanceView:
    """Everything the relevance part of the report shows."""

    chart: Bars
    tables: tuple[Table, ...]
    measures: tuple[str, ...]
    slices: tuple[SliceTable, ...]
    trust: tuple[Trust, ...]
    leaks: tuple[Leaked, ...]
    leaks_in_all: int
    cached: tuple[int, int]
    texts: Mapping[tuple[str, str], str]


def view(folder: Path, run: RunRecord, records: Records) -> RelevanceView | None:
    """The relevance part; None where nothing was scored."""
    scores = score_tables.read(folder)
    if not any(variant == HYBRID for _, variant in scores):
        return None
    baseline = comparable(folder, run)
    queries = {(row["set"], row["query"]): row for row in rows(folder / "relevance/queries.csv")}
    sets = sorted({set_ for set_, _ in scores})
    leaks = _leaks(folder, sets)
    return RelevanceView(
        chart=_chart(records, sets, scores, baseline, run),
        # Of one set the mean over all sets says the same again.
        tables=tuple(_table(records, set_) for set_ in _with_mean(sets)),
        measures=tuple(MEASURES),
        slices=slice_tables(records, scores, _olds(scores, baseline, run), queries),
        trust=tuple(trust(folder, records, set_) for set_ in sets),
        leaks=tuple(leaks[:SHOWN_LEAKS]),
        leaks_in_all=len(leaks),
        cached=(
            _count(records, "relevance.cache-hits"),
            _count(records, "relevance.cache-misses"),
        ),
        texts={key: row["text"] for key, row in queries.items()},
    )


def _with_mean(sets: Sequence[str]) -> list[str]:
    return [*sets, MACRO] if len(sets) > 1 else list(sets)


def _count(records: Records, name: str) -> int:
    found = records.find(name)
    return int(found.value) if found else 0


def _chart(
    records: Records,
    sets: Sequence[str],
    scores: Mapping[tuple[str, str], SetScores],
    baseline: Baseline | None,
    run: RunRecord,
) -> Bars:
    scored, bases = [], []
    for set_ in _with_mean(sets):
        found = records.find("relevance.ndcg@10", set_, HYBRID)
        if found is None:
            continue
        arms = [records.find("relevance.ndcg@10", set_, arm) for arm in ARMS]
        values = [arm.value for arm in arms if arm is not None]
        base = _baseline_mean(set_, baseline, run)
        bases.append(base)
        if set_ == MACRO:
            known = [one for one in bases[:-1] if one is not None]
            base = sum(known) / len(known) if len(known) == len(sets) else None
        label = "mean of all sets" if set_ == MACRO else set_
        best = max(values) if len(values) == len(ARMS) else None
        scored.append(Scored(label, found.value, found.low, found.high, base, best))
    return bars(scored)


def _baseline_mean(set_: str, baseline: Baseline | None, run: RunRecord) -> float | None:
    old = baseline.sets.get(set_) if baseline else None
    if old is None or set_ not in run.data or old.fingerprint != run.data[set_].fingerprint:
        return None
    values = old.scores["ndcg@10"].values()
    return sum(values) / len(values)


def _table(records: Records, set_: str) -> Table:
    variants = [
        result.variant
        for result in records.results
        if result.name == "relevance.ndcg@10" and result.set == set_
    ]
    found = {
        variant: [records.find(f"relevance.{metric}", set_, variant) for metric in MEASURES]
        for variant in variants
    }
    best = [
        max((row[column].value for row in found.values() if row[column]), default=None)  # type: ignore[union-attr]
        for column in range(len(MEASURES))
    ]
    hybrid = records.find("relevance.ndcg@10", set_, HYBRID)
    lows = [one.low for row in found.values() for one in row[:1] if one and one.low is not None]
    low = min(math.floor(min(lows, default=0.0) * 10) / 10, 0.9)
    lines = []
    for variant, row in found.items():
        cells = tuple(_cell(one, best[column], low) for column, one in enumerate(row))
        first = row[0]
        own = variant == HYBRID or hybrid is None or first is None
        delta = None if own else first.value - hybrid.value  # type: ignore[union-attr]
        n = (first.n or 0) if first else 0
        lines.append(Row(NAMES.get(variant, variant), variant, n, cells, delta))
    return Table("mean of all sets" if set_ == MACRO else set_, tuple(lines), low)


def _cell(found: Result | None, best: float | None, from_: float) -> Cell:
    if found is None:
        return Cell(None)
    x = Scale(from_, 1.0, 4.0, CELL_PX - 4.0)
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    is_best = best is not None and found.value >= best - 1e-9
    return Cell(
        found.value, found.low, found.high, x.at(found.value), x.at(low), x.at(high), is_best
    )


def _olds(
    scores: Mapping[tuple[str, str], SetScores], baseline: Baseline | None, run: RunRecord
) -> dict[str, Mapping[str, float]]:
    """By set, the baseline's scores where they may be compared."""
    if baseline is None:
        return {}
    sets = {set_ for set_, variant in scores if variant == HYBRID}
    return {set_: before(scores, baseline, run, set_) for set_ in sorted(sets)}


def _leaks(folder: Path, sets: Sequence[str]) -> list[Leaked]:
    """Longest first: a sentence that stands in the corpus weighs more than a name does."""
    found = [
        Leaked(set_, row["query"], row["kind"], int(row["words"]), row["text"])
        for set_ in sets
        if (path := folder / "relevance" / f"leakage-{set_}.csv").exists()
        for row in rows(path)
    ]
    return sorted(found, key=lambda leak: (-leak.words, leak.set, leak.query))
