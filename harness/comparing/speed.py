"""From blocks to changes: what got slower beyond chance and beyond the limits, and what to blame.

slower         the corrected p is at most alpha, both the ratio and the difference are larger than
               the limits, and the ratio is so in each half of the sitting: a slower build is slower
               all the time, a neighbour on the machine comes and goes
inconclusive   not slower, but a change beyond both limits lies within the interval
held           anything else: no change that large, or it is faster
not-comparable told by one build alone: a stage that is gone or new has no time to compare
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal

from harness.comparing.blocks import BASE, CANDIDATE, RESPONSE, WHOLES, Block
from harness.comparisons import ChangeRecord
from harness.measures.pairs import Change, Limits, change, holm
from harness.verdicts import Standing

Kind = Literal["whole", "stage", "control"]
NEIGHBOURS, ORDER = "base against itself", "second block against first"
OUT_OF_TURN = "whoever is asked second in a pair is told apart by that: something is remembered"
GONE = "stage gone: the base tells it, the candidate does not"
NEW = "new stage: the candidate tells it, the base does not"
RARE = "told in fewer than half of the blocks of either build; its time is in the mean"
MOST = 0.5
"""Share of its blocks in which a build must tell a series for it to be one of its own."""
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
    series = dict.fromkeys(name for pair in pairs for block in pair for name in block.middles_ms)
    untold = {name: why for name in series if (why := _untold(pairs, name))}
    alpha = limits.alpha_of_a_look
    parts = {name: _change(_telling(pairs, name), name, alpha) for name in series.keys() - untold}
    order = _order(pairs, alpha)
    corrected = holm({ORDER: order.p} | {name: one.p for name, one in parts.items()})
    restless, turned = _restless(pairs, limits), _ordered(order, corrected[ORDER], limits)
    judged = [restless, turned]
    for name in series:
        kind = _kind(name)
        if name in untold:
            judged.append(_not_judged(pairs, name, kind, untold[name]))
            continue
        one = parts[name]
        least = _least_of_halves(_telling(pairs, name), name, alpha)
        standing, why = _stands(one, corrected[name], least, limits)
        if standing == "fell" and (doubt := _doubt(one, restless, turned, limits)):
            standing, why = "inconclusive", f"{why}; but {doubt}"
        judged.append(_record(one, kind, corrected[name], standing, why))
    return judged


def _kind(series: str) -> Kind:
    return "whole" if series in WHOLES else "stage"


def _change(pairs: Pairs, series: str, alpha: float) -> Change:
    old = [base.middles_ms[series] for base, _ in pairs]
    new = [candidate.middles_ms[series] for _, candidate in pairs]
    return change(series, old, new, alpha)


# A series is judged where both builds tell it.


def _telling(pairs: Pairs, series: str) -> Pairs:
    """The pairs both of whose blocks tell a series."""
    return [pair for pair in pairs if all(series in block.middles_ms for block in pair)]


def _untold(pairs: Pairs, series: str) -> str:
    """Why a series cannot be judged; empty where it can."""
    bases, candidates = (
        sum(series in pair[side].middles_ms for pair in pairs) >= MOST * len(pairs)
        for side in (0, 1)
    )
    if bases != candidates:
        return GONE if bases else NEW
    # Told by most of both, and still seldom by both at once.
    if not bases or len(_telling(pairs, series)) < max(2, MOST * MOST * len(pairs)):
        return RARE
    return ""


def _not_judged(pairs: Pairs, series: str, kind: Kind, why: str) -> ChangeRecord:
    old = [base.middles_ms[series] for base, _ in pairs if series in base.middles_ms]
    new = [one.middles_ms[series] for _, one in pairs if series in one.middles_ms]
    return ChangeRecord(
        series=series,
        kind=kind,
        n=len(_telling(pairs, series)),
        base_ms=median(old) if old and why != NEW else None,
        candidate_ms=median(new) if new and why != GONE else None,
        standing="not-applicable" if why == RARE else "not-comparable",
        why=why,
    )


# The controls.


def _restless(pairs: Pairs, limits: Limits) -> ChangeRecord:
    """Whether the base keeps so still from block to block that such limits can be told at all.

    The middle of neighbouring blocks' ratios is 1 whatever the machine does; what is looked at is
    the width of its interval: half of it is what two equal builds could seem to differ by.
    """
    bases = [base.middles_ms[RESPONSE] for base, _ in pairs]
    neighbours = list(pairwise(bases))
    found = change(
        NEIGHBOURS,
        [one for one, _ in neighbours],
        [other for _, other in neighbours],
        limits.alpha_of_a_look,
    )
    ratio, difference = found.ratio, found.difference_ms
    spread = math.sqrt(ratio.high / ratio.low) - 1
    far = (difference.high - difference.low) / 2 > limits.absolute_ms
    failed = spread > limits.relative and far
    why = (
        f"the base differs from itself by up to {spread:.0%} from block to block, more than the "
        f"{limits.relative:.0%} that is looked for: the machine is too restless"
    )
    # Neighbours share a block: they make no test, so there is no p.
    return _record(found, "control", None, *_stood(failed, why))


def _stood(failed: bool, why: str) -> tuple[Standing, str]:
    return ("inconclusive", why) if failed else ("held", "")


def _order(pairs: Pairs, alpha: float) -> Change:
    firsts = [_of_turn(pair, first=True) for pair in pairs]
    return change(ORDER, firsts, [_of_turn(pair, first=False) for pair in pairs], alpha)


def _ordered(found: Change, p: float, limits: Limits) -> ChangeRecord:
    """Fails by a change in either direction."""
    apart = max(found.ratio.value, 1 / found.ratio.value) >= 1 + limits.relative
    far = abs(found.difference_ms.value) >= limits.absolute_ms
    failed = p <= limits.alpha_of_a_look and apart and far
    return _record(found, "control", p, *_stood(failed, OUT_OF_TURN))


def _doubt(found: Change, restless: ChangeRecord, turned: ChangeRecord, limits: Limits) -> str:
    """The failed control that a slower series is not beyond; empty where there is none.

    Where the whole interval is beyond the limit, a restless machine has not made the difference.
    """
    if turned.standing != "held":
        return turned.why
    return restless.why if found.ratio.low < 1 + limits.relative else ""


def _of_turn(pair: tuple[Block, Block], *, first: bool) -> float:
    return next(block.middles_ms[RESPONSE] for block in pair if block.first is first)


def _least_of_halves(pairs: Pairs, series: str, alpha: float) -> float:
    """The smaller of the two ratios that the halves of the sitting give by themselves."""
    half = len(pairs) // 2
    found = [_change(one, series, alpha) for one in (pairs[:half], pairs[half:]) if len(one) > 1]
    return min(one.ratio.value for one in found)


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


def _record(
    found: Change, kind: Kind, p: float | None, standing: Standing, why: str
) -> ChangeRecord:
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
        p=None if p is None else found.p,
        p_corrected=p,
        standing=standing,
        why=why,
    )


def blamed(found: Sequence[ChangeRecord]) -> str:
    """The stage that got slower by most; the response itself where no stage explains it."""
    slower = [one for one in found if one.standing == "fell"]
    stages = [one for one in slower if one.kind == "stage"] or slower
    return max(stages, key=lambda one: one.difference_ms or 0.0).series if stages else ""
