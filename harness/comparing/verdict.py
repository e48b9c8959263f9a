"""The one sentence and the exit code a comparison ends with."""

from harness.comparing.speed import told
from harness.comparisons import ChangeRecord, CompareRecord
from harness.judging import SHOWN_REASON
from harness.verdicts import Outcome, Verdict, conclude


def concluded(record: CompareRecord) -> Verdict:
    """The verdict on a comparison; it names the stage to blame, and what could not be decided."""
    if record.status == "failed":
        return Verdict(outcome=Outcome.BROKEN, why=" ".join(record.message.split())[:SHOWN_REASON])
    if record.status == "partial":
        return Verdict(outcome=Outcome.BROKEN, why="interrupted")
    if record.kind == "runs" and not record.gates:
        return Verdict(outcome=Outcome.INCONCLUSIVE, why=_incomparable(record))
    found = conclude(record.standings, {"compare": "measured"})
    why = {
        Outcome.FAIL: _worse(record),
        Outcome.INCONCLUSIVE: f"{_incomparable(record) or found.why}{_open(record)}",
        Outcome.PASS: _same(record),
    }.get(found.outcome, found.why)
    return Verdict(outcome=found.outcome, why=why)


def _worse(record: CompareRecord) -> str:
    parts = []
    slower = [one for one in record.changes if one.standing == "fell"]
    if slower:
        first = [one for one in slower if one.series == record.blamed]
        rest = [one for one in slower if one.series != record.blamed]
        parts.append("slower: " + ", ".join(_slower(one) for one in [*first, *rest]))
    if fell := [gate for gate in record.gates if gate.standing == "fell"]:
        parts.append("less relevant: " + ", ".join(f"{one.id} {one.why}" for one in fell[:3]))
    return "; ".join(parts)


def _slower(one: ChangeRecord) -> str:
    if one.ratio is None or one.difference_ms is None:
        return f"{one.series}: {one.why}"
    return f"{one.series} {told(one.ratio, one.difference_ms)}"


def _same(record: CompareRecord) -> str:
    parts = []
    whole = next((one for one in record.changes if one.kind == "whole"), None)
    if whole is not None:
        stages = sum(one.kind == "stage" for one in record.changes)
        parts.append(f"not slower: {_slower(whole)} over {whole.n} pairs, {stages} stages")
    ndcg = [gate for gate in record.gates if gate.metric == "relevance.ndcg@10"]
    waived = [gate.id for gate in record.gates if gate.standing == "waived"]
    if ndcg and ndcg[0].value is not None:
        what = "relevance" if waived else "as relevant"
        parts.append(f"{what}: nDCG@10 {ndcg[0].value:+.4f} over {record.queries} queries")
    if waived:
        verb = "is" if len(waived) == 1 else "are"
        parts.append(f"{len(waived)} fell and {verb} waived: {', '.join(waived[:3])}")
    return "; ".join(parts) or "nothing fell"


def _incomparable(record: CompareRecord) -> str:
    """What stands in the way of comparing kept runs; empty where nothing does."""
    differing = [
        part.part for part in record.key if not part.same and part.about in ("relevance", "both")
    ]
    if differing:
        return f"not comparable: {', '.join(differing)} differ"
    if record.kind == "runs" and not record.gates:
        return "no relevance in both runs, and the speed of kept runs is shown, not judged"
    return ""


def _open(record: CompareRecord) -> str:
    """The first control that failed, and what only one build tells."""
    failed = [one.why for one in record.changes if one.kind == "control" and one.standing != "held"]
    untold = [
        f"{one.series}: {one.why}" for one in record.changes if one.standing == "not-comparable"
    ]
    return "".join(f"; {why}" for why in [*failed[:1], *untold[:3]])
