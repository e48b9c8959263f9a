"""Proofs about the harness itself: long, resumable, their figures committed in `docs/proofs/`.

A proof is a module here with a function `prove(Asked)`; its name stands in `PROOFS`.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.environment import ROOT

PROOFS = ("comparing",)
"""The modules `make prove-harness` runs, in this order."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Where a proof keeps what it has, where its page goes, how often, and which parts of it."""

    kept: Path
    pages: Path
    count: int
    parts: tuple[str, ...]


def revision() -> str:
    """The commit the proof is about; what is kept of another one does not count."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"
