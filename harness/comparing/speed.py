"""From blocks to changes: what got slower beyond chance and beyond the limits, and what to blame.

slower         the corrected p is at most alpha, both the ratio and the difference are larger than
               the limits, and the ratio is so in each half of the sitting: a slower build is slower
               all the time, a neighbour on the machine comes and goes
inconclusive   not slower, but a change beyond both limits lies within the interval
held           anything else: no change that large, or it is faster
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from harness.comparing.blocks import BASE, CANDIDATE, RESPONSE, WHOLES, Block
from harness.comparisons import ChangeRecord
from harness.measures.pairs import Change, Limits, change, holm
from harness.verdicts import Standing

Kind = Literal["whole", "stage", "control"]
NEIGHBOURS, ORDER = "base against itself", "second block against first"
CONTROLS = {
    NEIGHBOURS: "the base differs from itself from pair to pair: the machine is too restless",
    ORDER: "whoever is asked second in a pair is told apart by that: something is remembered",
}
Pairs = Sequence[tuple[Block, Block]]
"""The (base, candidate) blocks of every whole pair."""


def paired(blocks: Sequence[Block]) -> list[tuple[Block, Block]]:
    """Whole pairs in order; an interrupted one is left out."""
    found: dict[int, dict[str, Block]] = {}
    for block in blocks:
        found.setdefault(block.pair, {})[block.build] = block
    return [(one[BASE], one[CANDIDATE]) for _, one in sorted(found.items()) if len(one) == 2]


def measured(
    found: Iterable[Block], limits: Limits, keep: Callable[[Block], None]
) -> list[ChangeRecord]:
    """The changes at the first look, or at the last where the first leaves something open.

    `found` has the blocks of the most pairs; those that are not needed are not asked for.
    """
    got: list[Block] = []
    for block in found:
        got.append(block)
        keep(block)
        if len(got) == 2 * limits.pairs:
            first = changes(paired(got), limits)
            if all(one.standing != "inconclusive" for one in first):
                return first
    return changes(paired(got), limits)


def changes(pairs: Pairs, limits: Limits) -> list[ChangeRecord]:
    """Every series and both controls, judged; where a control failed nothing counts as slower."""
    controls = _controls(pairs, limits.alpha_of_a_look)
    series = dict.fromkeys(name for pair in pairs for block in pair for name in block.middles_ms)
    parts = {
        name: change(
            name,
            [base.middles_ms.get(name, 0.0) for base, _ in pairs],
            [candidate.middles_ms.get(name, 0.0) for _, candidate in pairs],
            limits.alpha_of_a_look,
        )
        for name in series
    }
    corrected = holm({name: one.p for name, one in (controls | parts).items()})
    judged = [_control(one, corrected[name], limits) for name, one in controls.items()]
    restless = next((one.why for one in judged if one.standing != "held"), "")
    for name, one in parts.items():
        kind: Kind = "whole" if name in WHOLES else "stage"
        standing, why = _stands(one, corrected[name], _least_of_halves(pairs, name, limits), limits)
        if restless and standing == "fell":
            standing, why = "inconclusive", f"{why}; but {restless}"
        judged.append(_record(one, kind, corrected[name], standing, why))
    return judged


def _controls(pairs: Pairs, alpha: float) -> dict[str, Change]:
    def of(name: str, old: Sequence[float], new: Sequence[float]) -> Change:
        return change(name, old, new, alpha)

    bases = [base.middles_ms[RESPONSE] for base, _ in pairs]
    firsts = [_of_turn(pair, first=True) for pair in pairs]
    seconds = [_of_turn(pair, first=False) for pair in pairs]
    whole = len(bases) // 2 * 2
    return {
        NEIGHBOURS: of(NEIGHBOURS, bases[0:whole:2], bases[1:whole:2]),
        ORDER: of(ORDER, firsts, seconds),
    }


def _of_turn(pair: tuple[Block, Block], *, first: bool) -> float:
    return next(block.middles_ms[RESPONSE] for block in pair if block.first is first)


def _control(found: Change, p: float, limits: Limits) -> ChangeRecord:
    """A control fails by a change in either direction."""
    apart = max(found.ratio.value, 1 / found.ratio.value) >= 1 + limits.relative
    far = abs(found.difference_ms.value) >= limits.absolute_ms
    failed = p <= limits.alpha_of_a_look and apart and far
    standing: Standing = "inconclusive" if failed else "held"
    return _record(found, "control", p, standing, CONTROLS[found.series] if failed else "")


def _least_of_halves(pairs: Pairs, series: str, limits: Limits) -> float:
    """The smaller of the two ratios that the halves of the sitting give by themselves."""
    middle = len(pairs) // 2
    halves = (pairs[:middle], pairs[middle:])
    return min(
        change(
            series,
            [base.middles_ms.get(series, 0.0) for base, _ in half],
            [candidate.middles_ms.get(series, 0.0) for _, candidate in half],
            limits.alpha_of_a_look,
        ).ratio.value
        for half in halves
    )


def _stands(found: Change, p: float, least: float, limits: Limits) -> tuple[Standing, str]:
    most = 1 + limits.relative
    ratio, difference = found.ratio, found.difference_ms
    words = f"{told(found.ratio.value, found.difference_ms.value)}"
    beyond_chance = p <= limits.alpha_of_a_look
    if beyond_chance and ratio.value >= most and difference.value >= limits.absolute_ms:
        if least < most:
            return "inconclusive", f"{words}: not so in each half of the sitting"
        return "fell", f"{words}: slower beyond chance and beyond the limits"
    if ratio.high > most and difference.high > limits.absolute_ms:
        return "inconclusive", f"{words}: more than {limits.relative:.0%} cannot be ruled out"
    if beyond_chance and ratio.value > 1:
        return "held", f"{words}: slower, but within the limits"
    if beyond_chance and ratio.value < 1:
        return "held", f"{words}: faster"
    return "held", f"{words}: no change beyond chance"


def told(ratio: float, difference_ms: float) -> str:
    """A change in words: percent and milliseconds."""
    return f"{100 * (ratio - 1):+.1f} % ({difference_ms:+.2f} ms)"


def _record(found: Change, kind: Kind, p: float, standing: Standing, why: str) -> ChangeRecord:
    return ChangeRecord(
        series=found.series,
        kind=kind,
        n=found.pairs,
        base_ms=found.base_ms,
        candidate_ms=found.candidate_ms,
        ratio=found.ratio.value,
        ratio_low=found.ratio.low,
        ratio_high=found.ratio.high,
        difference_ms=found.difference_ms.value,
        difference_low=found.difference_ms.low,
        difference_high=found.difference_ms.high,
        p=found.p,
        p_corrected=p,
        standing=standing,
        why=why,
    )


def blamed(found: Sequence[ChangeRecord]) -> str:
    """The stage that got slower by most; the response itself where no stage explains it."""
    slower = [one for one in found if one.standing == "fell"]
    stages = [one for one in slower if one.kind == "stage"] or slower
    most: Callable[[ChangeRecord], float] = lambda one: one.difference_ms  # noqa: E731
    return max(stages, key=most).series if stages else ""


def by_series(found: Sequence[ChangeRecord]) -> Mapping[str, ChangeRecord]:
    """Changes by what they are of."""
    return {one.series: one for one in found}
