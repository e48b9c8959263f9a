"""How far a long piece of work is: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

EVERY_S = 5.0
Step = Callable[[int], None]


def say(text: str) -> None:
    """Print one line now."""
    click.echo(text)
    sys.stdout.flush()


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
