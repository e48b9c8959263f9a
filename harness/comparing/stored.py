"""`compare RUN RUN`: two kept runs, each kind of figure compared only where its key is the same.

Speed is shown with its intervals and never judged: two runs made at different times differ by
more than most regressions, however alike the machine. `compare --base` judges it.
"""

import csv
import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness import comparisons, environment, gates_file, results, score_tables, waivers
from harness.comparing import key, outputs, relevance, verdict
from harness.comparing.running import utc
from harness.comparisons import FILE, ChangeRecord, CompareRecord, SideRecord
from harness.errors import UsageMistake
from harness.evidence import HYBRID, SetScores
from harness.measures.plans import File, Plans, flips
from harness.results import Records, Result
from harness.runs import RunFolder, RunRecord
from harness.verdicts import Verdict

QUANTILES = ("p50", "p90", "p95", "p99")
NOT_JUDGED = "shown, not judged: the runs were made at different times; use compare --base"


def compare(
    base: Path, candidate: Path, evals: Path, out: Path, command: tuple[str, ...]
) -> tuple[RunFolder, Verdict]:
    """Compare, judge, write everything; a folder that is no run is a mistake."""
    old, new = _run(base), _run(candidate)
    gates = gates_file.read(evals / "gates.toml")
    now = dt.datetime.now(dt.UTC)
    folder = RunFolder.create(out, environment.revision(), now)
    before, after = _hybrid(base), _hybrid(candidate)
    record = CompareRecord(
        id=folder.path.name,
        kind="runs",
        status="complete",
        started_at=utc(now),
        ended_at=utc(now),
        command=list(command),
        base=_side(old),
        candidate=_side(new),
        machine=environment.machine(),
        packages=environment.packages(),
        key=list(key.of_runs(old, new, (before, after))),
    )
    shared = key.shared(old, new)
    record.data = {name: new.data[name] for name in shared}
    if before and not key.differing(record, "relevance"):
        sides = relevance.Sides(before, after, {**_texts(base), **_texts(candidate)})
        relevance.judge_in(record, sides, gates, waivers.read_for(evals, gates, shared))
    if different := key.differing(record, "speed"):
        record.notes.append(f"speed is not shown: {_standing_apart(record, different)}")
    else:
        record.changes = list(_speed(results.read(base), results.read(candidate)))
        if record.changes:
            record.notes.append(f"speed is {NOT_JUDGED}")
    record.notes += _flips(base, candidate)
    ended = verdict.concluded(record)
    record.conclude(ended)
    comparisons.save(folder, record)
    outputs.write(folder, record)
    return folder, ended


def _run(folder: Path) -> RunRecord:
    if (folder / FILE).exists() and not (folder / "run.json").exists():
        raise UsageMistake(f"{folder}: is a comparison, not a run folder")
    return RunFolder(folder).load()


def _side(run: RunRecord) -> SideRecord:
    return SideRecord(name=run.id, revision=run.revision, dirty=run.dirty, stack=run.stack)


# What is compared.


def _hybrid(run: Path) -> dict[str, SetScores]:
    found = score_tables.read(run).items()
    return {set_: one for (set_, variant), one in found if variant == HYBRID}


def _standing_apart(record: CompareRecord, parts: list[str]) -> str:
    """Which parts differ, and which nobody recorded."""
    unknown = [one.part for one in record.key if one.part in parts and one.base == one.candidate]
    differ = [part for part in parts if part not in unknown]
    told = [f"{', '.join(differ)} differ"] if differ else []
    return "; ".join([*told, *([f"{', '.join(unknown)} not recorded"] if unknown else [])])


def _flips(base: Path, candidate: Path) -> list[str]:
    """Statements planned otherwise than in the base's run, by load profile."""
    try:
        old, new = _plans(base), _plans(candidate)
    except ValueError as err:
        return [f"plans are not compared: {' '.join(str(err).split())[:200]}"]
    return [
        f"plan flip, {profile}: {told}"
        for profile, plans in new.items()
        if profile in old
        for told in flips(old[profile], plans)
    ]


def _plans(run: Path) -> dict[str, Plans]:
    path = run / "load" / "plans.json"
    return File.model_validate_json(path.read_bytes()).profiles if path.exists() else {}


def _texts(run: Path) -> Mapping[tuple[str, str], str]:
    path = run / "relevance" / "queries.csv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {(row["set"], row["query"]): row["text"] for row in csv.DictReader(lines)}


def _speed(old: Records, new: Records) -> Iterator[ChangeRecord]:
    """Quantiles and stages of every load profile both runs have."""
    names = {f"load.response.{quantile}" for quantile in QUANTILES} | {"load.stage.mean"}
    for before in old.results:
        after = new.find(before.name, before.set, before.variant, before.part)
        if before.name in names and after is not None and before.value > 0:
            yield _shown(before, after)


def _shown(before: Result, after: Result) -> ChangeRecord:
    what = f"{before.part}, mean" if before.part else before.name.rpartition("response.")[2]
    return ChangeRecord(
        series=f"{before.variant}: {what}",
        kind="shown",
        n=min(before.n or 0, after.n or 0),
        base_ms=before.value,
        candidate_ms=after.value,
        base_low=before.low,
        base_high=before.high,
        candidate_low=after.low,
        candidate_high=after.high,
        ratio=after.value / before.value,
        difference_ms=after.value - before.value,
        standing="not-applicable",
    )
