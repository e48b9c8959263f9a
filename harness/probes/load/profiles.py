"""Load profiles as data: reads `loadtests/profiles/*.toml`; what is impossible is refused."""

import tomllib
from pathlib import Path
from typing import Literal

import pydantic

from harness.errors import UsageMistake
from harness.evalsets.collect import Profile
from harness.measures.schedule import Law


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Closed(_Shape):
    """Callers who wait: how many, and how many searches they make in all."""

    users: int = pydantic.Field(ge=1, le=500)
    searches: int = pydantic.Field(ge=1)
    warm_up: int = pydantic.Field(default=0, ge=0)
    think_s: float = pydantic.Field(default=0, ge=0)
    sets: list[str] = []


class Open(_Shape):
    """Callers who arrive: how often, for how long, and how many may be under way at most."""

    per_second: float = pydantic.Field(gt=0, le=2000)
    seconds: float = pydantic.Field(gt=0)
    warm_up_s: float = pydantic.Field(default=0, ge=0)
    pool: int = pydantic.Field(default=64, ge=1)
    law: Law = "poisson"
    sets: list[str] = []


class Valid(_Shape):
    """What a run must keep to in order to count."""

    client_cores: float = 0.8
    achieved: float = 0.98
    lag_p99_ms: float = 100.0


class _ClosedFile(_Shape):
    schema_: Literal["cortex.load/1"] = pydantic.Field(alias="schema")
    model: Literal["closed"]
    about: str
    quick: Closed
    full: Closed
    valid: Valid = Valid()


class _OpenFile(_Shape):
    schema_: Literal["cortex.load/1"] = pydantic.Field(alias="schema")
    model: Literal["open"]
    about: str
    quick: Open
    full: Open
    valid: Valid = Valid()


_SHAPES: dict[str, type[_ClosedFile] | type[_OpenFile]] = {
    "closed": _ClosedFile,
    "open": _OpenFile,
}


class LoadProfile(_Shape):
    """One profile at one size."""

    name: str
    about: str
    model: Literal["closed", "open"]
    size: Closed | Open
    valid: Valid


def read_all(folder: Path, profile: Profile) -> list[LoadProfile]:
    """All profiles of a folder, in order of their names."""
    found = sorted(folder.glob("*.toml"))
    return [_read(path, profile) for path in found]


def _read(path: Path, profile: Profile) -> LoadProfile:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as err:
        raise UsageMistake(f"{path}: not TOML: {err}") from err
    try:
        shape = _SHAPES[str(table.get("model"))]
    except KeyError as err:
        raise UsageMistake(f"{path}: model is {table.get('model')!r}; closed or open") from err
    try:
        file = shape.model_validate(table)
    except pydantic.ValidationError as err:
        first = err.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageMistake(f"{path}: {place} is {first['input']!r}: {first['msg']}") from err
    size = file.quick if profile == "quick" else file.full
    return LoadProfile(
        name=path.stem, about=file.about, model=file.model, size=size, valid=file.valid
    )
