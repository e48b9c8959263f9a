"""Reads `evals/waivers.toml`: gates that may have fallen, by whom, why, and until when.

A waiver turns a gate that fell into one that is `waived`, up to its last day and with it; then the
gate falls again, and the waiver is named. What is missing, inconclusive or not comparable is never
waived: nobody knows what would be forgiven.
"""

import datetime as dt
import difflib
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pydantic

from harness import misfits
from harness.errors import UsageMistake
from harness.gates import ALL, EACH, Gate, Judgement
from harness.gates_file import GatesFile

FILE = "waivers.toml"
State = Literal["used", "ended", "not needed"]


class _Entry(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    gate: str = pydantic.Field(min_length=1)
    set: str = ""
    reason: str = pydantic.Field(min_length=1)
    until: dt.date
    by: str = pydantic.Field(min_length=1)

    @pydantic.field_validator("until", mode="before")
    @classmethod
    def _is_a_date(cls, value: object) -> object:
        if type(value) is not dt.date:
            raise ValueError("write a date without quotes, such as 2027-01-31")
        return value


@dataclass(frozen=True, slots=True)
class Waiver:
    """One `[[waiver]]`: a gate, the one set it is about (none: every set), until when, by whom."""

    gate: str
    set: str
    reason: str
    until: dt.date
    by: str
    line: int = 0

    @property
    def words(self) -> str:
        """Whose it is and until when."""
        return f"waived by {self.by} until {self.until}: {self.reason}"

    def is_about(self, judgement: Judgement) -> bool:
        """Whether it would forgive this judgement."""
        return self.gate == judgement.gate.id and self.set in ("", judgement.set)


def read(path: Path, gates: Sequence[Gate]) -> tuple[Waiver, ...]:
    """Every waiver of the file, none without a file; one of a gate that is not there is refused."""
    if not path.exists():
        return ()
    try:
        raw = path.read_text(encoding="utf-8")
        table = tomllib.loads(raw)
    except OSError as err:
        raise UsageMistake(f"{path}: cannot be read ({err.strerror})") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise UsageMistake(f"{path}: not TOML: {err}") from err
    starts = [
        n
        for n, line in enumerate(raw.splitlines(), start=1)
        if re.match(r"\s*\[\[\s*waiver\s*\]\]", line)
    ]
    entries = table.pop("waiver", [])
    if table or not isinstance(entries, list) or len(entries) != len(starts):
        raise UsageMistake(f"{path}:1: write each waiver below a line [[waiver]], and nothing else")
    known = [gate.id for gate in gates]
    return tuple(
        _waiver(path, start, entry, known) for entry, start in zip(entries, starts, strict=True)
    )


def read_for(evals: Path, gates: GatesFile, sets: Iterable[str]) -> tuple[Waiver, ...]:
    """The waivers of a folder of gates; one of a set that nothing is called is refused.

    `sets` are those that were, or will be, measured; a set that a gate or a group names is known
    wherever it lies.
    """
    known = {ALL, EACH, *sets, *gates.groups, *(gate.set for gate in gates.gates)} - {""}
    folder = evals / "relevance"
    known.update(path.name for path in (folder.iterdir() if folder.is_dir() else ()))
    known.update(name for group in gates.groups.values() for name in group)
    found = read(evals / FILE, gates.gates)
    for one in found:
        if one.set and one.set not in known:
            near = ", ".join(difflib.get_close_matches(one.set, sorted(known), n=3, cutoff=0.4))
            raise UsageMistake(
                f"{evals / FILE}:{one.line}: there is no set {one.set!r}; "
                f"nearest: {near or 'none is close'}"
            )
    return found


def _waiver(path: Path, start: int, entry: Any, known: Sequence[str]) -> Waiver:
    try:
        found = _Entry.model_validate(entry)
    except pydantic.ValidationError as err:
        misfit = misfits.first(err)
        raise UsageMistake(f"{path}:{start}: {misfit.place}: {misfit.why}") from err
    if found.gate not in known:
        near = ", ".join(difflib.get_close_matches(found.gate, known, n=3, cutoff=0.4))
        raise UsageMistake(
            f"{path}:{start}: there is no gate {found.gate!r}; nearest: {near or 'none is close'}"
        )
    return Waiver(found.gate, found.set, found.reason, found.until, found.by, start)


def waive(
    judged: Sequence[Judgement], waivers: Sequence[Waiver], today: dt.date
) -> tuple[list[Judgement], list[State]]:
    """The judgements with what is waived marked so, and what became of each waiver."""
    states: list[State] = ["not needed"] * len(waivers)
    made = []
    for judgement in judged:
        for place, waiver in enumerate(waivers):
            if judgement.standing != "fell" or not waiver.is_about(judgement):
                continue
            if today <= waiver.until:
                states[place] = "used"
                why = f"{judgement.why}; {waiver.words}"
                judgement = replace(judgement, standing="waived", why=why)
            else:
                states[place] = "ended"
                why = f"{judgement.why}; the waiver of {waiver.by} ended on {waiver.until}"
                judgement = replace(judgement, why=why)
        made.append(judgement)
    return made, states
