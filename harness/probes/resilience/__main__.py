"""`python -m harness.probes.resilience`: the long proof; a file of outcomes is gone on with."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import click
import pydantic

from harness import interrupts, progress, stack
from harness.probes.resilience import outcomes, proof
from harness.probes.resilience.disks import CannotMount
from harness.probes.resilience.faults import FAULTS, Fault
from harness.probes.resilience.sequence import inflicted
from harness.probes.resilience.stacks import Maker
from harness.probes.resilience.suffering import Suffered

_READ: pydantic.TypeAdapter[Suffered] = pydantic.TypeAdapter(Suffered)
_IDS = [fault.id for fault in FAULTS]
ON_ONE_STACK = 12
"""How many faults one stack suffers, at most, before it is taken down and looked at for strays."""


@click.command()
@click.option("--faults", "count", type=click.IntRange(1), default=36, show_default=True)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(_IDS),
    metavar="FAULT",
    help="Only this one, such as 'kill postgres'; may be said several times.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="A line of JSON an outcome; what is in it already is not done again.",
)
@click.option(
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the Markdown page of all outcomes.",
)
@click.option("--seed", type=int, default=1729, show_default=True)
def main(count: int, only: tuple[str, ...], out: Path, page: Path | None, seed: int) -> None:
    """Inflict COUNT faults, each of the table in turn, and append what came of them to a file."""
    try:
        done = list(_read(out))
    except (OSError, ValueError) as err:
        raise click.UsageError(f"{out}: not a file of outcomes: {err}") from err
    wanted = _wanted(only or tuple(_IDS), count)[len(done) :]
    out.parent.mkdir(parents=True, exist_ok=True)
    logs = out.parent / f"{out.stem}-logs"
    maker = Maker(runtime="native", cortex=stack.CORTEX, logs=logs)
    with interrupts.heeded(), out.open("a", encoding="utf-8") as lines:
        for one in _inflicted(maker, wanted, seed + len(done)):
            lines.write(json.dumps(asdict(one)) + "\n")
            lines.flush()
            done.append(one)
            progress.say(outcomes.line(one))
    if page:
        page.write_text(proof.page(done), encoding="utf-8")
    failed = [one for one in done if one.failings]
    progress.say(f"{len(done)} faults, {len(failed)} with failings")
    if failed:
        raise SystemExit(1)


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


def _read(out: Path) -> Iterator[Suffered]:
    if out.exists():
        for line in out.read_text(encoding="utf-8").splitlines():
            yield _READ.validate_json(line)


if __name__ == "__main__":
    main()
