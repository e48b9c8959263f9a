"""Proofs about the harness itself: long, resumable, their figures committed in `docs/proofs/`.

A proof is a module here with a function `prove(Asked)`; its name stands in `PROOFS`.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.environment import ROOT

PROOFS = ("load", "resilience", "comparing")
"""The modules `make prove-harness` runs, in this order."""

PROVED = ("stack", "harness", "evals", "loadtests")


@dataclass(frozen=True, slots=True)
class Asked:
    """Where a proof keeps what it has, where its page goes, how often, and which parts of it."""

    kept: Path
    pages: Path
    count: int
    parts: tuple[str, ...]


def revision(root: Path = ROOT) -> str:
    """The last commit that changed what is proved; what is kept of an older one does not count.

    With changes that are not committed it is marked: what is measured of them is no commit's.
    """
    name = _git(root, "log", "-1", "--format=%h", "--abbrev=10", "--", *PROVED) or "unknown"
    return f"{name}-dirty" if _git(root, "status", "--porcelain", "--", *PROVED) else name


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
