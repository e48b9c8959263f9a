"""Many faults, each of the table in turn; what came of each is kept in a file and gone on with."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import pydantic

from harness import progress, stack
from harness.errors import UsageMistake
from harness.probes.resilience import outcomes
from harness.probes.resilience.disks import CannotMount
from harness.probes.resilience.faults import FAULTS, Fault
from harness.probes.resilience.sequence import inflicted
from harness.probes.resilience.stacks import Maker
from harness.probes.resilience.suffering import Suffered

_READ: pydantic.TypeAdapter[Suffered] = pydantic.TypeAdapter(Suffered)
IDS = [fault.id for fault in FAULTS]
ON_ONE_STACK = 12
"""How many faults one stack suffers, at most, before it is taken down and looked at for strays."""


def repeated(count: int, only: Sequence[str], kept: Path, seed: int) -> list[Suffered]:
    """So many faults of those named (none: all); a line of JSON each in `kept`, on disk at once."""
    try:
        done = list(_read(kept))
    except (OSError, ValueError) as err:
        raise UsageMistake(f"{kept}: not a file of outcomes: {err}") from err
    wanted = _wanted(only or IDS, count)[len(done) :]
    kept.parent.mkdir(parents=True, exist_ok=True)
    maker = Maker(runtime="native", cortex=stack.CORTEX, logs=kept.parent / f"{kept.stem}-logs")
    with kept.open("a", encoding="utf-8") as lines:
        for one in _inflicted(maker, wanted, seed + len(done)):
            lines.write(json.dumps(asdict(one)) + "\n")
            lines.flush()
            done.append(one)
            progress.say(outcomes.line(one))
    return done


def _wanted(ids: Sequence[str], count: int) -> list[Fault]:
    """So many faults, in turn; those that want the same kind of stack follow one another."""
    listed = [fault for fault in FAULTS if fault.id in ids]
    turns = [listed[place % len(listed)] for place in range(count)]
    return sorted(turns, key=lambda fault: FAULTS.index(fault) * (fault.where != "stack"))


def _inflicted(maker: Maker, wanted: Sequence[Fault], seed: int) -> Iterator[Suffered]:
    for _, same in groupby(wanted, key=lambda fault: fault.where):
        some = list(same)
        for start in range(0, len(some), ON_ONE_STACK):
            try:
                yield from inflicted(maker, some[start : start + ON_ONE_STACK], seed + start)
            except CannotMount as err:
                progress.say(f"left out: {some[start].id}: {err}")


def _read(kept: Path) -> Iterator[Suffered]:
    if kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            yield _READ.validate_json(line)
