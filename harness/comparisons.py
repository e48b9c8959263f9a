"""`compare.json` (schema cortex.compare/1): what was compared, what changed, the verdict."""

import json
from pathlib import Path
from typing import Literal

import pydantic

from harness.errors import UsageMistake
from harness.runs import GateRecord, RunFolder, SetRecord, StackRecord, VerdictRecord, WaiverRecord
from harness.verdicts import Outcome, Standing, Verdict

SCHEMA = "cortex.compare/1"
FILE = "compare.json"
UNKNOWN = "not recorded"


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


class SideRecord(_Shape):
    """One of the two: a build that was brought up, or a run that was kept."""

    name: str
    revision: str
    dirty: bool
    stack: StackRecord | None = None


class KeyPart(_Shape):
    """One part of what makes two sides comparable, as each side has it.

    `about` is what it stands in the way of where it is not the same; `noted` is shown alone.
    """

    part: str
    about: Literal["relevance", "speed", "both", "noted"]
    base: str
    candidate: str
    same: bool

    @property
    def word(self) -> str:
        """Same, differs, or what cannot be told."""
        if self.same:
            return "same"
        return "differs" if self.base != self.candidate else "not enough"


class ChangeRecord(_Shape):
    """One series of times in both builds, how it changed, and how that stands.

    `kind` is `whole` (the response), `stage` (a part of it), `control` (something that must not
    differ) or `shown` (two kept runs; never judged).
    """

    series: str
    kind: Literal["whole", "stage", "control", "shown"]
    n: int
    base_ms: float | None = None
    candidate_ms: float | None = None
    base_low: float | None = None
    base_high: float | None = None
    candidate_low: float | None = None
    candidate_high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    difference_ms: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    standing: Standing
    why: str = ""


class MovedRecord(_Shape):
    """A query that scores differently on the two sides."""

    set: str
    query: str
    text: str
    was: float
    now: float


class CompareRecord(_Shape):
    """One comparison, whole or as far as it came."""

    schema_: Literal["cortex.compare/1"] = pydantic.Field(
        default="cortex.compare/1", alias="schema"
    )
    id: str
    kind: Literal["builds", "runs"]
    status: Literal["partial", "complete", "failed"]
    started_at: str
    ended_at: str = ""
    message: str = ""
    command: list[str] = []
    seed: int = 0
    base: SideRecord
    candidate: SideRecord
    machine: dict[str, str] = {}
    packages: dict[str, str] = {}
    data: dict[str, SetRecord] = {}
    limits: dict[str, float] = {}
    key: list[KeyPart] = []
    notes: list[str] = []
    changes: list[ChangeRecord] = []
    blamed: str = ""
    gates: list[GateRecord] = []
    waivers: list[WaiverRecord] = []
    queries: int = 0
    losses: list[MovedRecord] = []
    wins: list[MovedRecord] = []
    verdict: VerdictRecord | None = None

    @property
    def standings(self) -> dict[str, Standing]:
        """How every part of the comparison stands, by its name in the verdict."""
        speed = {f"speed/{one.series}": one.standing for one in self.changes}
        return speed | {gate.id: gate.standing for gate in self.gates}

    def conclude(self, verdict: Verdict) -> None:
        """Keep a verdict."""
        self.verdict = VerdictRecord(
            word=verdict.outcome.name, exit_code=verdict.outcome.value, line=verdict.line
        )

    def concluded(self) -> Verdict:
        """The verdict; a comparison that was killed has none and is an error."""
        if self.verdict is None:
            return Verdict(outcome=Outcome.BROKEN, why="the comparison did not reach a verdict")
        why = self.verdict.line.partition("): ")[2]
        return Verdict(outcome=Outcome(self.verdict.exit_code), why=why)


def save(folder: RunFolder, record: CompareRecord) -> None:
    """Write `compare.json`."""
    folder.write(FILE, json.dumps(record.model_dump(by_alias=True), indent=2) + "\n")


def load(folder: Path) -> CompareRecord:
    """Read `compare.json`; one of a newer schema is named."""
    path = folder / FILE
    try:
        found = json.loads(path.read_bytes())
        schema = found.get("schema") if isinstance(found, dict) else None
        if schema != SCHEMA:
            raise UsageMistake(f"{path}: schema is {schema!r}; this harness reads {SCHEMA}")
        return CompareRecord.model_validate(found)
    except OSError as err:
        raise UsageMistake(f"{path}: cannot be read ({err.strerror})") from err
    except ValueError as err:
        raise UsageMistake(f"{path}: is no comparison: {err}") from err
