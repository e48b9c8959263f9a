"""Ctrl-C and SIGTERM: the first one interrupts, but never while something is half started."""

import contextlib
import signal
from collections.abc import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
        raise KeyboardInterrupt


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
def held() -> Iterator[None]:
    """While inside, an interrupt waits; it is raised at the end."""
    _State.holding += 1
    try:
        yield
    finally:
        _State.holding -= 1
    if _State.waiting and not _State.holding:
        _State.waiting = False
        raise KeyboardInterrupt
