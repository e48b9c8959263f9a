"""`python -m harness.probes.resilience`: many faults; a file of outcomes is gone on with."""

from pathlib import Path

import click

from harness import environment, interrupts, progress
from harness.errors import UsageMistake
from harness.probes.resilience import proof
from harness.probes.resilience.repeated import IDS, repeated


@click.command()
@click.option("--faults", "count", type=click.IntRange(1), default=36, show_default=True)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(IDS),
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
        with interrupts.heeded():
            made = repeated(count, only, out, seed, environment.revision().name)
    except UsageMistake as err:
        raise click.UsageError(str(err)) from err
    if page:
        page.write_text(proof.page(made), encoding="utf-8")
    failed = [one for one in made.done if one.failings]
    progress.say(f"{len(made.done)} of {count} faults, {len(failed)} with failings")
    if not made.holds:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
