"""The committed baseline of each profile: per-query scores, and what they were measured on."""

import json
from pathlib import Path

import pydantic

from harness import misfits, score_tables
from harness.errors import UsageMistake
from harness.evidence import HYBRID, Baseline, BaselineSet, SetScores
from harness.runs import GateRecord, RunFolder, RunRecord

SCHEMA = "cortex.baseline/1"
HEADLINE = "ndcg@10"


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


class _SetFile(_Shape):
    fingerprint: str
    checksum: str
    rule: str
    documents: int
    queries: int
    scores: dict[str, dict[str, float]]
    hits: dict[str, int]


class _File(_Shape):
    schema_: str = pydantic.Field(alias="schema")
    profile: str
    reason: str
    run: str
    revision: str
    model: str
    packages: dict[str, str]
    versions: dict[str, str]
    sets: dict[str, _SetFile]


def path_of(evals: Path, profile: str) -> Path:
    """Where a profile's baseline is kept."""
    return evals / "baselines" / f"{profile}.json"


def read(path: Path) -> Baseline | None:
    """The baseline in a file; None where there is none yet."""
    found = _read(path)
    if found is None:
        return None
    sets = {
        name: BaselineSet(one.fingerprint, one.scores, one.hits) for name, one in found.sets.items()
    }
    return Baseline(found.profile, found.model, found.revision, sets)


def _read(path: Path) -> _File | None:
    if not path.exists():
        return None
    try:
        found = _File.model_validate_json(path.read_bytes())
    except OSError as err:
        raise UsageMistake(f"{path}: cannot be read ({err.strerror})") from err
    except pydantic.ValidationError as err:
        misfit = misfits.first(err)
        raise UsageMistake(f"{path}: {misfit.place}: {misfit.why}; accept a baseline anew") from err
    if found.schema_ != SCHEMA:
        raise UsageMistake(f"{path}: schema is {found.schema_!r}; this harness reads {SCHEMA}")
    for name, one in found.sets.items():
        if HEADLINE not in one.scores:
            raise UsageMistake(f"{path}: sets.{name}: has no {HEADLINE}; accept a baseline anew")
    return found


def accept(folder: RunFolder, evals: Path, reason: str) -> list[str]:
    """Make a run's scores the baseline; gives what changed, a line a set."""
    run = folder.load()
    path = path_of(evals, run.profile)
    scores = {
        set_: found
        for (set_, variant), found in score_tables.read(folder.path).items()
        if variant == HYBRID
    }
    old = _read(path)
    _refuse(run, scores, old)
    assert run.stack is not None
    new = _File(
        schema=SCHEMA,
        profile=run.profile,
        reason=reason,
        run=run.id,
        revision=run.revision,
        model=run.stack.model,
        packages=run.packages,
        versions=run.stack.versions,
        sets={name: _set_file(run, name, found) for name, found in scores.items()},
    )
    text = json.dumps(new.model_dump(by_alias=True), indent=1, sort_keys=True, ensure_ascii=False)
    RunFolder(path.parent).write(path.name, text + "\n")
    return [_changed(name, one, old) for name, one in sorted(new.sets.items())]


def _set_file(run: RunRecord, name: str, found: SetScores) -> _SetFile:
    data = run.data[name]
    return _SetFile(
        fingerprint=data.fingerprint,
        checksum=data.checksum,
        rule=data.rule,
        documents=data.documents,
        queries=data.queries,
        scores={metric: dict(values) for metric, values in found.scores.items()},
        hits=dict(found.hits),
    )


def _refuse(run: RunRecord, scores: dict[str, SetScores], old: _File | None) -> None:
    """Only a whole, clean run that stands on its own may become what others are measured by."""
    if run.status != "complete":
        raise UsageMistake(
            f"run {run.id} is {run.status}; only a complete run becomes the baseline"
        )
    if run.adapter:
        raise UsageMistake(
            f"run {run.id} is of the adapter {run.adapter}; the baseline is the product's own"
        )
    if run.dirty:
        raise UsageMistake(f"run {run.id} is of uncommitted changes; commit them and run again")
    if open_ := [gate for gate in run.gates if _stands_in_the_way(gate)]:
        names = ", ".join(gate.id for gate in open_[:5])
        raise UsageMistake(f"run {run.id} does not hold by itself: {names}")
    if run.stack is None or not scores:
        raise UsageMistake(f"run {run.id} has no relevance scores; run the relevance suite")
    if lacking := sorted(run.data.keys() - scores.keys()):
        raise UsageMistake(f"run {run.id} has no scores of {', '.join(lacking)}")
    if old and (gone := sorted(old.sets.keys() - scores.keys())):
        raise UsageMistake(
            f"run {run.id} lacks {', '.join(gone)}, which the baseline has; run with these sets, "
            "or remove the baseline's file first"
        )


def _stands_in_the_way(gate: GateRecord) -> bool:
    """A gate against the old baseline may be open: replacing that is what accepting is for."""
    relative = gate.rule in ("max-drop", "no-drop") or gate.metric == "relevance.lost-queries"
    return gate.standing not in ("held", "not-applicable") and not relative


def _changed(name: str, new: _SetFile, old: _File | None) -> str:
    def mean(of: _SetFile) -> float:
        values = of.scores[HEADLINE].values()
        return sum(values) / len(values)

    before = old.sets.get(name) if old else None
    was = f"{mean(before):.4f}" if before else "none"
    same = "same data" if before and before.fingerprint == new.fingerprint else "new data"
    return f"{name}: nDCG@10 {was} -> {mean(new):.4f} over {new.queries} queries, {same}"
