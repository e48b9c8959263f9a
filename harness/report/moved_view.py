"""What the report says about queries that lost and won, with the texts it takes to see why."""

import csv
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness import baselines, score_tables
from harness.evidence import HYBRID, Baseline, SetScores
from harness.runs import RunRecord

SHOWN_QUERIES = 6
ARMS = ("text-only", "vector-only")
BEST_ARM = "the better single arm of each set"
NDCG = "ndcg@10"
Scores = Mapping[tuple[str, str], SetScores]


@dataclass(frozen=True, slots=True)
class Moved:
    """A query that scores differently; `first` are its first hits, and whether each is right."""

    set: str
    query: str
    text: str
    was: float
    now: float
    wanted: tuple[str, ...]
    first: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class MovedView:
    """The queries that moved most, and how many did; `against` says what they are held to."""

    against: str
    is_baseline: bool
    compared: int
    losses: tuple[Moved, ...]
    wins: tuple[Moved, ...]
    counts: tuple[int, int]
    mean: float


def view(folder: Path, run: RunRecord) -> MovedView | None:
    """Against the baseline where it may be compared, else against the best single arm."""
    scores = score_tables.read(folder)
    if not any(variant == HYBRID for _, variant in scores):
        return None
    baseline = comparable(folder, run)
    moved, differences = [], []
    for (set_, variant), found in scores.items():
        if variant != HYBRID:
            continue
        old = before(scores, baseline, run, set_)
        for query, now in found.scores[NDCG].items():
            if query in old:
                differences.append(now - old[query])
                if abs(differences[-1]) > 1e-9:
                    moved.append((now - old[query], set_, query, old[query], now))
    moved.sort()
    losses, wins = ([one for one in moved if (one[0] < 0) is is_loss] for is_loss in (True, False))
    texts = _Texts(folder)
    return MovedView(
        against=f"the baseline of revision {baseline.revision}" if baseline else BEST_ARM,
        is_baseline=baseline is not None,
        compared=len(differences),
        losses=tuple(texts.moved(*one[1:]) for one in losses[:SHOWN_QUERIES]),
        wins=tuple(texts.moved(*one[1:]) for one in wins[: -SHOWN_QUERIES - 1 : -1]),
        counts=(len(losses), len(wins)),
        mean=sum(differences) / len(differences) if differences else 0.0,
    )


def comparable(folder: Path, run: RunRecord) -> Baseline | None:
    """The baseline that lies beside a run, unless it is of another model."""
    baseline = baselines.read(folder / "baseline.json")
    other = run.baseline is not None and run.baseline.state == "other-model"
    return None if other else baseline


def before(
    scores: Scores, baseline: Baseline | None, run: RunRecord, set_: str
) -> Mapping[str, float]:
    """What a set's queries scored in what they are held against; nothing of other data."""
    if baseline is not None:
        old = baseline.sets.get(set_)
        same = old is not None and old.fingerprint == run.data[set_].fingerprint
        return old.scores[NDCG] if old is not None and same else {}
    arms = [scores[set_, arm].scores[NDCG] for arm in ARMS if (set_, arm) in scores]
    return max(arms, key=lambda arm: sum(arm.values()), default={})


class _Texts:
    """Queries and documents of the run by id."""

    def __init__(self, folder: Path) -> None:
        data = folder / "relevance"
        self._queries = {(r["set"], r["query"]): r["text"] for r in rows(data / "queries.csv")}
        self._documents = {(r["set"], r["document"]): r for r in rows(data / "documents.csv")}
        self._relevant: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for row in rows(data / "judgments.csv"):
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
            self._queries[set_, query],
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


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by column."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
