"""How far a long piece of work is: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from harness.plain_text import UNSHOWN

EVERY_S = 5.0
Step = Callable[[int], None]


def say(text: str) -> None:
    """Print a text now; what it quotes cannot speak to the terminal or to a CI runner."""
    tell(plain(text))


def tell(line: str) -> None:
    """Print a line as it is: one that is meant to be a command of a CI runner."""
    click.echo(line)
    sys.stdout.flush()


def plain(text: str) -> str:
    """A text without control characters and workflow commands, wherever its lines begin.

    GitHub takes a line for a command that begins with `::`, or has `##[` anywhere.
    """
    lines = [line.translate(UNSHOWN).replace("##[", "## [") for line in text.splitlines()]
    return "\n".join(f"| {line}" if line.lstrip().startswith("::") else line for line in lines)


@contextmanager
def steps(what: str, count: int) -> Iterator[Step]:
    """A function to call with the number of steps done since the last call."""
    if sys.stdout.isatty():
        with click.progressbar(length=count, label=f"{what:<44}", width=24) as bar:
            yield bar.update
        return
    yield _Lines(what, count).update


class _Lines:
    """Says at most every few seconds how many steps are done, and always the end."""

    def __init__(self, what: str, count: int) -> None:
        self._what, self._count, self._done = what, count, 0
        self._started = self._said = time.monotonic()

    def update(self, more: int) -> None:
        self._done += more
        now = time.monotonic()
        if self._done >= self._count or now - self._said >= EVERY_S:
            self._said = now
            took_s = now - self._started
            say(f"  {self._what}: {self._done}/{self._count} after {took_s:.1f} s")
