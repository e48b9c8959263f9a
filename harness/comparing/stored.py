"""`compare RUN RUN`: two kept runs, each kind of figure compared only where its key is the same.

Speed is shown with its intervals and never judged: two runs made at different times differ by
more than most regressions, however alike the machine. `compare --base` judges it.
"""

import csv
import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from harness import comparisons, environment, gates_file, results, score_tables
from harness.comparing import outputs, relevance, verdict
from harness.comparing.running import utc
from harness.comparisons import FILE, ChangeRecord, CompareRecord, KeyPart, SideRecord
from harness.errors import UsageMistake
from harness.evidence import HYBRID, SetScores
from harness.results import Records, Result
from harness.runs import RunFolder, RunRecord
from harness.verdicts import Verdict

QUANTILES = ("p50", "p90", "p95", "p99")
MACHINE = ("system", "processor", "cores", "memory")
UNKNOWN = "not recorded"
NOT_JUDGED = "shown, not judged: the runs were made at different times; use compare --base"
About = Literal["relevance", "speed", "both"]


def compare(
    base: Path, candidate: Path, evals: Path, out: Path, command: tuple[str, ...]
) -> tuple[RunFolder, Verdict]:
    """Compare, judge, write everything; a folder that is no run is a mistake."""
    old, new = _run(base), _run(candidate)
    gates = gates_file.read(evals / "gates.toml")
    now = dt.datetime.now(dt.UTC)
    folder = RunFolder.create(out, environment.revision(), now)
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
        key=[*_key(old, new), *_data(old, new)],
    )
    shared = _shared(old, new)
    record.data = {name: new.data[name] for name in shared}
    if not _differs(record, "relevance"):
        before, after = _hybrid(base, shared), _hybrid(candidate, shared)
        if before.keys() & after.keys():
            texts = {**_texts(base), **_texts(candidate)}
            compared = relevance.compared(before, after, gates, texts)
            record.gates, record.queries = compared.gates, compared.queries
            record.losses, record.wins = compared.losses, compared.wins
    if different := _differs(record, "speed"):
        record.notes.append(f"speed is not shown: {', '.join(different)} differ")
    else:
        record.changes = list(_speed(results.read(base), results.read(candidate)))
        if record.changes:
            record.notes.append(f"speed is {NOT_JUDGED}")
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


# What makes two runs comparable.


def _key(old: RunRecord, new: RunRecord) -> Iterator[KeyPart]:
    """Every part but the data, as each run has it."""
    parts: list[tuple[str, About, str, str]] = [
        ("status", "both", old.status, new.status),
        ("profile", "both", old.profile, new.profile),
        ("server", "both", old.adapter or "the product's", new.adapter or "the product's"),
        ("model", "both", _of_stack(old, "model"), _of_stack(new, "model")),
        ("index parameters", "both", _indexes(old), _indexes(new)),
        ("metrics library", "relevance", _package(old), _package(new)),
        ("runtime", "speed", _of_stack(old, "runtime"), _of_stack(new, "runtime")),
        ("Postgres and pgvector", "speed", _database(old), _database(new)),
        ("Postgres settings", "speed", _settings(old), _settings(new)),
        ("load profiles", "speed", _profiles(old), _profiles(new)),
        ("machine", "speed", _machine(old), _machine(new)),
    ]
    for part, about, before, after in parts:
        # Two partial runs are alike, and still nothing to compare.
        same = before == after and (part != "status" or before == "complete")
        yield KeyPart(part=part, about=about, base=before, candidate=after, same=same)


def _data(old: RunRecord, new: RunRecord) -> Iterator[KeyPart]:
    """The eval sets both runs have, by what they were read from; and that there is one."""
    shared = _shared(old, new)
    yield KeyPart(
        part="eval sets",
        about="both",
        base=", ".join(sorted(old.data)) or "none",
        candidate=", ".join(sorted(new.data)) or "none",
        # A set that only one run has is left out, and seen here.
        same=bool(shared),
    )
    for name in shared:
        before, after = old.data[name].fingerprint, new.data[name].fingerprint
        yield KeyPart(
            part=f"data of {name}",
            about="both",
            base=before[:16],
            candidate=after[:16],
            same=before == after,
        )


def _shared(old: RunRecord, new: RunRecord) -> list[str]:
    return sorted(old.data.keys() & new.data.keys())


def _differs(record: CompareRecord, about: About) -> list[str]:
    return [one.part for one in record.key if not one.same and one.about in (about, "both")]


def _of_stack(run: RunRecord, field: str) -> str:
    return str(getattr(run.stack, field)) if run.stack else UNKNOWN


def _indexes(run: RunRecord) -> str:
    """How each vector index is defined; on a stack whose database is out of reach, unknown."""
    found = run.stack.indexes if run.stack else {}
    return "; ".join(_parameters(one) for _, one in sorted(found.items())) or UNKNOWN


def _parameters(definition: str) -> str:
    return definition.partition(" ON ")[2] or definition


def _database(run: RunRecord) -> str:
    versions = run.stack.versions if run.stack else {}
    return f"{versions.get('postgres', UNKNOWN)}, {versions.get('pgvector', UNKNOWN)}"


def _settings(run: RunRecord) -> str:
    found = run.stack.settings if run.stack else {}
    return ", ".join(f"{name}={value}" for name, value in sorted(found.items())) or UNKNOWN


def _package(run: RunRecord) -> str:
    names = ("ir-measures", "pytrec-eval-terrier")
    return ", ".join(f"{name} {run.packages.get(name, UNKNOWN)}" for name in names)


def _profiles(run: RunRecord) -> str:
    found = sorted(run.load_profiles.items())
    return ", ".join(f"{name} {digest[:12]}" for name, digest in found) or UNKNOWN


def _machine(run: RunRecord) -> str:
    return ", ".join(run.machine.get(name, UNKNOWN) for name in MACHINE)


# What is compared.


def _hybrid(run: Path, sets: list[str]) -> dict[str, SetScores]:
    found = score_tables.read(run).items()
    return {set_: one for (set_, variant), one in found if variant == HYBRID and set_ in sets}


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
