"""A run in a few plain sentences, for whoever has ten seconds: the page's top, and `summary.md`'s.

What fell comes first, then what is open and what to do about it, then what was measured.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from harness.report.gate_view import groups
from harness.report.moved_view import MovedView
from harness.results import Records, Result
from harness.runs import GateRecord, RunRecord

SHOWN_GATES = 6
GATE_SUITES = ("contract", "relevance", "load", "resilience")
SIGNS = {"good": "✓", "bad": "✗", "open": "?", "off": "–", "fact": "•"}
SAID = {"good": "good", "bad": "bad", "open": "open", "off": "not looked at", "fact": "measured"}
"""What a sign says to those who do not see it."""

WAIVED = "waived"
USUAL_LOADS: tuple[str, ...] = ("open", "closed")
"""The load profiles a reader is told of first; of others the first there is."""

OPEN = ("missing", "not-comparable", "inconclusive")
ADVICE = {
    "missing": "Nothing was measured: look at the suite's log in logs/, mend it, run the suite "
    "again.",
    "not-comparable": "The baseline is of other data or another model: where that is meant, accept "
    "a run of now by `cortex-harness baseline accept RUN --reason …`.",
    "never": "Look at the faults: where one has no recovery, the stack was not whole again by "
    "itself.",
    "load": "Run `cortex-harness load` again on a machine that does nothing else.",
    "queries": "More judged queries make it certain: use `--profile full`, or add sets by "
    "CORTEX_EVAL_SETS.",
    "else": "Run the suite again; use `--profile full` where it was quick.",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence; `tone` is one of `SIGNS`, `anchor` the part of the page with more.

    `word` is how a gate stands; `text` may hold `code` in backticks, and so may `advice`.
    """

    tone: str
    title: str
    text: str
    anchor: str
    word: str = ""
    advice: str = ""

    @property
    def sign(self) -> str:
        """Its tone for the eye."""
        return SIGNS[self.tone]

    @property
    def said(self) -> str:
        """Its tone in a word."""
        return SAID[self.tone]


def lines(run: RunRecord, records: Records, moved: MovedView | None) -> list[Line]:
    """All sentences, what stands in a release's way first."""
    found = [*_gates(run), *_figures(run, records, moved)]
    left = left_out(run)
    if run.gates and left:
        text = f"this run says nothing about {', '.join(left)}."
        found.append(Line("off", "Not looked at", text, "provenance"))
    return found


def left_out(run: RunRecord) -> list[str]:
    """The suites of a release's gate that were not part of the run."""
    return [name for name in GATE_SUITES if name not in run.suites]


def _gates(run: RunRecord) -> Iterator[Line]:
    by_standing: defaultdict[str, list[GateRecord]] = defaultdict(list)
    for gate in run.gates:
        by_standing[gate.standing].append(gate)
    yield from _listed("bad", "fell", by_standing["fell"])
    for standing in OPEN:
        yield from _listed("open", standing.replace("-", " "), by_standing[standing])
    yield from _listed("open", "fell, and is waived", by_standing[WAIVED])


def _listed(tone: str, word: str, gates: list[GateRecord]) -> Iterator[Line]:
    """A line for each title; what is beyond is only counted."""
    grouped = groups(gates)
    for group in grouped[:SHOWN_GATES]:
        own = [gate for gate in gates if gate.title == group.title]
        places = [place for gate in own if (place := _place(gate))]
        where = f"{places[0]}: " if places else ""
        others = f"; {len(own) - 1} more such" if len(own) > 1 else ""
        text = f"{where}{own[0].why}{_by_how_much(own[0])}{others}"
        yield Line(tone, group.title, text, "gates", word, _advice(own[0]))
    if (more := len(grouped) - SHOWN_GATES) > 0:
        yield Line(tone, f"{more} more", "see the gates", "gates", word)


def _by_how_much(gate: GateRecord) -> str:
    """How far a value is beyond its limit, with its interval; comparisons say it themselves."""
    if gate.standing != "fell" or gate.value is None or gate.limit is None:
        return ""
    if gate.rule not in ("floor", "ceiling"):
        return ""
    interval = ""
    if gate.low is not None and gate.high is not None:
        interval = f", 95 % interval {gate.low:.4g} to {gate.high:.4g}"
    return f", by {abs(gate.value - gate.limit):.3g}{interval}"


def _place(gate: GateRecord) -> str:
    return ", ".join(filter(None, (gate.set, gate.variant)))


def _advice(gate: GateRecord) -> str:
    """What to do about a gate that is open; what fell needs no hint from us."""
    if gate.standing not in OPEN:
        return ""
    if gate.standing == "missing" and gate.metric == "resilience.recovery":
        return ADVICE["never"]
    if gate.standing != "inconclusive":
        return ADVICE[gate.standing]
    if gate.metric.startswith("load."):
        return ADVICE["load"]
    return ADVICE["queries" if gate.metric.startswith("relevance.") else "else"]


def _figures(run: RunRecord, records: Records, moved: MovedView | None) -> Iterator[Line]:
    yield from _quality(run, records, moved)
    yield from _speed(records)
    yield from _faults(records)
    yield from _contract(records)


def _quality(run: RunRecord, records: Records, moved: MovedView | None) -> Iterator[Line]:
    found = records.find("relevance.ndcg@10", "all", "hybrid")
    if found is None:
        return
    sets = f"{len(run.data)} sets of questions" if len(run.data) > 1 else "one set of questions"
    interval = "" if found.low is None else f", 95 % interval {found.low:.3f} to {found.high:.3f}"
    text = f"{found.value:.3f} of 1 over {sets} (nDCG@10, n {found.n}{interval})."
    if moved is not None and moved.is_baseline:
        lost, won = moved.counts
        text += (
            f" Against the last accepted run {lost} questions are answered worse, {won} better"
            f" ({moved.mean:+.3f} on average)."
            if lost or won
            else _unmoved(moved, found)
        )
    yield Line("fact", "Search quality", text, "relevance")


def _unmoved(moved: MovedView, found: Result) -> str:
    """That nothing moved; questions of a set the last accepted run lacks were not compared."""
    new = (found.n or 0) - moved.compared
    if new <= 0:
        return " Every question scores as in the last accepted run."
    return f" Every question of the last accepted run scores as it did; {new} more are new."


def _speed(records: Records) -> Iterator[Line]:
    invalid = {one.variant: one.note for one in records.results if one.name == "load.invalid"}
    known = [name for name in USUAL_LOADS if name in invalid]
    for name in known or list(invalid):
        p50, p95 = (records.find(f"load.response.{q}", "", name) for q in ("p50", "p95"))
        rate = records.find("load.throughput", "", name)
        if p50 is None or p95 is None or rate is None:
            continue
        text = (
            f"half of the calls are answered within {p50.value:.0f} ms and 95 of 100 within "
            f"{p95.value:.0f} ms, at {rate.value:.0f} calls a second (load profile {name}, "
            f"n {p95.n})."
        )
        if invalid[name]:
            yield Line(
                "open", "Speed is not known", f"{invalid[name]}.", "load", "", ADVICE["load"]
            )
        else:
            yield Line("fact", "Speed", text.capitalize(), "load")
        break
    for knee in (one for one in records.results if one.name == "load.knee"):
        headroom = records.find("load.headroom", "", knee.variant)
        times = f", {headroom.value:.1f} times the expected rate" if headroom else ""
        text = f"up to {knee.value:.0f} calls a second are served whole{times}."
        yield Line("fact", "Room to grow", text.capitalize(), "load")


def _faults(records: Records) -> Iterator[Line]:
    def total(name: str) -> Result | None:
        return records.find(f"resilience.{name}")

    faults, writes, lost = total("faults"), total("writes"), total("lost-writes")
    if faults is None or writes is None or lost is None:
        return
    recovery, strays, unreported = total("recovery"), total("strays"), total("unreported")
    text = f"{faults.value:.0f} faults under load; of {writes.value:.0f} acknowledged writes "
    text += "none was lost" if not lost.value else f"{lost.value:.0f} were lost or wrong"
    if recovery is not None:
        text += f"; the longest wait until all worked again was {recovery.value:.1f} s"
    else:
        text += "; after one it did not all work again"
    if strays is not None and strays.value:
        text += f"; processes left behind: {strays.value:.0f}"
    if unreported is not None and unreported.value:
        text += f"; failures that looked like success: {unreported.value:.0f}"
    failures = total("failures")
    tone = "bad" if recovery is None or (failures is not None and failures.value) else "good"
    yield Line(tone, "Faults", f"{text}.", "resilience")


def _contract(records: Records) -> Iterator[Line]:
    cases, failures = records.find("contract.cases"), records.find("contract.failures")
    skipped = records.find("contract.skipped")
    if cases is None or failures is None:
        return
    text = f"{cases.value:.0f} checks of what the services promise, {failures.value:.0f} failed"
    if skipped is not None and skipped.value:
        text += f", {skipped.value:.0f} could not run here"
    tone = "bad" if failures.value else "good"
    yield Line(tone, "Behaviour", f"{text}.", "contract")
