"""Relevance of two sides: the gates' own regression rules, the base in the baseline's place."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.comparisons import CompareRecord, MovedRecord
from harness.evidence import HYBRID, Baseline, BaselineSet, Evidence, SetScores
from harness.gates import LOST, Gate, judge
from harness.gates_file import GatesFile
from harness.judging import gate_record, waiver_record
from harness.results import Records
from harness.waivers import Waiver, waive

NDCG = "ndcg@10"
SHOWN = 100
Texts = Mapping[tuple[str, str], str]
"""(set, query) -> the query's text."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The default strategy's scores of both sides by set, the texts, and whose model made them."""

    base: Mapping[str, SetScores]
    candidate: Mapping[str, SetScores]
    texts: Texts
    models: tuple[str, str] = ("the same", "the same")


def judge_in(
    record: CompareRecord, sides: Sides, gates: GatesFile, given: Sequence[Waiver]
) -> None:
    """Judge every set of the base by paired bootstrap, waive what is waived, keep what moved."""
    # Whether the data is the same was settled before. A set without scores is missing.
    same = dict.fromkeys(sorted(sides.base), "the same")
    baseline = Baseline(
        "quick",
        sides.models[0],
        "base",
        {name: BaselineSet(same[name], one.scores, one.hits) for name, one in sides.base.items()},
    )
    evidence = Evidence(
        records=Records((), (), ()),
        profile="quick",
        suites=frozenset({"relevance"}),
        fingerprints=same,
        scores={(name, HYBRID): one for name, one in sides.candidate.items()},
        model=sides.models[1],
        baseline=baseline,
    )
    judged = judge(about_what_was(gates.gates), gates.groups, evidence)
    judged, states = waive(judged, given, dt.datetime.now(dt.UTC).date())
    record.gates = [gate_record(one) for one in judged]
    record.waivers = [waiver_record(one, state) for one, state in zip(given, states, strict=True)]
    record.queries = sum(len(one.hits) for name, one in sides.candidate.items() if name in same)
    moved = sorted(_moved(sides), key=lambda one: one.now - one.was)
    record.losses = [one for one in moved if one.now < one.was][:SHOWN]
    record.wins = [one for one in reversed(moved) if one.now > one.was][:SHOWN]


def about_what_was(gates: Sequence[Gate]) -> list[Gate]:
    """The gates about what was, without what they say about the value itself."""
    return [
        replace(gate, floor=None, best_of=(), profiles=("quick",))
        if gate.metric != LOST
        else replace(gate, profiles=("quick",))
        for gate in gates
        if gate.max_drop is not None or gate.no_significant_drop or gate.metric == LOST
    ]


def _moved(sides: Sides) -> list[MovedRecord]:
    base, candidate, texts = sides.base, sides.candidate, sides.texts
    return [
        MovedRecord(set=name, query=query, text=texts.get((name, query), ""), was=was, now=now)
        for name in sorted(base.keys() & candidate.keys())
        for query, now in sorted(candidate[name].scores[NDCG].items())
        if (was := base[name].scores[NDCG].get(query)) is not None and abs(was - now) > 1e-9
    ]
