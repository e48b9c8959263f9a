"""The contract suite: what a stack promises in public, asked of its running servers.

A chapter a subject; each case is a sentence and a record. Chapters that disturb the stack are
played last. Nothing here knows how a server is built, only where it answers.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.probes.contract import (
    auth,
    changes,
    embedding,
    finding,
    health,
    items,
    leaks,
    lifecycle,
    listing,
    official,
    protocol,
    robustness,
    tools,
)
from harness.probes.contract.cases import ContractCase, play
from harness.probes.contract.scene import Scene
from harness.results import Record

if TYPE_CHECKING:
    from harness.suites import Context

CHAPTERS = (
    health,
    protocol,
    tools,
    items,
    changes,
    listing,
    finding,
    embedding,
    auth,
    leaks,
    official,
    robustness,
    lifecycle,
)


def all_cases() -> list[ContractCase]:
    """Every case, in the order they are played."""
    return [case for chapter in CHAPTERS for case in chapter.CHAPTER.cases]


def measure(context: "Context") -> Iterator[Record]:
    """Play every case against the stack; a record a case."""
    logs = context.folder.path / "logs"
    with Scene(context.targets, context.owned, logs, context.seed).playing() as scene:
        yield from play(all_cases(), scene, context.require_all)
