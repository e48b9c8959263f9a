"""Whether a load run kept to its plan: if not, its figures are not the server's."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.measures.latency import Latencies
from harness.probes.load.locust import Recorded
from harness.probes.load.profiles import Closed, LoadProfile, Open
from loadtests.plans import Plan

if TYPE_CHECKING:
    from harness.probes.load.ramp import Climb
    from harness.probes.load.watching import Watched


@dataclass(frozen=True, slots=True)
class Measured:
    """One profile's run, and the reasons why it does not count (none when it does).

    `client_reasons` are those of them that lie with the client, whatever the server did. `sent`
    counts the warm-up too.
    """

    profile: LoadProfile
    recorded: Recorded
    planned: int
    achieved: float
    throughput: float
    client_cores: float
    reasons: list[str]
    client_reasons: list[str]
    ceiling: float
    sent: int = 0
    climb: "Climb | None" = None
    watched: "Watched | None" = None


MOST_WITHOUT_HIT = 0.5
SAME_HIT = 20
"""So many different searches with one and the same first hit are no searches."""


def _found(recorded: Recorded) -> list[str]:
    """Was anything searched at all? A server that need not look is as fast as it likes."""
    reasons = []
    searches = recorded.with_hits + recorded.without_hits
    if recorded.without_hits > MOST_WITHOUT_HIT * searches:
        reasons.append(f"{recorded.without_hits} of {searches} searches found nothing")
    if recorded.with_hits >= SAME_HIT and len(recorded.first_hits) < 2:
        reasons.append(
            f"all {recorded.with_hits} searches that found something had the same first hit"
        )
    return reasons


def judged(
    profile: LoadProfile, size: Closed | Open, plan: Plan, recorded: Recorded, ceiling: float
) -> Measured:
    """Did the run keep to its plan? `ceiling`: calls a second the client can make by itself."""
    valid = profile.valid
    rate = recorded.answered / recorded.elapsed_s if recorded.elapsed_s else 0.0
    if isinstance(size, Open):
        planned = sum(moment >= size.warm_up_s for moment in plan.moments)
        # That the last call takes as long as any is no shortfall; a queue left to drain is.
        usual_s = (
            Latencies(recorded.response).quantile(0.5).value_ms / 1000 if recorded.answered else 0
        )
        span_s = max(plan.moments[-1] - size.warm_up_s, recorded.elapsed_s - usual_s)
        achieved = (recorded.answered / span_s) / (planned / (plan.moments[-1] - size.warm_up_s))
    else:
        planned, achieved = size.searches, recorded.answered / size.searches
    cores = sum(recorded.cpu_cores) / len(recorded.cpu_cores) if recorded.cpu_cores else 0.0
    short, late = [], []
    if recorded.lost:
        late.append(f"{recorded.lost} of {plan.processes} client processes were lost")
    if recorded.answered == 0:
        short.append("nothing was answered")
    if achieved < valid.achieved:
        short.append(f"achieved {achieved:.3f} of what was asked; want {valid.achieved}")
    short += _found(recorded)
    if recorded.dropped:
        short.append(f"{recorded.dropped} arrivals dropped: the pool was full")
    if cores > valid.client_cores:
        late.append(f"the client used {cores:.2f} cores; want at most {valid.client_cores}")
    asked = max(one.per_second for one in size.stretches) if isinstance(size, Open) else rate
    if asked > valid.client_share * ceiling:
        late.append(
            f"{asked:.0f} calls a second are more than {valid.client_share:g} of what the client "
            f"can do by itself ({ceiling:.0f})"
        )
    if recorded.answered:
        lag = Latencies(recorded.lag).quantile(0.99).value_ms
        if lag > valid.lag_p99_ms:
            late.append(f"sent {lag:.0f} ms late at p99; want {valid.lag_p99_ms:.0f} at most")
    return Measured(
        profile=profile,
        recorded=recorded,
        sent=len(plan.calls) - recorded.dropped,
        planned=planned,
        achieved=achieved,
        throughput=rate,
        client_cores=cores,
        reasons=short + late,
        client_reasons=late,
        ceiling=ceiling,
    )
