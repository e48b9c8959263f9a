"""What the report says about relevance: scores by set and strategy, slices, wins and losses."""

import csv
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import baselines, score_tables
from harness.evidence import HYBRID, Baseline, SetScores
from harness.measures.ranking import MEASURES
from harness.report.charts import Bars, Scale, Scored, bars
from harness.report.slices_view import SliceTable, slice_tables
from harness.report.trust_view import Trust, trust
from harness.results import Records, Result
from harness.runs import RunRecord

MACRO = "all"
SHOWN_QUERIES = 8
SHOWN_LEAKS = 10
CELL_PX = 120
ARMS = ("text-only", "vector-only")
BEST_ARM = "the better single arm of each set"
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
class Moved:
    """A query that scores differently, with the texts it takes to see why."""

    set: str
    query: str
    text: str
    was: float
    now: float
    wanted: tuple[str, ...]
    first: tuple[tuple[str, bool], ...]


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
    against: str
    losses: tuple[Moved, ...]
    wins: tuple[Moved, ...]
    counts: tuple[int, int]
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
    baseline = baselines.read(folder / "baseline.json")
    if baseline is not None and run.baseline and run.baseline.state == "other-model":
        baseline = None
    texts = _Texts(folder)
    sets = sorted({set_ for set_, _ in scores})
    against, losses, wins = _moved(scores, baseline, run, texts)
    leaks = _leaks(folder, sets)
    return RelevanceView(
        chart=_chart(records, sets, scores, baseline, run),
        tables=tuple(_table(records, set_) for set_ in [*sets, MACRO]),
        measures=tuple(MEASURES),
        slices=slice_tables(records, scores, _olds(scores, baseline, run), texts.queries),
        against=against,
        losses=tuple(losses[:SHOWN_QUERIES]),
        wins=tuple(wins[:SHOWN_QUERIES]),
        counts=(len(losses), len(wins)),
        trust=tuple(trust(folder, records, set_) for set_ in sets),
        leaks=tuple(leaks[:SHOWN_LEAKS]),
        leaks_in_all=len(leaks),
        cached=(
            _count(records, "relevance.cache-hits"),
            _count(records, "relevance.cache-misses"),
        ),
        texts={key: row["text"] for key, row in texts.queries.items()},
    )


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
    for set_ in [*sets, MACRO]:
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
    rows = []
    for variant, row in found.items():
        cells = tuple(_cell(one, best[column], low) for column, one in enumerate(row))
        first = row[0]
        own = variant == HYBRID or hybrid is None or first is None
        delta = None if own else first.value - hybrid.value  # type: ignore[union-attr]
        n = (first.n or 0) if first else 0
        rows.append(Row(NAMES.get(variant, variant), variant, n, cells, delta))
    return Table("mean of all sets" if set_ == MACRO else set_, tuple(rows), low)


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


class _Texts:
    """Queries and documents of the run by id, to show people what the numbers are about."""

    def __init__(self, folder: Path) -> None:
        data = folder / "relevance"
        self.queries = {(r["set"], r["query"]): r for r in _rows(data / "queries.csv")}
        self._documents = {(r["set"], r["document"]): r for r in _rows(data / "documents.csv")}
        self._relevant: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for row in _rows(data / "judgments.csv"):
            if row["grade"] != "0":
                self._relevant[row["set"], row["query"]].append(row["document"])
        self._first: dict[tuple[str, str], list[str]] = {}
        with (data / "rankings.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if row["variant"] == HYBRID:
                    self._first[row["set"], row["query"]] = row["documents"][:3]

    def moved(self, set_: str, query: str, was: float, now: float) -> Moved:
        """A query with its text, what was wanted, and what came first."""
        relevant = self._relevant[set_, query]
        return Moved(
            set_,
            query,
            self.queries[set_, query]["text"],
            was,
            now,
            tuple(self._named(set_, id_) for id_ in relevant[:2]),
            tuple(
                (self._named(set_, id_), id_ in relevant)
                for id_ in self._first.get((set_, query), [])
            ),
        )

    def _named(self, set_: str, document: str) -> str:
        row = self._documents.get((set_, document), {})
        return row.get("title") or row.get("start") or document


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _moved(
    scores: Mapping[tuple[str, str], SetScores],
    baseline: Baseline | None,
    run: RunRecord,
    texts: _Texts,
) -> tuple[str, list[Moved], list[Moved]]:
    """Queries that lost and won, against the baseline or else against the best single arm."""
    against, moved = BEST_ARM, []
    if baseline is not None:
        against = f"the baseline of revision {baseline.revision}"
    for (set_, variant), found in scores.items():
        if variant != HYBRID:
            continue
        old = _before(scores, baseline, run, set_)
        for query, now in found.scores["ndcg@10"].items():
            was = old.get(query)
            if was is not None and abs(was - now) > 1e-9:
                moved.append(texts.moved(set_, query, was, now))
    moved.sort(key=lambda one: (one.now - one.was, one.set, one.query))
    losses = [one for one in moved if one.now < one.was]
    wins = [one for one in reversed(moved) if one.now > one.was]
    return against, losses, wins


def _olds(
    scores: Mapping[tuple[str, str], SetScores], baseline: Baseline | None, run: RunRecord
) -> dict[str, Mapping[str, float]]:
    """By set, the baseline's scores where they may be compared."""
    if baseline is None:
        return {}
    sets = {set_ for set_, variant in scores if variant == HYBRID}
    return {set_: _before(scores, baseline, run, set_) for set_ in sorted(sets)}


def _before(
    scores: Mapping[tuple[str, str], SetScores],
    baseline: Baseline | None,
    run: RunRecord,
    set_: str,
) -> Mapping[str, float]:
    if baseline is not None:
        old = baseline.sets.get(set_)
        same = old is not None and old.fingerprint == run.data[set_].fingerprint
        return old.scores["ndcg@10"] if old is not None and same else {}
    arms = [scores[set_, arm].scores["ndcg@10"] for arm in ARMS if (set_, arm) in scores]
    return max(arms, key=lambda arm: sum(arm.values()), default={})


def _leaks(folder: Path, sets: Sequence[str]) -> list[Leaked]:
    """Longest first: a sentence that stands in the corpus weighs more than a name does."""
    found = [
        Leaked(set_, row["query"], row["kind"], int(row["words"]), row["text"])
        for set_ in sets
        if (path := folder / "relevance" / f"leakage-{set_}.csv").exists()
        for row in _rows(path)
    ]
    return sorted(found, key=lambda leak: (-leak.words, leak.set, leak.query))
