"""From a profile to a plan: every call and every moment is settled before anything is sent."""

import random
from collections.abc import Sequence

from harness.measures.schedule import arrivals
from harness.probes.load.asked import Asked
from harness.probes.load.profiles import Closed, Mix, Open, Phase
from harness.probes.load.workloads import WORKLOADS
from loadtests.plans import Call, Plan

START_WITHIN_S = 60.0
SLOWEST_CALL_S = 5.0


def closed(asked: Asked, size: Closed) -> Plan:
    """So many calls by so many callers."""
    count = size.warm_up + size.searches
    return Plan(
        model="closed",
        calls=mixed(asked, size.mix, count),
        users=size.users,
        warm_up=size.warm_up,
        think_s=size.think_s,
        processes=size.processes,
        moments=[],
        limit_s=START_WITHIN_S + count * (SLOWEST_CALL_S / size.users + size.think_s),
    )


def opened(asked: Asked, size: Open) -> Plan:
    """A call at each of its moments."""
    moments = planned(size.stretches, asked.seed, size)
    return Plan(
        model="open",
        calls=mixed(asked, size.mix, len(moments)),
        moments=moments,
        warm_up_s=size.warm_up_s,
        pool=size.pool,
        processes=size.processes,
        limit_s=START_WITHIN_S + moments[-1] + 30 * SLOWEST_CALL_S,
    )


def planned(phases: Sequence[Phase], seed: int, size: Open) -> list[float]:
    """The moments of all phases, in seconds from the start of the first."""
    moments: list[float] = []
    start = 0.0
    for number, phase in enumerate(phases):
        own = arrivals(phase.per_second, phase.seconds, seed + number, size.law)
        moments += [start + moment for moment in own]
        start += phase.seconds
    return moments


def mixed(asked: Asked, mix: Mix, count: int) -> list[Call]:
    """So many different calls, of each workload its share, in an order drawn from the seed."""
    whole = sum(mix.values())
    counts = {name: int(count * share / whole) for name, share in mix.items()}
    counts[max(mix, key=lambda name: mix[name])] += count - sum(counts.values())
    calls = [call for name, many in counts.items() for call in WORKLOADS[name].calls(asked, many)]
    if len(mix) > 1:
        random.Random(asked.seed).shuffle(calls)
    return calls
