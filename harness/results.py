"""The records all probes emit: typed, JSON Lines in and out, frames for pandas."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from harness import misfits
from harness.errors import UsageMistake
from harness.metrics import METRICS, nearest

if TYPE_CHECKING:
    import pandas as pd

Suite = Literal["contract", "relevance", "conformance", "load", "resilience"]
_STRICT = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_STRICT)
class Result:
    """One thing the harness measured; `low` and `high` bound a 95 % interval where there is one.

    `set` names the eval set (or `all`), `variant` the strategy or load profile, `part` a stage.
    """

    suite: Suite
    name: str
    value: float
    unit: str
    set: str = ""
    variant: str = ""
    part: str = ""
    n: int | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    record: Literal["result"] = "result"

    def __post_init__(self) -> None:
        if self.name not in METRICS:
            near = ", ".join(nearest(self.name)) or "none is close"
            raise ValueError(f"metric {self.name!r} is not in harness/metrics.py; nearest: {near}")
        for number in (self.value, self.low, self.high):
            if number is not None and not math.isfinite(number):
                raise ValueError(
                    f"{self.name} of {self.set or 'the run'} is {number}; not a measure"
                )

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes a result the only one of its kind in a run."""
        return (self.name, self.set, self.variant, self.part)


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_STRICT)
class Case:
    """One case of a suite that passes or fails by itself; `skipped` needs its reason in `note`.

    `service` is what was asked, `era` the MCP era it was asked in, where there are two.
    """

    suite: Suite
    name: str
    outcome: Literal["passed", "failed", "error", "skipped"]
    expected: str = ""
    actual: str = ""
    note: str = ""
    service: str = ""
    era: str = ""
    took_s: float = 0.0
    record: Literal["case"] = "case"


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_STRICT)
class Failure:
    """Something that could not be measured; it is counted and shown, and the run goes on."""

    suite: Suite
    name: str
    message: str
    set: str = ""
    variant: str = ""
    query: str = ""
    record: Literal["failure"] = "failure"


def stage_part(workload: str, stage: str, workloads: int) -> str:
    """The `part` of a stage's results: its name alone where a run has one workload only."""
    return stage if workloads < 2 else f"{workload}/{stage}"


Record = Result | Case | Failure
_READ: pydantic.TypeAdapter[Record] = pydantic.TypeAdapter(
    Annotated[Record, pydantic.Field(discriminator="record")]
)


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a run, by kind, with every result's key used once."""

    results: tuple[Result, ...]
    cases: tuple[Case, ...]
    failures: tuple[Failure, ...]

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Records":
        """Sort records by kind; a result or case that is there twice is an error."""
        listed = list(records)
        results = tuple(record for record in listed if isinstance(record, Result))
        cases = tuple(record for record in listed if isinstance(record, Case))
        seen: set[tuple[str, ...]] = set()
        for key in [r.key for r in results] + [(c.suite, c.name) for c in cases]:
            if key in seen:
                raise ValueError(f"{' / '.join(filter(None, key))} was recorded twice")
            seen.add(key)
        return cls(results, cases, tuple(r for r in listed if isinstance(r, Failure)))

    def find(self, name: str, set_: str = "", variant: str = "", part: str = "") -> Result | None:
        """The result with exactly this key, or None: a missing measurement is never a zero."""
        key = (name, set_, variant, part)
        return next((result for result in self.results if result.key == key), None)


def to_line(record: Record) -> str:
    """A record as one line of `results.jsonl`; a NaN is refused."""
    return json.dumps(asdict(record), ensure_ascii=False, allow_nan=False, sort_keys=True)


def read_lines(path: Path) -> Iterator[Record]:
    """The records of a `results.jsonl`; a line that is not one is named by its number."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield _READ.validate_json(line)
            except pydantic.ValidationError as err:
                why = misfits.first(err).why
                raise UsageMistake(f"{path}:{number}: not a record of a run: {why}") from err
            except ValueError as err:
                raise UsageMistake(f"{path}:{number}: not a record of a run: {err}") from err


def read(run: Path) -> Records:
    """All records of a run folder."""
    path = run / "results.jsonl"
    return Records.of(read_lines(path)) if path.exists() else Records((), (), ())


FRAMES = {
    "queries": "relevance/queries.csv",
    "scores": "relevance/scores.csv",
    "samples": "load/samples.csv",
    "stages": "load/stages.csv",
    "statements": "load/statements.csv",
    "resources": "load/resources.csv",
}


def frame(run: Path | str, what: str = "results") -> "pd.DataFrame":
    """A run's data as a pandas frame: `results`, `cases`, `failures`, or one of `FRAMES`."""
    import pandas as pd  # here: reading one takes longer than most commands of the harness

    run = Path(run)
    if what in FRAMES:
        return pd.read_csv(run / FRAMES[what], keep_default_na=False, dtype=_TEXT)
    records = read(run)
    kinds: dict[str, tuple[Any, ...]] = {
        "results": records.results,
        "cases": records.cases,
        "failures": records.failures,
    }
    if what not in kinds:
        raise UsageMistake(f"no frame {what!r}; there are {', '.join([*kinds, *FRAMES])}")
    return pd.DataFrame([asdict(record) for record in kinds[what]])


_TEXT = {"query": str, "set": str, "text": str, "variant": str}
