"""`python -m harness.proofs [PROOF …]`: runs what is missing of the proofs, writes the pages."""

import importlib
import sys
from pathlib import Path

import click

from harness import interrupts
from harness.environment import ROOT
from harness.errors import HarnessError
from harness.progress import say
from harness.proofs import PROOFS, Asked


@click.command()
@click.argument("proofs", nargs=-1, type=click.Choice(PROOFS))
@click.option("--count", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--part", "parts", multiple=True, help="Only these parts of a proof.")
@click.option(
    "--kept",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / ".cortex" / "harness" / "proofs",
    help="Where it goes on from.",
)
@click.option(
    "--pages",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "docs" / "proofs",
    help="Where the pages go.",
)
def main(
    proofs: tuple[str, ...], count: int, parts: tuple[str, ...], kept: Path, pages: Path
) -> None:
    """Run proofs (all of them when none is named); exit 1 where one does not hold."""
    kept.mkdir(parents=True, exist_ok=True)
    pages.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in proofs or PROOFS:
        say(f"proof {name}")
        with interrupts.heeded():
            holds = importlib.import_module(f"harness.proofs.{name}").prove(
                Asked(kept, pages, count, parts)
            )
        say(f"proof {name}: {'holds' if holds else 'does not hold, or is not whole yet'}")
        failed += [] if holds else [name]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except HarnessError as err:
        say(f"{type(err).__name__}: {err}")
        sys.exit(err.exit_code)
