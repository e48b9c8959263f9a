"""Reads `evals/gates.toml`; a mistake in it is named by its line, with what would be right."""

import dataclasses
import difflib
import hashlib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic

from harness import misfits
from harness.errors import UsageMistake
from harness.gates import ALL, EACH, Gate
from harness.measures.pairs import LEAST_PAIRS, Limits
from harness.metrics import METRICS, nearest

SCHEMA = "cortex.gates/1"
_KEYS = {field.name for field in dataclasses.fields(Gate)}
_TOP = {"schema", "groups", "gate", "compare"}
PROFILES = ("quick", "full")
NUMBERS = ("floor", "ceiling", "max_drop", "least_drop", "slack", "min_n")
AT_LEAST_0 = ("max_drop", "least_drop", "slack", "min_n")


@dataclass(frozen=True, slots=True)
class GatesFile:
    """The gates, the groups of sets they name, what a change of speed may be, the checksum."""

    path: Path
    checksum: str
    gates: tuple[Gate, ...]
    groups: Mapping[str, tuple[str, ...]]
    compare: Limits = field(default_factory=Limits)


def read(path: Path) -> GatesFile:
    """Every gate of the file, one a variant where a gate names several."""
    try:
        raw = path.read_bytes()
        table = tomllib.loads(raw.decode())
    except OSError as err:
        raise UsageMistake(
            f"{path}: cannot be read ({err.strerror}); gates are kept there"
        ) from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise UsageMistake(f"{path}: not TOML: {err}") from err
    lines = raw.decode().splitlines()
    if table.get("schema") != SCHEMA:
        raise UsageMistake(f"{path}:1: schema is {table.get('schema')!r}; want {SCHEMA!r}")
    if strange := sorted(table.keys() - _TOP):
        line = _line(lines, 0, strange[0])
        raise UsageMistake(f"{path}:{line}: {strange[0]!r} is not known; {', '.join(sorted(_TOP))}")
    groups = _groups(path, lines, table.get("groups", {}))
    gates: dict[str, Gate] = {}
    for number, (entry, start) in enumerate(_entries(path, lines, table.get("gate", []))):
        for gate in _gates(path, lines, start, entry, number):
            if gate.id in gates:
                raise UsageMistake(f"{path}:{start}: gate {gate.id!r} is there twice")
            gates[gate.id] = gate
    if not gates:
        raise UsageMistake(f"{path}: has no [[gate]]; a run without gates passes nothing")
    limits = _limits(path, lines, table.get("compare", {}))
    return GatesFile(path, hashlib.sha256(raw).hexdigest(), tuple(gates.values()), groups, limits)


_LIMITS: pydantic.TypeAdapter[Limits] = pydantic.TypeAdapter(Limits)


def _limits(path: Path, lines: list[str], table: Any) -> Limits:
    """The table `[compare]`; what would find nothing, or too much, is refused."""

    def mistake(key: str, message: str) -> UsageMistake:
        return UsageMistake(f"{path}:{_line(lines, 0, key)}: compare: {message}")

    known = {field.name for field in dataclasses.fields(Limits)}
    if not isinstance(table, dict) or (strange := sorted(table.keys() - known)):
        raise mistake(
            strange[0] if isinstance(table, dict) else "compare",
            "not known; there are " + ", ".join(sorted(known)),
        )
    try:
        limits = _LIMITS.validate_python(table)
    except pydantic.ValidationError as err:
        misfit = misfits.first(err)
        raise mistake(misfit.place.partition(".")[0], f"{misfit.place}: {misfit.why}") from err
    for key, least, most in (
        ("alpha", 1e-6, 0.1),
        ("relative", 0.01, 10),
        ("absolute_ms", 0, 1e6),
        ("pairs", LEAST_PAIRS, 1000),
        ("calls", 5, 10_000),
        ("warm_up", 0, 1000),
    ):
        value = getattr(limits, key)
        if not least <= value <= most:
            raise mistake(key, f"{key} is {value}; use {least:g} to {most:g}")
    return limits


def _groups(path: Path, lines: list[str], table: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, dict):
        raise UsageMistake(f"{path}:{_line(lines, 0, 'groups')}: groups is a table, [groups]")
    for name, sets in table.items():
        named = isinstance(sets, list) and sets and all(isinstance(one, str) for one in sets)
        if not named or name in (ALL, EACH):
            raise UsageMistake(
                f"{path}:{_line(lines, 0, name)}: group {name!r} is {sets!r}; want a list of the "
                f"names of sets, and a name that is not {ALL!r} or {EACH!r}"
            )
    return {name: tuple(sets) for name, sets in table.items()}


def _entries(path: Path, lines: list[str], table: Any) -> list[tuple[dict[str, Any], int]]:
    """Each gate with the line it starts in."""
    starts = _starts(lines)
    listed = isinstance(table, list) and all(isinstance(entry, dict) for entry in table)
    if not listed or len(table) != len(starts):
        place = starts[0] if starts else _line(lines, 0, "gate")
        raise UsageMistake(f"{path}:{place}: write each gate below a line [[gate]] of its own")
    return list(zip(table, starts, strict=True))


def _starts(lines: list[str]) -> list[int]:
    return [n for n, line in enumerate(lines, start=1) if re.match(r"\s*\[\[\s*gate\s*\]\]", line)]


def _line(lines: list[str], start: int, key: str) -> int:
    """The line of a key from a line on; that line where it is not found."""
    for number in range(start, len(lines)):
        if re.match(rf'\s*"?{re.escape(key)}"?\s*=', lines[number]):
            return number + 1
    return max(start, 1)


def _gates(
    path: Path, lines: list[str], start: int, entry: dict[str, Any], number: int
) -> list[Gate]:
    def mistake(key: str, message: str) -> UsageMistake:
        return UsageMistake(f"{path}:{_line(lines, start, key)}: {message}")

    for key in entry:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1) or sorted(_KEYS)
            raise mistake(key, f"key {key!r} is not known; did you mean {near[0]!r}?")
    for key in ("id", "title", "metric"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise mistake(key, f"gate {number + 1} needs a text for {key!r}")
    for key in ("metric", "over"):
        if not isinstance(entry.get(key, ""), str):
            raise mistake(key, f"{key} is {entry[key]!r}; want the name of a metric")
        if entry.get(key) and entry[key] not in METRICS:
            near = nearest(entry[key]) or sorted(METRICS)[:3]
            known = ", ".join(near)
            raise mistake(key, f"metric {entry[key]!r} is not known; nearest: {known}")
    if nonsense := _nonsense(entry):
        raise mistake(nonsense[0], f"gate {entry['id']!r}: {nonsense[1]}")
    rules = {"floor", "ceiling", "max_drop"} & entry.keys()
    if not (rules or entry.get("best_of") or entry.get("no_significant_drop")):
        raise mistake(
            "id", f"gate {entry['id']!r} has no rule: floor, ceiling, best_of, max_drop …"
        )
    variants = entry.get("variant", "")
    if isinstance(variants, str):
        return [_gate(path, start, entry)]
    return [
        _gate(path, start, {**entry, "id": f"{entry['id']}-{name}", "variant": name})
        for name in variants
    ]


def _nonsense(entry: dict[str, Any]) -> tuple[str, str] | None:
    """A key whose value would make the gate hold whatever was measured, or never be judged."""
    for key in NUMBERS:
        value = entry.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return key, f"{key} is {value!r}; want a number"
        if not math.isfinite(value) or (key in AT_LEAST_0 and value < 0):
            return key, f"{key} is {value!r}; want a finite number{' from 0 on' * (value < 0)}"
    if entry.get("floor", -math.inf) > entry.get("ceiling", math.inf):
        return "floor", f"floor {entry['floor']} is above ceiling {entry['ceiling']}"
    profiles = entry.get("profiles", PROFILES)
    if not isinstance(profiles, list | tuple) or not profiles or {*profiles} - {*PROFILES}:
        return "profiles", f"profiles is {profiles!r}; want a list of {' and '.join(PROFILES)}"
    if entry.get("variant", "") == []:
        return "variant", "variant is an empty list; name one, or leave it out"
    return None


_GATE: pydantic.TypeAdapter[Gate] = pydantic.TypeAdapter(Gate)


def _gate(path: Path, start: int, entry: dict[str, Any]) -> Gate:
    try:
        return _GATE.validate_python(entry)
    except pydantic.ValidationError as err:
        misfit = misfits.first(err)
        raise UsageMistake(
            f"{path}:{start}: gate {entry['id']!r}: {misfit.place} is {misfit.value!r}: "
            f"{misfit.why}"
        ) from err
