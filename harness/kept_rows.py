"""Rows of a long piece of work: a line of JSON each, on disk before the next one is made."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, Any]]:
    """Every whole row; a last line that was torn off is taken from the file.

    Raises `ValueError` where a whole line is not a row.
    """
    if not path.exists():
        return []
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    rows = [json.loads(line) for line in whole.splitlines()]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("a line is not an object")
    if whole != raw:
        os.truncate(path, len(whole))
    return rows


def keep(path: Path, row: Mapping[str, object]) -> None:
    """Append a row, and wait until the disk has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row, sort_keys=True) + "\n")
        lines.flush()
        os.fsync(lines.fileno())
