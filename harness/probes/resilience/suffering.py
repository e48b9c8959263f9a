"""One fault from before it to after it: load, fault, the wait until all is whole, the check."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import httpx
import psycopg

from harness import mcp
from harness.errors import HarnessError
from harness.probes.resilience.checking import check
from harness.probes.resilience.faults import Fault
from harness.probes.resilience.ledger import Ledger
from harness.probes.resilience.load import CALL_WITHIN_S, Call, Caller, Load
from harness.probes.resilience.stacks import Stand
from harness.probes.workbench import told

WRITERS, SEARCHERS = 3, 2
BEFORE_S = 1.5
STEADY_FOR_S = 1.5
WHOLE_WITHIN_S = 30.0
GIVEN_UP_AFTER_S = 90.0
ASK_WITHIN_S, ASK_EVERY_S = 2.0, 0.2
WHOLE_STATUS = "ok"
SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Suffered:
    """What came of one fault; times in s from the beginning of the load.

    `recovery_s` counts from the fault's end to the first moment from which writes and searches
    succeed and every service is well; None where that never came.
    """

    fault: str
    service: str
    about: str
    began_s: float
    ended_s: float
    recovery_s: float | None
    writes: int
    items: int
    outcomes: dict[str, int]
    degraded: int
    longest_s: float
    lost: tuple[str, ...]
    unreported: tuple[str, ...]
    words: dict[str, int]
    seconds: tuple[tuple[int, int], ...] = field(default=())
    """Calls answered and failed in each second."""
    strays: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The fault's."""
        return f"{self.fault} {self.service}"

    @property
    def failings(self) -> list[str]:
        """In words, what was not as it must be."""
        found = [f"lost or wrong: {one}" for one in self.lost]
        found += [f"not reported: {one}" for one in self.unreported]
        found += [f"left behind: {one}" for one in self.strays]
        if self.recovery_s is None:
            found.append(f"not whole after {GIVEN_UP_AFTER_S:.0f} s")
        elif self.recovery_s > WHOLE_WITHIN_S:
            found.append(f"whole after {self.recovery_s:.1f} s")
        if not self.outcomes.get("acknowledged"):
            found.append("no call was acknowledged")
        if self.fault.startswith("fill the disk") and not _names_the_disk(self.words):
            found.append("no refusal names the disk")
        return found


@dataclass(frozen=True, slots=True)
class Crashed:
    """A fault that could not be inflicted to its end, or whose stack did not come up: and why."""

    fault: Fault
    why: str


def _names_the_disk(words: dict[str, int]) -> bool:
    return any("disk" in one or "space" in one for one in words)


def suffer(stand: Stand, fault: Fault, ledger: Ledger, seed: int) -> Suffered:
    """Inflict one fault under load; the ledger has all that was written."""
    load = Load(stand.mcp_url, stand.token, ledger, seed, WRITERS, SEARCHERS)
    with mcp.Client(stand.mcp_url, stand.token, CALL_WITHIN_S) as client:
        told(client, "CreateProject", name=ledger.project, slug=ledger.project)
        zero = time.monotonic()
        with load.running() as caller:
            time.sleep(BEFORE_S)
            ground = stand.ground()
            began = time.monotonic()
            fault.inflict(ground)
            ended = time.monotonic()
            whole = whole_from(partial(_is_whole, stand, caller), load)
        checked = check(client, ledger) if whole is not None else None
    lost = ("the stack did not come back; nothing could be looked at",)
    return _as_record(
        fault,
        load.calls,
        ledger,
        began_s=round(began - zero, 3),
        ended_s=round(ended - zero, 3),
        zero=zero,
        recovery_s=None if whole is None else round(max(0.0, whole - ended), 3),
        lost=checked.wrong if checked else lost,
    )


def whole_from(look: Callable[[], bool], load: Load) -> float | None:
    """The first moment from which all is well, and stays so for a while; None if it never is.

    One good look is not enough: a process that was just told to end still answers. A look that had
    to wait for the stack found it whole at its end.
    """
    since: float | None = None
    deadline = time.monotonic() + GIVEN_UP_AFTER_S
    while time.monotonic() < deadline:
        whole = look()
        at = time.monotonic()
        if not whole:
            since = None
        elif since is None or not _all_acknowledged(load.calls, since):
            since = at
        # A call of that while that has not ended may still fail.
        elif at - since > STEADY_FOR_S and not load.has_open(since, since + STEADY_FOR_S):
            return since
        time.sleep(ASK_EVERY_S)
    return None


def _all_acknowledged(calls: Sequence[Call], since: float) -> bool:
    later = (call for call in list(calls) if call.began_s >= since)
    return all(call.outcome == "acknowledged" for call in later)


def _is_whole(stand: Stand, caller: Caller) -> bool:
    """Every service is well by its own word and by its operator's; a write and a search succeed."""
    if not all(_is_well(url) for url in stand.health_urls):
        return False
    with contextlib.suppress(psycopg.OperationalError, HarnessError):
        psycopg.connect(stand.database_url, connect_timeout=2).close()
        if any(row.state != "ready" for row in stand.stack.status().values()):
            return False
        if caller.add(1).outcome == "acknowledged":
            found = caller.search()
            return found.outcome == "acknowledged" and not found.degraded
    return False


def _is_well(url: str) -> bool:
    try:
        answer = httpx.get(url, timeout=ASK_WITHIN_S, trust_env=False)
        return answer.status_code == 200 and (
            not answer.content or answer.json().get("status", WHOLE_STATUS) == WHOLE_STATUS
        )
    except (httpx.HTTPError, ValueError, AttributeError):
        return False


def _as_record(
    fault: Fault,
    calls: Sequence[Call],
    ledger: Ledger,
    *,
    began_s: float,
    ended_s: float,
    zero: float,
    recovery_s: float | None,
    lost: tuple[str, ...],
) -> Suffered:
    failed = [call for call in calls if call.outcome != "acknowledged"]
    words = Counter(f"{call.tool}: {call.words}" for call in failed)
    return Suffered(
        fault=fault.name,
        service=fault.service,
        about=fault.about,
        began_s=began_s,
        ended_s=ended_s,
        recovery_s=recovery_s,
        writes=ledger.acknowledged,
        items=len(ledger.entries),
        outcomes=dict(Counter(call.outcome for call in calls)),
        degraded=sum(call.degraded for call in calls),
        longest_s=round(max((call.took_s for call in calls), default=0.0), 3),
        lost=lost,
        unreported=tuple(
            f"{call.tool}: {call.words}" for call in calls if call.outcome == "unreported"
        ),
        words=dict(words.most_common(SHOWN)),
        seconds=tuple(_by_second(calls, zero)),
    )


def _by_second(calls: Sequence[Call], zero: float) -> Iterator[tuple[int, int]]:
    """Calls by the second in which they ended."""
    ends = [(int(call.began_s + call.took_s - zero), call.outcome) for call in calls]
    for second in range(max((end for end, _ in ends), default=-1) + 1):
        here = [outcome for end, outcome in ends if end == second]
        good = here.count("acknowledged")
        yield good, len(here) - good
