"""The run folder: `run.json` (schema cortex.run/1) and the files beside it, written whole."""

import csv
import datetime as dt
import io
import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pydantic

from harness import misfits, results
from harness.environment import Revision
from harness.errors import HarnessError, UsageMistake
from harness.evalsets.records import EvalSet
from harness.results import Record
from harness.verdicts import Outcome, Standing, SuiteState, Verdict

SCHEMA = "cortex.run/1"


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


class SuiteRecord(_Shape):
    """How one suite ended."""

    state: SuiteState
    records: int = 0
    took_s: float = 0.0
    message: str = ""


class SetRecord(_Shape):
    """The data of one eval set: what makes its scores comparable with another run's."""

    fingerprint: str
    checksum: str
    documents: int
    queries: int
    source: str
    rule: str

    @classmethod
    def of(cls, found: EvalSet) -> "SetRecord":
        """The record of a set that was read."""
        return cls(
            fingerprint=found.fingerprint,
            checksum=found.checksum,
            documents=len(found.documents),
            queries=len(found.queries),
            source=found.source,
            rule=found.rule,
        )


class LossRecord(_Shape):
    """One query that a gate's judgement points at."""

    set: str
    query: str
    was: float
    now: float


class GateRecord(_Shape):
    """How one gate stands, with the numbers it was judged on."""

    id: str
    title: str
    metric: str
    set: str = ""
    variant: str = ""
    rule: str
    standing: Standing
    why: str
    value: float | None = None
    limit: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    losses: list[LossRecord] = []


class WaiverRecord(_Shape):
    """A gate that may have fallen until a day, and whether that was needed."""

    gate: str
    set: str
    reason: str
    until: str
    by: str
    state: Literal["used", "ended", "not needed"]


class VerdictRecord(_Shape):
    """The verdict as printed; `exit_code` is the command's."""

    word: str
    exit_code: int
    line: str


class BaselineRecord(_Shape):
    """Which baseline a run was judged against; `state` says why there is none."""

    state: Literal["compared", "absent", "other-model", "other-data", "unused"]
    file: str = ""
    revision: str = ""
    note: str = ""


class StackRecord(_Shape):
    """The stack that was measured; `indexes` are its vector indexes, as they are defined."""

    name: str
    runtime: str
    profile: str
    revision: str
    owned: bool
    model: str
    versions: dict[str, str]
    indexes: dict[str, str] = {}
    settings: dict[str, str] = {}


class RunRecord(_Shape):
    """Everything about a run but its measurements, which are in `results.jsonl`."""

    schema_: Literal["cortex.run/1"] = pydantic.Field(default="cortex.run/1", alias="schema")
    id: str
    status: Literal["partial", "complete", "failed"]
    started_at: str
    ended_at: str = ""
    revision: str
    dirty: bool
    profile: Literal["quick", "full"]
    command: list[str] = []
    seed: int
    stack: StackRecord | None = None
    machine: dict[str, str] = {}
    packages: dict[str, str] = {}
    data: dict[str, SetRecord] = {}
    left_out: dict[str, str] = {}
    adapter: str = ""
    sets_required: bool = False
    load_profiles: dict[str, str] = {}
    suites: dict[str, SuiteRecord] = {}
    figures: dict[str, float] = {}
    gates_file: str = ""
    gates_checksum: str = ""
    gates: list[GateRecord] = []
    waivers: list[WaiverRecord] = []
    baseline: BaselineRecord | None = None
    verdict: VerdictRecord | None = None

    @property
    def suite_states(self) -> dict[str, SuiteState]:
        """How each suite ended."""
        return {name: suite.state for name, suite in self.suites.items()}

    def conclude(self, verdict: Verdict) -> None:
        """Keep a verdict."""
        self.verdict = VerdictRecord(
            word=verdict.outcome.name, exit_code=verdict.outcome.value, line=verdict.line
        )

    def concluded(self) -> Verdict:
        """The verdict the run ended with; a run that was killed has none and is an error."""
        if self.verdict is None:
            return Verdict(outcome=Outcome.BROKEN, why="the run did not reach a verdict")
        why = self.verdict.line.partition("): ")[2]
        return Verdict(outcome=Outcome(self.verdict.exit_code), why=why)


class RunFolder:
    """One folder of `reports/runs/`; each file is whole or not there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, out: Path, revision: Revision, now: dt.datetime) -> "RunFolder":
        """A new folder named after the time and the revision."""
        stem = f"{now:%Y%m%dT%H%M%SZ}-{revision.name}"
        for suffix in ("", f"-{secrets.token_hex(2)}"):
            path = out / (stem + suffix)
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as err:
                raise UsageMistake(f"{path}: cannot be made ({err.strerror})") from err
            return cls(path)
        raise UsageMistake(f"{out / stem}: is already there")

    def write(self, name: str, text: str) -> None:
        """Write a file so that a reader sees the old one or the new one, never a part."""
        path = self.path / name
        draft = path.with_name(f".{path.name}.draft")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with draft.open("w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as err:
            draft.unlink(missing_ok=True)
            raise _unwritten(path, err) from err

    def append(self, record: Record) -> None:
        """Add one record to `results.jsonl`."""
        path = self.path / "results.jsonl"
        whole = path.stat().st_size if path.exists() else 0
        try:
            with path.open("a", encoding="utf-8") as lines:
                lines.write(results.to_line(record) + "\n")
        except OSError as err:
            # Half a line would make all the others unreadable.
            if path.exists():
                os.truncate(path, whole)
            raise _unwritten(path, err) from err

    def save(self, run: RunRecord) -> None:
        """Write `run.json`."""
        self.write("run.json", json.dumps(run.model_dump(by_alias=True), indent=2) + "\n")

    def load(self) -> RunRecord:
        """Read `run.json`; a folder of a newer schema, or none at all, is named."""
        path = self.path / "run.json"
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError as err:
            raise UsageMistake(f"{self.path}: is not a run folder; it has no run.json") from err
        except OSError as err:
            raise UsageMistake(f"{path}: cannot be read ({err.strerror})") from err
        except (ValueError, RecursionError) as err:
            raise UsageMistake(f"{path}: not JSON: {err}") from err
        schema = found.get("schema") if isinstance(found, dict) else None
        if schema != SCHEMA:
            raise UsageMistake(f"{path}: schema is {schema!r}; this harness reads {SCHEMA}")
        try:
            return RunRecord.model_validate(found)
        except pydantic.ValidationError as err:
            misfit = misfits.first(err)
            raise UsageMistake(f"{path}: {misfit.place}: {misfit.why}; measure again") from err


def _unwritten(path: Path, err: OSError) -> HarnessError:
    return HarnessError(
        f"{path}: cannot be written ({err.strerror}); what was written before is whole"
    )


def csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
