"""Asks both builds the same queries in short blocks, one after the other, in pairs."""

import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness import mcp
from harness.comparing.placing import Dealer
from harness.errors import StackFailed
from harness.measures.stages import OUTSIDE, TOTAL, UNATTRIBUTED, split
from harness.probes.load.asked import Asked
from harness.probes.load.workloads import memory_search
from harness.probes.search_cost.asking import Asker
from harness.probes.workbench import Loaded
from harness.targets import Targets
from loadtests.plans import Call

BASE, CANDIDATE = "base", "candidate"
RESPONSE, MEAN, INSIDE = "response", "response, mean", "in the server"
WHOLES = (RESPONSE, MEAN, INSIDE)
"""Series that are not a part of the response but the whole of it, or of what the server saw."""
RESTS = (UNATTRIBUTED, OUTSIDE)
"""What is left of a response beside the stages it waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One build asked one pair's queries: the middle of each series it told, in ms."""

    pair: int
    build: str
    first: bool
    calls: int
    middles_ms: dict[str, float]


@dataclass(frozen=True, slots=True)
class Side:
    """A build that is up and loaded."""

    name: str
    targets: Targets
    loaded: Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many pairs of blocks, how many timed calls a block, calls before them, and the seed."""

    pairs: int
    calls: int
    warm_up: int
    seed: int


def alternate(sides: Sequence[Side], plan: Plan) -> Iterator[Block]:
    """The blocks as they end; two pairs that follow each other have opposite orders."""
    each = plan.warm_up + plan.calls
    asked = [_calls(side, plan.pairs * each, plan.seed) for side in sides]
    askers = [_Caller(side) for side in sides]
    dealers = [Dealer(side.targets) for side in sides]
    for pair, base_first in enumerate(_orders(plan.pairs, plan.seed)):
        order = (0, 1) if base_first else (1, 0)
        for turn, place in enumerate(order):
            dealers[place].deal(random.Random(f"{plan.seed} {pair}"))
            calls = asked[place][pair * each : (pair + 1) * each]
            middles = askers[place].block(calls, plan.warm_up)
            yield Block(
                pair=pair,
                build=sides[place].name,
                first=turn == 0,
                calls=plan.calls,
                middles_ms=middles,
            )


def _orders(pairs: int, seed: int) -> list[bool]:
    """Whether the base goes first: by chance, but as often as not, and never long the same."""
    chance = random.Random(seed)
    orders: list[bool] = []
    while len(orders) < pairs:
        first = chance.random() < 0.5
        orders += [first, not first]
    return orders[:pairs]


def _calls(side: Side, count: int, seed: int) -> list[Call]:
    """Searches no build was asked yet: a server keeps the vectors of queries it knows."""
    services = side.targets.services
    asked = Asked(
        loaded=side.loaded,
        memory_url=services.memory.mcp_url,
        embedding_url=services.embedding.url,
        token=services.memory.token,
        scratch_project="",
        seed=seed,
        own_queries=False,
    )
    return memory_search.calls(asked, count)


class _Caller:
    """One caller of one build who waits for each answer."""

    def __init__(self, side: Side) -> None:
        place = urlsplit(side.targets.services.memory.mcp_url)
        self._name = side.name
        self._asker = Asker(f"{place.scheme}://{place.netloc}")

    def block(self, calls: Sequence[Call], warm_up: int) -> dict[str, float]:
        """The middle of each series over the calls, after the warm-up, that told it."""
        for call in calls[:warm_up]:
            self._timed(call)
        timed = [self._timed(call) for call in calls[warm_up:]]
        names = dict.fromkeys(name for one in timed for name in one)
        # What a call does not tell took no time that is known: it is no zero.
        middles = {
            name: statistics.median(one[name] for one in timed if name in one) for name in names
        }
        middles[MEAN] = statistics.fmean(one[RESPONSE] for one in timed)
        return middles

    def _timed(self, call: Call) -> dict[str, float]:
        """One call's response time and its parts in ms; a failure voids the comparison."""
        try:
            content, took_s, timing = self._asker.sent(call.headers, call.body.encode())
        except (mcp.ToolRefused, mcp.BadAnswer, OSError) as err:
            raise StackFailed(f"{self._name}: a search failed: {err}") from err
        if content.get("degraded"):
            raise StackFailed(f"{self._name}: a search was degraded: {content['degraded']}")
        return parts(1000 * took_s, timing)


def parts(response_ms: float, timing: str) -> dict[str, float]:
    """A response with how long each stage of its `Server-Timing` ran, and the rests, in ms.

    The rests are those of `measures.stages`: stages may overlap, or be a part of another one.
    """
    stretches = mcp.stretches_of(timing)
    found = split(stretches, response_ms)
    told = {RESPONSE: response_ms, **found.ran}
    told |= {name: found.rests[name] for name in RESTS if name in found.rests}
    if inside := [one.took_ms for one in stretches if one.name == TOTAL]:
        told[INSIDE] = sum(inside)
    return told
