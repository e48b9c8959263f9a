"""Faults one after the other on one stack, and what is left when it is taken down."""

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness import mcp, progress
from harness.probes.resilience.checking import check
from harness.probes.resilience.disks import CannotMount
from harness.probes.resilience.faults import Fault
from harness.probes.resilience.ledger import Ledger
from harness.probes.resilience.load import CALL_WITHIN_S
from harness.probes.resilience.stacks import Maker, Stand
from harness.probes.resilience.suffering import Crashed, Suffered, suffer
from harness.stack import OwnStack

GONE_WITHIN_S = 5.0


def inflicted(maker: Maker, faults: Sequence[Fault], seed: int) -> Iterator[Suffered | Crashed]:
    """Each fault's outcome as it is known; one that the stack does not survive gets it replaced.

    So does one that could not be inflicted to its end. The last outcome of a stack also tells what
    was lost since it was looked at, and which processes the stack left behind. All faults must want
    the same kind of stack. Raises `CannotMount` before the first.
    """
    left = list(faults)
    while left:
        yield from _on_one_stack(maker, left, seed)


def _on_one_stack(maker: Maker, left: list[Fault], seed: int) -> Iterator[Suffered | Crashed]:
    """As many of the faults as one stack survives; those are taken from `left`."""
    last: Suffered | None = None
    ledgers: list[Ledger] = []
    own: OwnStack | None = None
    under: Fault | None = left[0]
    count = len(left)
    try:
        with maker.standing(left[0].where) as stand:
            own = stand.stack
            while left and (last is None or last.recovery_s is not None):
                if last is not None:
                    yield last
                    last = None
                under = left.pop(0)
                progress.say(f"{under.id}: {under.about}")
                ledgers.append(Ledger(f"{_slug(under)}-{secrets.token_hex(3)}"))
                last, under = suffer(stand, under, ledgers[-1], seed + len(left)), None
            if last is not None and last.recovery_s is not None:
                last = replace(last, lost=(*last.lost, *_lost_since(stand, ledgers[:-1])))
    except CannotMount:
        raise
    except Exception as err:  # noqa: BLE001 - the other faults are still to be inflicted
        why = f"{type(err).__name__}: {err}"
        if len(left) == count:
            under = left.pop(0)
        if under is not None:
            yield Crashed(under, why)
        elif last is not None:
            last = replace(last, lost=(*last.lost, f"the stack could not be looked at: {why}"))
    if last is not None:
        yield replace(last, strays=tuple(_strays(own)) if own else ())


def _slug(fault: Fault) -> str:
    return fault.id.replace(" ", "-")


def _lost_since(stand: Stand, ledgers: Sequence[Ledger]) -> Iterator[str]:
    """What was written under earlier faults, looked at once more."""
    with mcp.Client(stand.mcp_url, stand.token, CALL_WITHIN_S) as client:
        for ledger in ledgers:
            for wrong in check(client, ledger).wrong:
                yield f"at the end, of {ledger.project}: {wrong}"


def _strays(own: OwnStack) -> Iterator[str]:
    """Processes of a stack that is down."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while (there := own.processes()) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid, command in there.items():
        yield f"{pid}: {command}"
