"""Which file of a kept run folder is cut short or changed, when reading it went wrong."""

import contextlib
import csv
import json
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from harness.errors import HarnessError, UsageMistake


@contextlib.contextmanager
def named(*runs: Path) -> Iterator[None]:
    """While inside, kept runs are read; what is wrong with them is the caller's to mend."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as err:
        raise UsageMistake(_fault_of(runs, err)) from err


def _fault_of(runs: Iterable[Path], err: Exception) -> str:
    """The first file that cannot be read, with its line; else what did not fit, and where."""
    for run in runs:
        for path in sorted(run.rglob("*")):
            fault = _fault(path) if path.suffix in _READERS else ""
            if fault:
                return f"{path}{fault}; the run folder is damaged: measure again"
    at = traceback.extract_tb(err.__traceback__)[-1]
    where = f"{Path(at.filename).name}:{at.lineno}"
    folders = " or ".join(str(run) for run in runs)
    return (
        f"{folders}: the files do not fit together ({type(err).__name__}: {err}, in {where}); "
        "the run folder was changed: measure again"
    )


def _fault(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as err:
        return f": cannot be read ({err.strerror})"
    except UnicodeDecodeError as err:
        line = path.read_bytes()[: err.start].count(b"\n") + 1
        return f":{line}: not UTF-8 text"
    return _READERS[path.suffix](text)


def _of_json(text: str) -> str:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as err:
        return f": not JSON: {err}"
    return "" if isinstance(found, dict | list) else f": is {type(found).__name__}, no data"


def _of_lines(text: str) -> str:
    for number, line in enumerate(text.splitlines(), start=1):
        if fault := _of_json(line):
            return f":{number}{fault}"
    return ""


def _of_table(text: str) -> str:
    rows = csv.reader(text.splitlines(keepends=True))
    try:
        width = len(next(rows, []))
        if not width:
            return ":1: has no header"
        for row in rows:
            if row and len(row) != width:
                return f":{rows.line_num}: has {len(row)} columns; the header has {width}"
    except csv.Error as err:
        return f":{rows.line_num}: no table: {err}"
    return ""


_READERS: dict[str, Callable[[str], str]] = {
    ".csv": _of_table,
    ".json": _of_json,
    ".jsonl": _of_lines,
}
