"""What the report says about gates: one row a gate and standing, the worst first."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from harness.runs import GateRecord
from harness.verdicts import Standing

WORST_FIRST: tuple[Standing, ...] = (
    "fell",
    "missing",
    "not-comparable",
    "inconclusive",
    "waived",
    "held",
    "not-applicable",
)


@dataclass(frozen=True, slots=True)
class Group:
    """The rules of one gate that stand the same way; `reasons` are (why, of which sets)."""

    standing: Standing
    title: str
    id: str
    reasons: tuple[tuple[str, str], ...]


def groups(gates: Sequence[GateRecord]) -> list[Group]:
    """Gates by standing and title; rules with the same reason are one line."""
    found: defaultdict[tuple[Standing, str], list[GateRecord]] = defaultdict(list)
    for gate in gates:
        found[gate.standing, gate.title].append(gate)
    made = [_group(standing, title, of) for (standing, title), of in found.items()]
    return sorted(made, key=lambda group: WORST_FIRST.index(group.standing))


def _group(standing: Standing, title: str, of: Sequence[GateRecord]) -> Group:
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for gate in of:
        reasons[gate.why].append(", ".join(filter(None, (gate.set, gate.variant))))
    # One gate is named whole, several by what they have in common.
    id_ = of[0].id if len(of) == 1 else _common([gate.id for gate in of])
    lines = [(why, _places(places)) for why, places in reasons.items()]
    return Group(standing, title, id_, tuple(lines))


def _places(places: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(places)) if len(places) <= 4 else f"all {len(places)} of them"


def _common(ids: Sequence[str]) -> str:
    start = ids[0]
    while not all(id_.startswith(start) for id_ in ids):
        start = start[:-1]
    return start.rstrip("-/") + " …"
