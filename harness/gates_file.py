"""Reads `evals/gates.toml`; a mistake in it is named by its line, with what would be right."""

import dataclasses
import difflib
import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic

from harness.errors import UsageMistake
from harness.gates import Gate
from harness.metrics import METRICS, nearest

SCHEMA = "cortex.gates/1"
_KEYS = {field.name for field in dataclasses.fields(Gate)}
_TOP = {"schema", "groups", "gate"}


@dataclass(frozen=True, slots=True)
class GatesFile:
    """The gates, the groups of sets they name, and the file's checksum."""

    path: Path
    checksum: str
    gates: tuple[Gate, ...]
    groups: Mapping[str, tuple[str, ...]]


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
    groups = {name: tuple(sets) for name, sets in table.get("groups", {}).items()}
    gates: dict[str, Gate] = {}
    for number, (entry, start) in enumerate(
        zip(table.get("gate", []), _starts(lines), strict=True)
    ):
        for gate in _gates(path, lines, start, entry, number):
            if gate.id in gates:
                raise UsageMistake(f"{path}:{start}: gate {gate.id!r} is there twice")
            gates[gate.id] = gate
    if not gates:
        raise UsageMistake(f"{path}: has no [[gate]]; a run without gates passes nothing")
    return GatesFile(path, hashlib.sha256(raw).hexdigest(), tuple(gates.values()), groups)


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
        if entry.get(key) and entry[key] not in METRICS:
            near = nearest(entry[key]) or sorted(METRICS)[:3]
            known = ", ".join(near)
            raise mistake(key, f"metric {entry[key]!r} is not known; nearest: {known}")
    if not {"floor", "ceiling", "best_of", "max_drop", "no_significant_drop"} & entry.keys():
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


_GATE: pydantic.TypeAdapter[Gate] = pydantic.TypeAdapter(Gate)


def _gate(path: Path, start: int, entry: dict[str, Any]) -> Gate:
    try:
        return _GATE.validate_python(entry)
    except pydantic.ValidationError as err:
        first = err.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageMistake(
            f"{path}:{start}: gate {entry['id']!r}: {place} is {first['input']!r}: {first['msg']}"
        ) from err
