"""Whether scores can be trusted: is a high one right, and is nothing said where nothing is?"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.evalsets.records import EvalSet
from harness.measures.calibration import bins, separation, thresholds
from harness.probes.asking import Asked, ask
from harness.probes.relevance.passes import HYBRID, Pass
from harness.probes.relevance.scoring import failures, result, share
from harness.results import Record
from harness.runs import csv_text

if TYPE_CHECKING:
    from harness.suites import Context


def measure(context: "Context", found: EvalSet, hybrid: Pass) -> Iterator[Record]:
    """How first scores separate right from wrong, and queries with an answer from those without."""
    if hybrid.errors:
        return
    right = [_is_right(found, one) for one in hybrid.asked]
    first = [_first_score(one) for one in hybrid.asked]
    rows = [
        (f"{one.low:.1f}", f"{one.high:.1f}", one.n, f"{one.mean:.6f}", one.right)
        for one in bins(first, right)
    ]
    header = ["low", "high", "queries", "mean", "right"]
    context.folder.write(f"relevance/scores-{found.name}.csv", csv_text(header, rows))
    if any(right) and not all(right):
        value = separation(
            [score for score, claim in zip(first, right, strict=True) if claim],
            [score for score, claim in zip(first, right, strict=True) if not claim],
        )
        name = "relevance.score-separation"
        yield result(name, value, found.name, HYBRID.name, n=len(first))
    if found.unanswerable:
        yield from _unanswerable(context, found, hybrid)


def _unanswerable(context: "Context", found: EvalSet, hybrid: Pass) -> Iterator[Record]:
    loaded = context.bench.load(found)
    with context.bench.servers(loaded.database_url, [HYBRID]) as (client,):
        asked = ask(client, loaded, found.unanswerable, f"{found.name}, without an answer")
    if failed := [one for one in asked if one.error]:
        yield from failures(failed, "query without an answer", found.name, HYBRID.name)
        return
    if context.bench.says_nothing:
        told, false = _nothing(asked), _nothing(hybrid.asked)
        yield share("relevance.nothing-found", told, found.name, HYBRID.name)
        yield share("relevance.nothing-false", false, found.name, HYBRID.name)
    answered = [_first_score(one) for one in hybrid.asked]
    without = [_first_score(one) for one in asked]
    value = separation(answered, without)
    n = len(asked) + len(answered)
    yield result("relevance.nothing-separation", value, found.name, HYBRID.name, n=n)
    rows = [
        (f"{one.least:.6f}", f"{one.quiet:.6f}", f"{one.lost:.6f}")
        for one in thresholds(answered, without)
    ]
    header = ["least", "quiet", "lost"]
    context.folder.write(f"relevance/least-scores-{found.name}.csv", csv_text(header, rows))


def _nothing(asked: Sequence[Asked]) -> list[bool]:
    return [one.nothing_relevant for one in asked]


def _first_score(one: Asked) -> float:
    """The best hit's score; no hit is no score at all."""
    return one.scores[0] if one.scores else 0.0


def _is_right(found: EvalSet, one: Asked) -> bool:
    """Whether the first hit was judged relevant."""
    grades = found.judgments.get(one.query.id, {})
    return bool(one.documents) and grades.get(one.documents[0], 0) > 0
