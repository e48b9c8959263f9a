"""Many faults, each of the table in turn; what came of each is kept in a file and gone on with."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path

import pydantic

from harness import kept_rows, progress, stack
from harness.errors import UsageMistake
from harness.probes.resilience import outcomes
from harness.probes.resilience.disks import CannotMount
from harness.probes.resilience.faults import FAULTS, Fault
from harness.probes.resilience.sequence import inflicted
from harness.probes.resilience.stacks import Maker
from harness.probes.resilience.suffering import Crashed, Suffered

_READ: pydantic.TypeAdapter[Suffered] = pydantic.TypeAdapter(Suffered)
IDS = [fault.id for fault in FAULTS]
ON_ONE_STACK = 12
"""How many faults one stack suffers, at most, before it is taken down and looked at for strays."""
ENOUGH = 30
"""So many faults are a proof, though more were asked for and could not be inflicted here."""


@dataclass(slots=True)
class Repeated:
    """The outcomes at one revision, of so many `asked`, and in words what was not inflicted."""

    revision: str
    asked: int
    done: list[Suffered]
    not_done: list[str] = field(default_factory=list)
    crashed: int = 0

    @property
    def holds(self) -> bool:
        """Whether enough was inflicted, nothing crashed, and no fault has a failing."""
        enough = len(self.done) >= min(self.asked, ENOUGH)
        return enough and not self.crashed and not any(one.failings for one in self.done)


def repeated(count: int, only: Sequence[str], kept: Path, seed: int, revision: str) -> Repeated:
    """So many faults of those named (none: all); a line of JSON each in `kept`, on disk at once.

    Those that `kept` has of this revision are not inflicted again.
    """
    try:
        done = list(_read(kept, revision))
    except (OSError, ValueError, KeyError) as err:
        raise UsageMistake(f"{kept}: not a file of outcomes: {err}") from err
    made = Repeated(revision, count, done)
    maker = Maker(runtime="native", cortex=stack.CORTEX, logs=kept.parent / f"{kept.stem}-logs")
    wanted = left(_wanted(only or IDS, count), [one.id for one in done])
    for one in _inflicted(maker, wanted, seed + len(done), made):
        kept_rows.keep(kept, {"id": one.id, "revision": revision, **asdict(one)})
        done.append(one)
        progress.say(outcomes.line(one))
    return made


def left(wanted: Sequence[Fault], done: Sequence[str]) -> list[Fault]:
    """What is wanted less what was done, by the faults' ids."""
    counted, found = Counter(done), []
    for fault in wanted:
        if counted[fault.id]:
            counted[fault.id] -= 1
        else:
            found.append(fault)
    return found


def _wanted(ids: Sequence[str], count: int) -> list[Fault]:
    """So many faults, in turn; those that want the same kind of stack follow one another."""
    listed = [fault for fault in FAULTS if fault.id in ids]
    turns = [listed[place % len(listed)] for place in range(count)]
    return sorted(turns, key=lambda fault: FAULTS.index(fault) * (fault.where != "stack"))


def _inflicted(
    maker: Maker, wanted: Sequence[Fault], seed: int, made: Repeated
) -> Iterator[Suffered]:
    for _, same in groupby(wanted, key=lambda fault: fault.where):
        some = list(same)
        for start in range(0, len(some), ON_ONE_STACK):
            together = some[start : start + ON_ONE_STACK]
            try:
                for one in inflicted(maker, together, seed + start):
                    if isinstance(one, Suffered):
                        yield one
                    else:
                        _crashed(one, made)
            except CannotMount as err:
                for fault in together:
                    made.not_done.append(f"{fault.id}: left out: {err}")
                    progress.say(made.not_done[-1])


def _crashed(one: Crashed, made: Repeated) -> None:
    made.crashed += 1
    made.not_done.append(f"{one.fault.id}: crashed: {one.why}")
    progress.say(made.not_done[-1])


def _read(kept: Path, revision: str) -> Iterator[Suffered]:
    for row in kept_rows.read(kept):
        of = row.pop("revision")
        row.pop("id")
        suffered = _READ.validate_python(row)
        if of == revision:
            yield suffered
