"""Ctrl-C and SIGTERM: the first one interrupts, but never while something is half started."""

import contextlib
import signal
from collections.abc import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM, by another name.

    Python ends with the signal's own code, whatever its exit code is to be, once a plain
    KeyboardInterrupt has passed through code made from text, as half the imports have it.
    """


class _State:
    """How many sections hold an interrupt back, and whether one waits."""

    holding = 0
    waiting = False


def _arrived(*_: object) -> None:
    # Later ones do not stop the clearing up.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if _State.holding:
        _State.waiting = True
    else:
        raise Interrupted


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """While inside, the first Ctrl-C or SIGTERM is a KeyboardInterrupt, later ones are ignored."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, _arrived)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """While inside, and where `heeded` is not inside of it, no Ctrl-C or SIGTERM is heard.

    For judging and writing what was measured: seconds, and a verdict is lost otherwise.
    """
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """While inside, an interrupt waits; it is raised at the end."""
    _State.holding += 1
    try:
        yield
    finally:
        _State.holding -= 1
    if _State.waiting and not _State.holding:
        _State.waiting = False
        raise Interrupted
