"""Judges a run folder: reads its records, holds them against gates and baseline, keeps verdicts."""

import datetime as dt
from pathlib import Path

from harness import baselines, results, score_tables, waivers
from harness.evidence import Baseline, Evidence
from harness.gates import Judgement, judge
from harness.gates_file import GatesFile
from harness.runs import (
    BaselineRecord,
    GateRecord,
    LossRecord,
    RunFolder,
    RunRecord,
    WaiverRecord,
)
from harness.verdicts import Outcome, Verdict, conclude
from harness.waivers import Waiver

HEADLINE_SETS = ("all", "")
SHOWN_REASON = 400
MOST_FAILED = 0.01
"""Share of failed searches above which a profile is one of failures."""


def judge_run(folder: RunFolder, run: RunRecord, gates: GatesFile, evals: Path) -> Verdict:
    """The verdict on a run; gates, baseline, figures and verdict are set in `run`, not saved."""
    records = results.read(folder.path)
    path = baselines.path_of(evals, run.profile)
    # Another server is no regression of ours.
    baseline = None if run.adapter else baselines.read(path)
    if baseline is not None:
        # What the report compares with stays with the run, whatever is accepted later.
        folder.write("baseline.json", path.read_text(encoding="utf-8"))
    evidence = Evidence(
        records=records,
        profile=run.profile,
        suites=frozenset(run.suites),
        fingerprints={name: one.fingerprint for name, one in run.data.items()},
        scores=score_tables.read(folder.path),
        model=run.stack.model if run.stack else "unknown",
        strategies=not run.adapter and (run.stack.owned if run.stack else True),
        says_nothing=not run.adapter,
        baseline=baseline,
        required=run.sets_required,
    )
    # A stack that never came up leaves nothing to judge; that is said once, not a gate at a time.
    judged = judge(gates.gates, gates.groups, evidence) if run.stack else []
    given = waivers.read_for(evals, gates, [*run.data, *run.left_out])
    judged, states = waivers.waive(judged, given, dt.datetime.now(dt.UTC).date())
    run.waivers = [waiver_record(one, state) for one, state in zip(given, states, strict=True)]
    run.gates = [gate_record(judgement) for judgement in judged]
    run.gates_file, run.gates_checksum = gates.path.name, gates.checksum
    run.baseline = _baseline(path, baseline, run, judged)
    run.figures = {
        "/".join(filter(None, one.key)): one.value
        for one in records.results
        if one.set in HEADLINE_SETS and not one.part
    }
    standings = {judgement.id: judgement.standing for judgement in judged}
    verdict = conclude(standings, run.suite_states)
    if verdict.outcome in (Outcome.BROKEN, Outcome.EMPTY):
        verdict = _with_reason(verdict, run)
    run.conclude(verdict)
    return verdict


def profiled(folder: RunFolder, run: RunRecord) -> Verdict:
    """The verdict on a profile, which is held against nothing: whether it was measured."""
    verdict = conclude({}, run.suite_states)
    if verdict.outcome in (Outcome.BROKEN, Outcome.EMPTY):
        verdict = _with_reason(verdict, run)
    else:
        verdict = _measured(results.read(folder.path))
    run.conclude(verdict)
    return verdict


def _measured(records: results.Records) -> Verdict:
    """A profile that was measured, in one sentence; what could not be had is in it."""
    by_name = {one.name: one for one in records.results if not one.part}
    invalid, p50 = by_name.get("load.invalid"), by_name.get("load.service.p50")
    failed = by_name.get("load.error-rate")
    if p50 is None or invalid is None or failed is None:
        return Verdict(outcome=Outcome.EMPTY, why="nothing was measured")
    if invalid.value:
        return Verdict(outcome=Outcome.INCONCLUSIVE, why=f"it does not count: {invalid.note}")
    if failed.value > MOST_FAILED:
        share = f"{failed.value:.1%} of the searches failed"
        return Verdict(outcome=Outcome.INCONCLUSIVE, why=f"it does not count: {share}")
    stages = [one for one in records.results if one.name == "load.stage.waited"]
    longest = max(stages, key=lambda one: one.value, default=None)
    why = f"measured: a search takes {p50.value:.1f} ms from when it is sent, median of {p50.n}"
    if longest is not None:
        why += f"; the longest wait is {longest.part}, {longest.value:.1f} ms on average"
    if missing := [one.name for one in records.failures if one.name.startswith("flame ")]:
        why += f"; without {' and '.join(missing)}"
    return Verdict(outcome=Outcome.PASS, why=why)


def _with_reason(verdict: Verdict, run: RunRecord) -> Verdict:
    """The first suite's own words, so that the last line says what to do."""
    words = [suite.message for suite in run.suites.values() if suite.message]
    if not words:
        return verdict
    reason = " ".join(words[0].split())[:SHOWN_REASON]
    return Verdict(outcome=verdict.outcome, why=f"{verdict.why}: {reason}")


def gate_record(judgement: Judgement) -> GateRecord:
    """A judgement as a run keeps it."""
    return GateRecord(
        id=judgement.id,
        title=judgement.gate.title,
        metric=judgement.gate.metric,
        set=judgement.set,
        variant=judgement.gate.variant,
        rule=judgement.rule,
        standing=judgement.standing,
        why=judgement.why,
        value=judgement.value,
        limit=judgement.limit,
        low=judgement.low,
        high=judgement.high,
        n=judgement.n,
        losses=[
            LossRecord(set=loss.set, query=loss.query, was=loss.was, now=loss.now)
            for loss in judgement.losses
        ],
    )


def waiver_record(waiver: Waiver, state: waivers.State) -> WaiverRecord:
    """A waiver as a run keeps it, and what became of it."""
    return WaiverRecord(
        gate=waiver.gate,
        set=waiver.set,
        reason=waiver.reason,
        until=str(waiver.until),
        by=waiver.by,
        state=state,
    )


def _baseline(
    path: Path, baseline: Baseline | None, run: RunRecord, judged: list[Judgement]
) -> BaselineRecord:
    if run.adapter:
        note = f"{run.adapter} is not what the baseline is of: only floors were judged"
        return BaselineRecord(state="unused", file=path.name, note=note)
    if baseline is None:
        note = "there is no baseline of this profile yet: only floors were judged"
        return BaselineRecord(state="absent", file=path.name, note=note)
    if run.stack is None or "relevance" not in run.suites:
        return BaselineRecord(state="unused", file=path.name, revision=baseline.revision)
    if baseline.model != run.stack.model:
        note = f"baseline of {baseline.model}, run of {run.stack.model}"
        state = BaselineRecord(state="other-model", file=path.name, note=note)
    elif any(one.standing == "not-comparable" for one in judged):
        state = BaselineRecord(state="other-data", file=path.name, note="see the gates")
    else:
        state = BaselineRecord(state="compared", file=path.name)
    state.revision = baseline.revision
    return state
