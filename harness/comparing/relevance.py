"""Relevance of two sides: the gates' own regression rules, the base in the baseline's place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.comparisons import MovedRecord
from harness.evidence import HYBRID, Baseline, BaselineSet, Evidence, SetScores
from harness.gates import LOST, Gate, judge
from harness.gates_file import GatesFile
from harness.judging import gate_record
from harness.results import Records
from harness.runs import GateRecord

NDCG = "ndcg@10"
SHOWN = 100
Texts = Mapping[tuple[str, str], str]
"""(set, query) -> the query's text."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How relevance stands by each gate, over how many queries, and which of them moved."""

    gates: list[GateRecord]
    queries: int
    losses: list[MovedRecord]
    wins: list[MovedRecord]


def compared(
    base: Mapping[str, SetScores],
    candidate: Mapping[str, SetScores],
    gates: GatesFile,
    texts: Texts,
) -> Compared:
    """Both sides' default strategy on the sets both have, by paired bootstrap."""
    sets = sorted(base.keys() & candidate.keys())
    # Whether the data is the same was settled before; here it is the sets both have.
    same = dict.fromkeys(sets, "the same")
    baseline = Baseline(
        "quick",
        "the same",
        "base",
        {name: BaselineSet(same[name], base[name].scores, base[name].hits) for name in sets},
    )
    evidence = Evidence(
        records=Records((), (), ()),
        profile="quick",
        suites=frozenset({"relevance"}),
        fingerprints=same,
        scores={(name, HYBRID): candidate[name] for name in sets},
        model="the same",
        baseline=baseline,
    )
    judged = judge(about_what_was(gates.gates), gates.groups, evidence)
    moved = sorted(_moved(base, candidate, sets, texts), key=lambda one: one.now - one.was)
    return Compared(
        [gate_record(one) for one in judged],
        sum(len(candidate[name].hits) for name in sets),
        [one for one in moved if one.now < one.was][:SHOWN],
        [one for one in reversed(moved) if one.now > one.was][:SHOWN],
    )


def about_what_was(gates: Sequence[Gate]) -> list[Gate]:
    """The gates about what was, without what they say about the value itself."""
    return [
        replace(gate, floor=None, best_of=(), profiles=("quick",))
        if gate.metric != LOST
        else replace(gate, profiles=("quick",))
        for gate in gates
        if gate.max_drop is not None or gate.no_significant_drop or gate.metric == LOST
    ]


def _moved(
    base: Mapping[str, SetScores],
    candidate: Mapping[str, SetScores],
    sets: Sequence[str],
    texts: Texts,
) -> list[MovedRecord]:
    return [
        MovedRecord(set=name, query=query, text=texts.get((name, query), ""), was=was, now=now)
        for name in sets
        for query, now in sorted(candidate[name].scores[NDCG].items())
        if (was := base[name].scores[NDCG].get(query)) is not None and abs(was - now) > 1e-9
    ]
