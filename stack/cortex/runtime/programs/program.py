"""What the runtime must know of a program, whatever it is."""

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from cortex.runtime.layout import StackLayout
from cortex.runtime.plan import Plan


@dataclass(frozen=True, slots=True)
class Health:
    """What a service said: `version` is None where it is not ready, `lives` where it said anything.

    `hangs` where it took calls and answered none for as long as anybody waits.
    """

    version: str | None
    lives: bool
    hangs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What to run, and as what: each command must end well before the next; the last one serves.

    `run_as` are arguments of `subprocess` that name another user.
    """

    commands: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]
    folder: Path = Path("/")
    run_as: Mapping[str, object] = field(default_factory=dict)


PATIENCE_S = (2.0, 10.0, 2.0)
"""How long each look waits before a service counts as hung. A slow one answers the long look; the
last one is for a machine that stood still itself, after which a sound service answers at once."""


Say = Callable[[str], None]
"""Tells the user a line."""

Look = Callable[[float], Health]
"""Asks a service, given seconds to wait; raises `TimeoutError` for no answer in that time, and
another `OSError` where the call was refused or broken off."""


def looked_at(first: Look, again: Look) -> Health:
    """What a service says; one that gives no answer to the first look is slow, going, or hung.

    Takes `PATIENCE_S` where there is no answer at all.
    """
    hangs = True
    for look, patience_s in zip((first, again, again), PATIENCE_S, strict=True):
        try:
            return look(patience_s)
        except TimeoutError:
            continue
        except OSError:  # it goes, or is about to
            hangs = False
    return Health(None, lives=False, hangs=hangs)


def answered(url: str, client: httpx.Client, within_s: float) -> httpx.Response:
    """The answer to a GET; raises as a look does."""
    try:
        return client.get(url, timeout=within_s)
    except httpx.TimeoutException as err:
        raise TimeoutError(url) from err
    except httpx.HTTPError as err:
        raise ConnectionError(str(err)) from err


class Program:
    """A program as the runtime handles it; what most need is here, the rest each says itself."""

    secrets: tuple[str, ...] = ()
    """The secrets it is started with; made on the first `up` of a stack."""

    defaults: Mapping[str, str] = {}
    """Variables that are set only where the stack's starter did not set them."""

    asks_to_stop = signal.SIGTERM
    stop_within_s = 10.0
    lives_apart = False
    """Whether it tells that it lives apart from being ready: it is not replaced for the sake of
    another service then."""

    farewell: tuple[signal.Signals, float] = (signal.SIGKILL, 1.0)
    """How one that must be replaced is asked first, and the seconds it has before it is killed."""

    def fetch(self, say: Say) -> None:
        """Fetch what no package brings, telling how far it is; quick where it is there already."""

    def begin(self, plan: Plan, environment: Mapping[str, str], *, again: bool) -> Start:
        """Lay down what it needs; what to run. `environment` is that of the stack's starter.

        `again` where it was ready before. Raises `StackError` or `OSError`.
        """
        raise NotImplementedError

    def ask(self, plan: Plan, client: httpx.Client) -> Health:
        """Its health now; raises `Misconfigured` where it can never become ready."""
        raise NotImplementedError

    def first_ready(self, plan: Plan) -> None:
        """What is laid down in it once it serves; harmless when it is there already."""

    def serving(self, layout: StackLayout) -> dict[int, int]:
        """The server (id to ticks) that holds this stack's data, where its data says so."""
        return {}

    def left_behind(self, layout: StackLayout) -> dict[int, int]:
        """Processes (id to ticks) of it in this stack that bear no stack id any more."""
        return {}

    def target(self, plan: Plan) -> dict[str, Any]:
        """Where it answers, as `targets.json` has it, secrets included."""
        raise NotImplementedError
