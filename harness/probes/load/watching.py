"""What goes on beside a load: what the stack's processes use, what Postgres runs, and its plans."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from harness import progress
from harness.errors import StackFailed
from harness.measures.latency import Latencies
from harness.measures.plans import Plans
from harness.probes import plans, resources, statements
from harness.probes.load import planning
from harness.probes.load.asked import Asked
from harness.probes.load.judging import Measured
from harness.probes.load.profiles import Mix
from harness.probes.resources import Sampled
from harness.probes.statements import Statement
from harness.probes.workbench import Variant
from loadtests.plans import Call

if TYPE_CHECKING:
    from harness.suites import Context

EXPLAINED_CALLS = 60
"""Calls of the pass in which Postgres explains: beyond the fifth, a plan may be a generic one."""

ANSWERED_WITHIN_S = 30.0
NOT_ASKED = "memory (not asked)"
LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass
class Watched:
    """What was seen while a load ran; complete when it is over."""

    resources: Sampled = field(default_factory=Sampled)
    statements: list[Statement] = field(default_factory=list)
    no_statements: str = ""
    plans: Plans = field(default_factory=Plans)

    @property
    def texts(self) -> dict[int, str]:
        """The statements' texts by query id."""
        return {queryid: one.text for one in self.statements for queryid in one.queryids}


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a whole run: how many were sent, and the mean time that one took, in ms."""

    sent: int
    service_ms: float


@contextlib.contextmanager
def watching(context: "Context", asked: Asked) -> Iterator[Watched]:
    """Look at processes and statements while inside."""
    watched = Watched()
    postgres = context.targets.services.postgres
    before = None
    if postgres is None:
        watched.no_statements = "the stack does not say where its Postgres is"
    else:
        before = statements.snapshot(postgres.url, asked.loaded.database_url)
    with resources.sampling(roots(context)) as watched.resources:
        yield watched
    if postgres is not None and before is not None:
        after = statements.snapshot(postgres.url, asked.loaded.database_url)
        watched.no_statements = before.unavailable or after.unavailable
        if not watched.no_statements:
            watched.statements = statements.between(before, after)


def roots(context: "Context") -> dict[str, Sequence[int]]:
    """The processes of each service; none of a stack on another machine, whose ids mean others."""
    services = context.targets.services
    found: dict[str, Sequence[int]] = {}
    own = [pid for name, pid in context.bench.started if name.startswith("load-")]
    if own:
        found["memory"] = own
    told = [
        (NOT_ASKED if own else "memory", services.memory),
        ("embedding", services.embedding),
        ("postgres", services.postgres),
    ]
    for name, service in told:
        if service is not None and service.pids and urlsplit(service.url).hostname in LOCAL:
            found[name] = service.pids
    return found


def calls_of(measured: Measured) -> Calls:
    """Of a ramp all steps together."""
    runs = [one.measured for one in measured.climb.steps] if measured.climb else [measured]
    times = [Latencies(one.recorded.service) for one in runs]
    answered = sum(one.n for one in times)
    mean_ms = sum(one.mean_ms * one.n for one in times) / answered if answered else 0.0
    return Calls(sum(one.sent for one in runs), mean_ms)


def explained(context: "Context", name: str, mix: Mix, asked: Asked, watched: Watched) -> Plans:
    """The plans of what the load runs, from calls of a pass of its own that nothing is timed in."""
    bench, postgres = context.bench, context.targets.services.postgres
    url = asked.loaded.database_url
    if postgres is None or url is None or not bench.can_start_servers:
        return Plans(unavailable="this run did not start the stack: its sessions are not ours")
    if not watched.statements:
        return Plans(unavailable=watched.no_statements or "no statement was run")
    progress.say(f"  {name}: {EXPLAINED_CALLS} calls with their plans")
    variant = Variant(f"plans-{name}", cached=False)
    with plans.explaining(url, postgres.log) as found:
        try:
            with bench.servers(url, [variant]) as (client,):
                fresh = replace(
                    asked, memory_url=client.url, seed=asked.seed + 500_000, own_queries=False
                )
                _send(planning.mixed(fresh, mix, EXPLAINED_CALLS))
        except StackFailed as err:  # what was timed stands without its plans
            return Plans(unavailable=str(err))
    return found.plans(EXPLAINED_CALLS, watched.texts)


def _send(calls: Sequence[Call]) -> None:
    """One call after the other."""
    with httpx.Client(timeout=ANSWERED_WITHIN_S, trust_env=False) as client:
        for call in calls:
            try:
                client.post(call.url, headers=call.headers, content=call.body.encode())
            except httpx.HTTPError as err:
                raise StackFailed(f"{call.workload} failed while explained: {err}") from err
