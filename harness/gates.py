"""Results and limits in, verdicts out: pure, no files, no clock.

A gate has one or several rules; each rule is judged by itself, on each set it names:

floor, ceiling        the value itself, or its ratio to another metric of the same run (`over`)
best_of               not worse than the best of other strategies, less `slack`
max_drop              the macro mean against the baseline: it falls when the 95 % interval of the
                      paired differences is whole below zero and reaches below -max_drop; when it
                      reaches below -max_drop and includes zero, it is inconclusive
no_significant_drop   one set against the baseline: it falls when the interval is whole below zero
                      and the drop is at least `least_drop`: four queries that each lose a place,
                      and none that wins one, are beyond chance and of no account
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.evidence import HYBRID, BaselineSet, Evidence, SetScores
from harness.measures.significance import Interval, macro_interval, paired
from harness.results import Result
from harness.verdicts import Standing

ALL, EACH = "all", "each"
SHOWN_LOSSES = 10
LOST = "relevance.lost-queries"
OVER_FLOOR = "load.over-floor"
NOTHING = ("relevance.nothing-found", "relevance.nothing-false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One `[[gate]]` of `gates.toml`; the fields are its keys."""

    id: str
    title: str
    metric: str
    set: str = ""
    variant: str = ""
    part: str = ""
    profiles: tuple[str, ...] = ("quick", "full")
    floor: float | None = None
    ceiling: float | None = None
    beyond: Literal["fell", "inconclusive"] = "fell"
    over: str = ""
    over_variant: str = ""
    best_of: tuple[str, ...] = ()
    slack: float = 0.0
    max_drop: float | None = None
    no_significant_drop: bool = False
    least_drop: float = 0.0
    min_n: int = 0

    @property
    def suite(self) -> str:
        """The suite that measures the metric."""
        return self.metric.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Loss:
    """A query that scores less than it did, or than another strategy does."""

    set: str
    query: str
    was: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How one rule of a gate stands on one set."""

    gate: Gate
    rule: str
    set: str
    standing: Standing
    why: str
    value: float | None = None
    limit: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    losses: tuple[Loss, ...] = ()

    @property
    def id(self) -> str:
        """The rule's name in verdicts: gate, set where there is one, rule."""
        return "/".join(filter(None, (self.gate.id, self.set, self.rule)))


def judge(
    gates: Sequence[Gate], groups: Mapping[str, Sequence[str]], evidence: Evidence
) -> list[Judgement]:
    """Every rule of every gate of the suites that ran, in the gates' order."""
    return [
        judgement
        for gate in gates
        if gate.suite in evidence.suites and evidence.profile in gate.profiles
        for set_ in _sets(gate, evidence)
        for judgement in _Judge(gate, set_, groups, evidence).judge()
    ]


def _sets(gate: Gate, evidence: Evidence) -> list[str]:
    if gate.set != EACH:
        return [gate.set]
    return sorted(evidence.fingerprints) or [EACH]


@dataclass(frozen=True, slots=True)
class _Measured:
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None


class _Judge:
    """One gate on one set."""

    def __init__(
        self, gate: Gate, set_: str, groups: Mapping[str, Sequence[str]], evidence: Evidence
    ) -> None:
        self._gate, self._set, self._evidence = gate, set_, evidence
        self._members = list(groups[set_]) if set_ in groups else None

    def judge(self) -> Iterator[Judgement]:
        gate = self._gate
        if gate.metric == LOST:
            yield self._lost()
            return
        relevance = gate.suite == "relevance"
        if not self._evidence.strategies and relevance and self._needs_strategies():
            why = "other strategies are started of the product's own server, on the run's own stack"
            yield self._as("strategies", "not-applicable", why)
            return
        if not self._evidence.strategies and gate.metric == OVER_FLOOR:
            yield self._as("ratio", "not-applicable", "bare SQL is asked on the run's own stack")
            return
        if not self._evidence.says_nothing and gate.metric in NOTHING:
            why = "an adapter cannot say that nothing is relevant"
            yield self._as("present", "not-applicable", why)
            return
        if absent := self._absent():
            standing: Standing = "missing" if self._evidence.required else "not-applicable"
            yield self._as("present", standing, f"set not present: {', '.join(absent)}")
            return
        if gate.floor is not None or gate.ceiling is not None:
            yield self._absolute()
        if gate.best_of:
            yield self._best_of()
        if gate.max_drop is not None or gate.no_significant_drop:
            yield self._regression()

    def _needs_strategies(self) -> bool:
        return self._gate.variant not in ("", HYBRID) or bool(self._gate.best_of)

    def _absent(self) -> list[str]:
        there = self._evidence.fingerprints
        if self._members is not None:
            return [name for name in self._members if name not in there]
        named = self._set not in ("", ALL, EACH)
        return [self._set] if named and self._set not in there else []

    # The rules.

    def _absolute(self) -> Judgement:
        gate = self._gate
        rule = "ratio" if gate.over else "floor" if gate.floor is not None else "ceiling"
        found = self._ratio() if gate.over else self._measured(gate.metric, gate.variant)
        if found is None:
            return self._missing(rule)
        if too_few := self._too_few(rule, found):
            return too_few
        limit = gate.floor if gate.floor is not None else gate.ceiling
        below = gate.floor is not None and found.value < gate.floor
        above = gate.ceiling is not None and found.value > gate.ceiling
        words = f"{_number(found.value)}{_counted(found.n)}"
        if below:
            return self._with(
                rule, gate.beyond, f"{words} is below {_number(gate.floor)}", found, limit
            )
        if above:
            why = f"{words} is above {_number(gate.ceiling)}{self._note()}"
            return self._with(rule, gate.beyond, why, found, gate.ceiling)
        kept = "at least" if gate.floor is not None else "at most"
        return self._with(rule, "held", f"{words}; {kept} {_number(limit)}", found, limit)

    def _best_of(self) -> Judgement:
        gate = self._gate
        own = self._measured(gate.metric, gate.variant)
        others = {name: self._measured(gate.metric, name) for name in gate.best_of}
        found = {name: one for name, one in others.items() if one is not None}
        if own is None or len(found) < len(others):
            return self._missing("best-of")
        best = max(found, key=lambda name: found[name].value)
        limit = found[best].value - gate.slack
        words = f"{_number(own.value)}{_counted(own.n)}"
        against = f"{best} {_number(found[best].value)} less {_number(gate.slack)}"
        if own.value < limit:
            losses = self._losses_to(best)
            return self._with("best-of", "fell", f"{words} is below {against}", own, limit, losses)
        return self._with("best-of", "held", f"{words}; at least {against}", own, limit)

    def _regression(self) -> Judgement:
        gate, evidence = self._gate, self._evidence
        rule = "no-drop" if gate.no_significant_drop else "max-drop"
        if evidence.baseline is None:
            return self._as(rule, "not-applicable", "no baseline yet; only floors are judged")
        if evidence.baseline.model != evidence.model:
            why = f"baseline is of model {evidence.baseline.model}, this run of {evidence.model}"
            return self._as(rule, "not-comparable", why)
        shared = self._shared()
        if not shared:
            return self._as(rule, "not-applicable", "the baseline does not have this set yet")
        if changed := [name for name, old in shared.items() if self._differs(name, old)]:
            why = f"the baseline was measured on other data of {', '.join(changed)}"
            return self._as(rule, "not-comparable", why)
        if any(self._new(name) is None for name in shared):
            return self._missing(rule)
        return self._compared(rule, shared)

    def _compared(self, rule: str, shared: Mapping[str, BaselineSet]) -> Judgement:
        metric = self._gate.metric.partition(".")[2]
        strata, losses = [], []
        for name, old in shared.items():
            new = self._new(name)
            assert new is not None
            if metric not in new.scores or metric not in old.scores:
                why = f"{name}: there are no {metric} of each query to compare"
                return self._as(rule, "not-comparable", why)
            if new.scores[metric].keys() != old.scores[metric].keys():
                why = f"{name}: the baseline has other queries than this run"
                return self._as(rule, "not-comparable", why)
            strata.append(paired(new.scores[metric], old.scores[metric]))
            losses += _losses(name, old.scores[metric], new.scores[metric])
        found = macro_interval(strata)
        limit = -(self._gate.max_drop or 0.0)
        standing, why = _drop(found, limit, self._gate)
        shown = tuple(sorted(losses, key=_worst_first)[:SHOWN_LOSSES])
        measured = _Measured(found.mean, found.low, found.high, found.n)
        if standing == "held" and (too_few := self._too_few(rule, measured)):
            return too_few
        return self._with(rule, standing, why, measured, limit, shown)

    def _lost(self) -> Judgement:
        """Queries that had hits in the baseline and have none now."""
        rule = "ceiling"
        if self._evidence.baseline is None:
            return self._as(rule, "not-applicable", "no baseline yet; only floors are judged")
        lost = []
        for name, old in self._shared().items():
            new = self._new(name)
            if new is None:
                return self._missing(rule)
            lost += [
                Loss(name, query, 1.0, 0.0)
                for query, count in new.hits.items()
                if count == 0 and old.hits.get(query, 0) > 0
            ]
        found = _Measured(float(len(lost)))
        limit = self._gate.ceiling or 0.0
        if len(lost) > limit:
            why = f"{len(lost)} queries lost all their hits"
            return self._with(rule, "fell", why, found, limit, tuple(lost[:SHOWN_LOSSES]))
        return self._with(rule, "held", "no query lost all its hits", found, limit)

    # What the rules look at.

    def _measured(self, metric: str, variant: str) -> _Measured | None:
        """A metric's value here; of a group, the mean over its sets."""
        find = self._evidence.records.find
        if self._members is None:
            one = find(metric, self._set, variant, self._gate.part)
            return _Measured(one.value, one.low, one.high, one.n) if one else None
        found = [find(metric, name, variant, self._gate.part) for name in self._members]
        results = [one for one in found if isinstance(one, Result)]
        if not results or len(results) < len(found):
            return None
        mean = sum(one.value for one in results) / len(results)
        return _Measured(mean, n=sum(one.n or 0 for one in results))

    def _ratio(self) -> _Measured | None:
        gate = self._gate
        top = self._measured(gate.metric, gate.variant)
        bottom = self._measured(gate.over, gate.over_variant)
        if top is None or bottom is None or bottom.value <= 0:
            return None
        smaller = min((n for n in (top.n, bottom.n) if n is not None), default=None)
        return _Measured(top.value / bottom.value, n=smaller)

    def _note(self) -> str:
        one = self._evidence.records.find(
            self._gate.metric, self._set, self._gate.variant, self._gate.part
        )
        return f": {one.note}" if one and one.note else ""

    def _shared(self) -> dict[str, BaselineSet]:
        """The baseline's sets this gate looks at, as far as the run has them."""
        assert self._evidence.baseline is not None
        wanted = self._members or (
            list(self._evidence.fingerprints) if self._set in (ALL, EACH) else [self._set]
        )
        sets = self._evidence.baseline.sets
        return {name: sets[name] for name in sorted(wanted) if name in sets}

    def _differs(self, name: str, old: BaselineSet) -> bool:
        return self._evidence.fingerprints.get(name) != old.fingerprint

    def _new(self, name: str) -> SetScores | None:
        return self._evidence.scores.get((name, self._gate.variant or HYBRID))

    def _losses_to(self, other: str) -> tuple[Loss, ...]:
        metric, losses = self._gate.metric.partition(".")[2], []
        for name in self._members or [self._set]:
            ours, theirs = self._new(name), self._evidence.scores.get((name, other))
            if ours and theirs and metric in ours.scores and metric in theirs.scores:
                losses += _losses(name, theirs.scores[metric], ours.scores[metric])
        return tuple(sorted(losses, key=_worst_first)[:SHOWN_LOSSES])

    # How a judgement is made.

    def _too_few(self, rule: str, found: _Measured) -> Judgement | None:
        if self._gate.min_n and (found.n or 0) < self._gate.min_n:
            why = f"n is {found.n or 0}; {self._gate.min_n} are needed"
            return self._with(rule, "inconclusive", why, found, None)
        return None

    def _missing(self, rule: str) -> Judgement:
        # A probe that never ran must not look like one that passed.
        return self._as(rule, "missing", "not measured; did its probe run?")

    def _as(self, rule: str, standing: Standing, why: str) -> Judgement:
        return Judgement(gate=self._gate, rule=rule, set=self._set, standing=standing, why=why)

    def _with(
        self,
        rule: str,
        standing: Standing,
        why: str,
        found: _Measured,
        limit: float | None,
        losses: tuple[Loss, ...] = (),
    ) -> Judgement:
        return Judgement(
            gate=self._gate,
            rule=rule,
            set=self._set,
            standing=standing,
            why=why,
            value=found.value,
            limit=limit,
            low=found.low,
            high=found.high,
            n=found.n,
            losses=losses,
        )


def _drop(found: Interval, limit: float, gate: Gate) -> tuple[Standing, str]:
    """How a paired difference stands against a limit below zero."""
    words = f"{found.mean:+.4f} [{found.low:+.4f}, {found.high:+.4f}] over {found.n} queries"
    if gate.no_significant_drop and found.high < 0:
        if found.mean > -gate.least_drop:
            return "held", f"{words}: lower beyond chance, but by less than {gate.least_drop:.3f}"
        return "fell", f"{words}: lower than the baseline, beyond chance"
    if gate.no_significant_drop:
        return "held", f"{words}: no drop beyond chance"
    if found.high < 0 and found.low < limit:
        return "fell", f"{words}: lower than the baseline, and by more than {limit:+.3f} may be"
    if found.low < limit:
        return "inconclusive", f"{words}: a drop beyond {limit:+.3f} cannot be ruled out"
    if found.high < 0:
        return "held", f"{words}: lower, but within {limit:+.3f}"
    return "held", f"{words}: no drop beyond {limit:+.3f}"


def _losses(set_: str, was: Mapping[str, float], now: Mapping[str, float]) -> list[Loss]:
    return [
        Loss(set_, query, was[query], now[query])
        for query in now
        if query in was and now[query] < was[query] - 1e-9
    ]


def _worst_first(loss: Loss) -> tuple[float, str, str]:
    return (loss.now - loss.was, loss.set, loss.query)


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:.0f}" if float(value).is_integer() and abs(value) >= 2 else f"{value:.4g}"


def _counted(n: int | None) -> str:
    return f" (n {n})" if n else ""
