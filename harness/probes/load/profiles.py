"""Load profiles as data: reads `loadtests/profiles/*.toml`; what is impossible is refused."""

import hashlib
import tomllib
from pathlib import Path
from typing import Literal

import pydantic

from harness import adapters, misfits
from harness.errors import UsageMistake
from harness.evalsets.collect import Profile
from harness.measures.schedule import Law
from harness.probes.load.workloads import WORKLOADS


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


LONGEST_S = 86_400.0
MOST_CALLS = 1_000_000
"""Every call of a plan is made before the first is sent, and held in memory."""

Mix = dict[str, float]
"""Workloads by name, each with its share of the calls."""


class _Size(_Shape):
    sets: list[str] = []
    mix: Mix = {"memory-search": 1.0}
    processes: int = pydantic.Field(default=1, ge=1, le=64)

    @pydantic.field_validator("mix")
    @classmethod
    def _is_known(cls, mix: Mix) -> Mix:
        if unknown := sorted(mix.keys() - WORKLOADS.keys()):
            raise ValueError(f"no workload {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
        if not mix or min(mix.values()) <= 0:
            raise ValueError("each workload needs a share above 0")
        return mix


class Closed(_Size):
    """Callers who wait: how many, and how many calls they make in all."""

    users: int = pydantic.Field(ge=1, le=500)
    searches: int = pydantic.Field(ge=1, le=MOST_CALLS)
    warm_up: int = pydantic.Field(default=0, ge=0, le=MOST_CALLS)
    think_s: float = pydantic.Field(default=0, ge=0, le=LONGEST_S)

    @pydantic.model_validator(mode="after")
    def _deals_out_evenly(self) -> "Closed":
        if self.users % self.processes:
            raise ValueError(f"{self.users} users cannot be dealt to {self.processes} processes")
        return self


class Phase(_Shape):
    """A stretch of an open run with a rate of its own."""

    name: str
    per_second: float = pydantic.Field(gt=0, le=2000)
    seconds: float = pydantic.Field(gt=0, le=LONGEST_S)


class Open(_Size):
    """Callers who arrive: how often, for how long, and how many may be under way at most.

    Either one rate, or `phases`, one after the other.
    """

    per_second: float = pydantic.Field(default=0, ge=0, le=2000)
    seconds: float = pydantic.Field(default=0, ge=0, le=LONGEST_S)
    phases: list[Phase] = []
    warm_up_s: float = pydantic.Field(default=0, ge=0)
    pool: int = pydantic.Field(default=64, ge=1)
    law: Law = "poisson"

    @pydantic.model_validator(mode="after")
    def _has_a_rate(self) -> "Open":
        single = self.per_second > 0 and self.seconds > 0
        if single == bool(self.phases):
            raise ValueError("give per_second and seconds above 0, or phases")
        for one in self.stretches:
            if round(one.per_second * one.seconds) < 1:
                raise ValueError(f"phase {one.name!r} has not one call in it")
        if self.warm_up_s >= sum(one.seconds for one in self.stretches):
            raise ValueError("warm_up_s leaves nothing to measure")
        calls = sum(one.per_second * one.seconds for one in self.stretches)
        if calls > MOST_CALLS:
            raise ValueError(f"{calls:.0f} calls are more than a plan can hold ({MOST_CALLS})")
        if len({one.name for one in self.phases}) < len(self.phases):
            raise ValueError("two phases have the same name")
        return self

    @property
    def stretches(self) -> list[Phase]:
        """The phases, also of a run that has only one."""
        return self.phases or [Phase(name="all", per_second=self.per_second, seconds=self.seconds)]


class Ramp(_Size):
    """Open runs at ever higher rates, until one is too much; then between the last two.

    A rate is too much where less than `achieved` of it is answered in time, a call is dropped, or
    more than `error_rate` of the calls fail.
    """

    per_second: float = pydantic.Field(gt=0, le=2000)
    factor: float = pydantic.Field(default=1.25, gt=1, le=4)
    most_steps: int = pydantic.Field(default=20, ge=2, le=60)
    bisections: int = pydantic.Field(default=3, ge=0, le=8)
    seconds: float = pydantic.Field(ge=2, le=LONGEST_S)
    warm_up_s: float = pydantic.Field(default=1, ge=0)
    pool: int = pydantic.Field(default=64, ge=1)
    achieved: float = pydantic.Field(default=0.98, gt=0, le=1)
    error_rate: float = pydantic.Field(default=0.01, ge=0, lt=1)

    @pydantic.model_validator(mode="after")
    def _measures_something(self) -> "Ramp":
        if self.warm_up_s >= self.seconds or round(self.per_second * self.seconds) < 1:
            raise ValueError("a step has nothing to measure; give it more seconds")
        return self


class Valid(_Shape):
    """What a run must keep to in order to count."""

    client_cores: float = pydantic.Field(default=0.8, gt=0)
    client_share: float = pydantic.Field(default=0.25, gt=0, le=1)
    achieved: float = pydantic.Field(default=0.98, ge=0, le=1)
    lag_p99_ms: float = pydantic.Field(default=100.0, gt=0)


class _File(_Shape):
    schema_: Literal["cortex.load/1"] = pydantic.Field(alias="schema")
    about: str
    valid: Valid = Valid()
    adapter: str = ""


class _ClosedFile(_File):
    model: Literal["closed"]
    quick: Closed | None = None
    full: Closed


class _OpenFile(_File):
    model: Literal["open"]
    quick: Open | None = None
    full: Open


class _RampFile(_File):
    model: Literal["ramp"]
    quick: Ramp | None = None
    full: Ramp


_SHAPES: dict[str, type[_ClosedFile] | type[_OpenFile] | type[_RampFile]] = {
    "closed": _ClosedFile,
    "open": _OpenFile,
    "ramp": _RampFile,
}


class LoadProfile(_Shape):
    """One profile at one size; `adapter` names another memory server that is asked instead."""

    name: str
    about: str
    model: Literal["closed", "open", "ramp"]
    size: Closed | Open | Ramp
    valid: Valid
    adapter: str = ""

    @property
    def fingerprint(self) -> str:
        """A checksum of what is asked: runs of other profiles are not compared in speed."""
        return hashlib.sha256(self.model_dump_json(exclude={"about"}).encode()).hexdigest()


def read_all(folder: Path, profile: Profile) -> list[LoadProfile]:
    """All profiles of a folder that have this size, in order of their names."""
    found = (_read(path, profile) for path in sorted(folder.glob("*.toml")))
    return [one for one in found if one is not None]


def _read(path: Path, profile: Profile) -> LoadProfile | None:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise UsageMistake(f"{path}: cannot be read ({err.strerror})") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise UsageMistake(f"{path}: not TOML: {err}") from err
    try:
        shape = _SHAPES[str(table.get("model"))]
    except KeyError as err:
        known = ", ".join(_SHAPES)
        raise UsageMistake(f"{path}: model is {table.get('model')!r}; one of {known}") from err
    try:
        file = shape.model_validate(table)
    except pydantic.ValidationError as err:
        misfit = misfits.first(err)
        raise UsageMistake(f"{path}: {misfit.place} is {misfit.value!r}: {misfit.why}") from err
    if file.adapter:
        adapters.check(file.adapter)
    size = file.quick if profile == "quick" else file.full
    if size is None:
        return None
    return LoadProfile(
        name=path.stem,
        about=file.about,
        model=file.model,
        size=size,
        valid=file.valid,
        adapter=file.adapter,
    )
