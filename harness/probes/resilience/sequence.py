"""Faults one after the other on one stack, and what is left when it is taken down."""

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness import mcp, progress
from harness.probes.resilience.checking import check
from harness.probes.resilience.faults import Fault
from harness.probes.resilience.ledger import Ledger
from harness.probes.resilience.load import CALL_WITHIN_S
from harness.probes.resilience.stacks import Maker, Stand
from harness.probes.resilience.suffering import Suffered, suffer
from harness.stack import OwnStack

GONE_WITHIN_S = 5.0


def inflicted(maker: Maker, faults: Sequence[Fault], seed: int) -> Iterator[Suffered]:
    """Each fault's outcome as it is known; one that the stack does not survive gets it replaced.

    The last outcome of a stack also tells what was lost since it was looked at, and which processes
    the stack left behind. All faults must want the same kind of stack.
    """
    left = list(faults)
    while left:
        last: Suffered | None = None
        ledgers: list[Ledger] = []
        with maker.standing(left[0].where) as stand:
            while left and (last is None or last.recovery_s is not None):
                if last is not None:
                    yield last
                fault = left.pop(0)
                progress.say(f"{fault.id}: {fault.about}")
                ledgers.append(Ledger(f"{_slug(fault)}-{secrets.token_hex(3)}"))
                last = suffer(stand, fault, ledgers[-1], seed + len(left))
            own = stand.stack
            if last is not None and last.recovery_s is not None:
                last = replace(last, lost=(*last.lost, *_lost_since(stand, ledgers[:-1])))
        if last is not None:
            yield replace(last, strays=tuple(_strays(own)))


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
