"""Query plans: what makes two of them the same, what changed between two runs, in words.

A plan's fingerprint is made of its nodes, in their places, with the relations and indexes they read
and how they join: no costs, no row counts, no constants. A statement is known by its text, since
its number in Postgres is not the same in two databases.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pydantic

SCHEMA = "cortex.plans/1"
Tree = dict[str, Any]
"""A node of Postgres' `EXPLAIN (FORMAT JSON)`, its children under `Plans`."""

_IDENTITY = ("Node Type", "Join Type", "Strategy", "Relation Name", "Index Name", "CTE Name")
_DROPPED = frozenset({"Output", "Schema", "Parallel Aware", "Async Capable", "Disabled"})


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")


class Execution(_Shape):
    """One execution of a plan: how long it took in ms, and the tree with its figures."""

    took_ms: float
    tree: Tree


class Plan(_Shape):
    """One plan of a statement: how often it was seen, the slowest time and a fixed one."""

    fingerprint: str
    seen: int
    slowest: Execution
    sample: Execution


class Planned(_Shape):
    """A statement with its plans, the most frequent one first."""

    key: str
    text: str
    plans: list[Plan]

    @property
    def name(self) -> str:
        """The beginning of its text, to be told by."""
        return named(self.text)


class Plans(_Shape):
    """The plans of one load run's statements, or why there are none."""

    unavailable: str = ""
    calls: int = 0
    statements: list[Planned] = []


class File(_Shape):
    """`load/plans.json`: plans by load profile."""

    schema_: Literal["cortex.plans/1"] = pydantic.Field(default="cortex.plans/1", alias="schema")
    profiles: dict[str, Plans]


def named(text: str, longest: int = 64) -> str:
    """A statement's text in one line, cut to be a name."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest].rstrip()} …"


def key_of(text: str) -> str:
    """What a statement is known by from one run to the next."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]


def fingerprint(tree: Tree) -> str:
    """The same for two plans that do the same in the same way, whatever it costs them."""
    return hashlib.sha256(json.dumps(_identity(tree)).encode()).hexdigest()[:12]


def _identity(tree: Tree) -> list[Any]:
    return [[tree.get(name) for name in _IDENTITY], [_identity(c) for c in tree.get("Plans", ())]]


def gathered(
    seen: Sequence[tuple[int, str, float, Tree]], texts: Mapping[int, str]
) -> list[Planned]:
    """Statements with their plans from (query id, text, ms, tree) in the order they ran.

    `texts` are the statements without their constants, as the statistics know them.
    """
    by_text: dict[str, dict[str, list[Execution]]] = {}
    for queryid, text, took_ms, tree in seen:
        kept = Execution(took_ms=took_ms, tree=_trimmed(tree))
        plans = by_text.setdefault(texts.get(queryid, text), {})
        plans.setdefault(fingerprint(tree), []).append(kept)
    found = [
        Planned(key=key_of(text), text=text, plans=sorted(map(_plan, plans.values()), key=_order))
        for text, plans in by_text.items()
    ]
    return sorted(found, key=lambda one: -sum(p.slowest.took_ms for p in one.plans))


def _order(plan: Plan) -> tuple[int, str]:
    return (-plan.seen, plan.fingerprint)


def _plan(runs: Sequence[Execution]) -> Plan:
    mark = fingerprint(runs[0].tree)
    slowest = max(runs, key=lambda run: run.took_ms)
    # The one in the middle of the run: chosen by its place, so not by how long it took.
    return Plan(fingerprint=mark, seen=len(runs), slowest=slowest, sample=runs[len(runs) // 2])


def _trimmed(tree: Tree) -> Tree:
    """Without what no reader looks at: zeros of buffers, lists of columns."""
    kept = {
        name: value
        for name, value in tree.items()
        if name not in _DROPPED and not (name.endswith("Blocks") and value == 0)
    }
    if "Plans" in tree:
        kept["Plans"] = [_trimmed(child) for child in tree["Plans"]]
    return kept


def flips(old: Plans, new: Plans) -> list[str]:
    """What changed between two runs' plans, in words; a plan that both had is no change."""
    before = {one.key: one for one in old.statements}
    told = []
    for one in new.statements:
        was = before.get(one.key)
        if was is None:
            continue
        known = {plan.fingerprint for plan in was.plans}
        told += [
            f"{one.name}: {changed(was.plans[0].slowest.tree, plan.slowest.tree)}"
            for plan in one.plans
            if plan.fingerprint not in known
        ]
    return told


def flips_within(plans: Plans) -> list[str]:
    """Statements that had two plans and more in one run, in words."""
    return [
        f"{one.name}: {changed(one.plans[0].slowest.tree, other.slowest.tree)} "
        f"({one.plans[0].seen} and {other.seen} times)"
        for one in plans.statements
        for other in one.plans[1:]
    ]


def changed(old: Tree, new: Tree) -> str:
    """How the second plan differs from the first, as `old → new`."""
    was, now = [label(node) for node in _nodes(old)], [label(node) for node in _nodes(new)]
    gone, come = _without(was, now), _without(now, was)
    if not gone and not come:
        return f"{' > '.join(was)} → the same steps in another order"
    return f"{', '.join(gone) or 'nothing'} → {', '.join(come) or 'nothing'}"


def _without(some: Sequence[str], others: Sequence[str]) -> list[str]:
    left = list(others)
    kept = []
    for one in some:
        if one in left:
            left.remove(one)
        else:
            kept.append(one)
    return kept


def _nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree.get("Plans", ()):
        yield from _nodes(child)


def label(node: Tree) -> str:
    """A node in a line as Postgres' own text has it, such as `Index Scan using i on t`."""
    words = str(node.get("Node Type", "?"))
    if (join := node.get("Join Type")) and join != "Inner":
        words += f" {join}"
    if node.get("Strategy") not in (None, "Plain"):
        words = f"{node['Strategy']} {words}"
    if index := node.get("Index Name"):
        words += f" using {index}"
    place = node.get("Relation Name") or node.get("CTE Name") or node.get("Function Name")
    return f"{words} on {place}" if place else words


_CONDITIONS = ("Index Cond", "Recheck Cond", "Hash Cond", "Merge Cond", "Join Filter", "Filter")
_LONGEST_CONDITION = 160


def lines(tree: Tree, depth: int = 0) -> Iterator[str]:
    """A plan as indented text: node, time of all its loops in ms, rows, loops, pages."""
    loops = int(tree.get("Actual Loops", 1))
    facts = []
    if "Actual Total Time" in tree:
        facts.append(f"{tree['Actual Total Time'] * max(loops, 1):.3f} ms")
    if "Actual Rows" in tree:
        facts.append(f"{tree['Actual Rows']:g} rows (planned {tree.get('Plan Rows', 0)})")
    if loops != 1:
        facts.append(f"{loops} loops" if loops else "never run")
    hit, read = (tree.get(f"Shared {what} Blocks", 0) for what in ("Hit", "Read"))
    if hit or read:
        facts.append(f"pages {hit} hit" + (f", {read} read" if read else ""))
    indent = "  " * depth
    yield f"{indent}{label(tree)}  [{'; '.join(facts)}]" if facts else indent + label(tree)
    for name in _CONDITIONS:
        if name in tree:
            yield f"{indent}    {name}: {str(tree[name])[:_LONGEST_CONDITION]}"
    for child in tree.get("Plans", ()):
        yield from lines(child, depth + 1)
