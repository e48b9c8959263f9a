"""The load suite: searches a memory server with Locust, in a closed and in an open model.

Each profile runs in a process of its own, against a server that is started like the stack's own and
calls the real embedding service: nothing is cached. A run that did not keep to its plan is invalid:
it is measured once more, and if it is invalid again it says so and counts for nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness import progress
from harness.errors import NothingCollected
from harness.evalsets.records import EvalSet
from harness.measures.schedule import arrivals
from harness.probes.load import locust, profiles, searches, writing
from harness.probes.load.judging import Measured, judged
from harness.probes.load.profiles import Closed, LoadProfile
from harness.probes.workbench import Loaded, Variant
from harness.results import Record
from loadtests.plans import Plan

if TYPE_CHECKING:
    from harness.suites import Context

ATTEMPTS = 2
START_WITHIN_S = 60.0
SLOWEST_SEARCH_S = 5.0


def measure(context: "Context") -> Iterator[Record]:
    """Run every profile, and yield what was measured."""
    wanted = profiles.read_all(context.load_profiles, context.profile)
    if not wanted:
        raise NothingCollected(f"no profile in {context.load_profiles}")
    if not context.sets:
        raise NothingCollected("no eval set to search in; put one into evals/relevance")
    done: list[Measured] = []
    for profile in wanted:
        done.append(_run(context, profile))
        yield from writing.records(done[-1])
        writing.write_tables(context.folder, done)


def _run(context: "Context", profile: LoadProfile) -> Measured:
    loaded = context.bench.load(_chosen(context.sets, profile.size.sets))
    for attempt in range(1, ATTEMPTS + 1):
        with context.bench.servers(
            loaded.database_url, [Variant(f"load-{profile.name}", cached=False)]
        ) as (client,):
            log = context.folder.path / "logs" / f"locust-{profile.name}.log"
            plan = _plan(context, profile, loaded, client.url)
            measured = judged(profile, plan, locust.run(plan, profile.name, log))
        if not measured.reasons:
            break
        if attempt < ATTEMPTS:
            progress.say(f"  {profile.name}: invalid ({measured.reasons[0]}); measuring once more")
    return measured


def _chosen(sets: tuple[EvalSet, ...], wanted: list[str]) -> EvalSet:
    """The first wanted set that is there, else the largest."""
    by_name = {one.name: one for one in sets}
    named = [by_name[name] for name in wanted if name in by_name]
    return named[0] if named else max(sets, key=lambda one: len(one.documents))


def _plan(context: "Context", profile: LoadProfile, loaded: Loaded, url: str) -> Plan:
    size, token = profile.size, context.targets.services.memory.token
    if isinstance(size, Closed):
        count = size.warm_up + size.searches
        calls = searches.calls(loaded, count, context.seed, token)
        return Plan(
            model="closed",
            url=url,
            calls=calls,
            users=size.users,
            warm_up=size.warm_up,
            think_s=size.think_s,
            moments=[],
            limit_s=START_WITHIN_S + count * (SLOWEST_SEARCH_S / size.users + size.think_s),
        )
    moments = list(arrivals(size.per_second, size.seconds, context.seed, size.law))
    # Another seed than the closed profile's, so that no search is asked in both.
    calls = searches.calls(loaded, len(moments), context.seed + 1, token)
    return Plan(
        model="open",
        url=url,
        calls=calls,
        moments=moments,
        warm_up_s=size.warm_up_s,
        pool=size.pool,
        limit_s=START_WITHIN_S + size.seconds + 30 * SLOWEST_SEARCH_S,
    )
