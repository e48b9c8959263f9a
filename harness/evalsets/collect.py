"""Which eval sets a run uses: the repository's own, those of a folder outside, those by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import UsageMistake
from harness.evalsets import beir, hub, subset
from harness.evalsets.records import EvalSet

Profile = Literal["quick", "full"]


@dataclass(frozen=True, slots=True)
class Collected:
    """The sets of a run, and those left out with the reason."""

    sets: tuple[EvalSet, ...]
    left_out: dict[str, str]


def collect(own: Path, outside: Path | None, names: Sequence[str], profile: Profile) -> Collected:
    """Read every set; a name used twice, or a folder that is not there, is a mistake."""
    found = [*_in_folder(own), *(_in_folder(outside, must_exist=True) if outside else [])]
    found += [hub.read(name) for name in names]
    seen: set[str] = set()
    for one in found:
        if one.name in seen:
            raise UsageMistake(f"two eval sets are called {one.name!r}; rename one folder")
        seen.add(one.name)
    return _fitting(found, profile)


def _in_folder(folder: Path, must_exist: bool = False) -> list[EvalSet]:
    if not folder.is_dir():
        if must_exist:
            raise UsageMistake(f"{folder}: no such folder; CORTEX_EVAL_SETS names one of eval sets")
        return []
    if (folder / "corpus.jsonl").exists():
        raise UsageMistake(f"{folder}: is an eval set itself; name the folder it lies in")
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] != ".")
    return [beir.read(path) for path in inside]


def _fitting(found: list[EvalSet], profile: Profile) -> Collected:
    if profile == "full":
        return Collected(tuple(found), {})
    chosen, left_out = [], {}
    for one in found:
        part = subset.quick(one)
        if part is None:
            left_out[one.name] = "its documents are long; only in full runs"
        else:
            chosen.append(part)
    return Collected(tuple(chosen), left_out)
