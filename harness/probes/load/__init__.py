"""The load suite: calls a memory server and what it needs with Locust, closed, open or ramping up.

Each profile runs in a process of its own, against a server that is started like the stack's own and
calls the real embedding service: nothing is cached. A run that did not keep to its plan is invalid:
it is measured once more, and if it is invalid again it says so and counts for nothing.
"""

import contextlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness import progress
from harness.errors import NothingCollected
from harness.evalsets.records import EvalSet
from harness.probes.load import floor, locust, planning, profiles, watching, where, writing
from harness.probes.load.asked import Asked
from harness.probes.load.ceiling import Ceilings
from harness.probes.load.judging import Measured, judged
from harness.probes.load.profiles import Closed, LoadProfile, Open, Ramp
from harness.probes.load.ramp import climb
from harness.probes.load.workloads import WORKLOADS
from harness.probes.workbench import Variant, told
from harness.results import Record

if TYPE_CHECKING:
    from harness.suites import Context

ATTEMPTS = 2


def measure(context: "Context") -> Iterator[Record]:
    """Run every profile, and yield what was measured."""
    wanted = profiles.read_all(context.load_profiles, context.profile)
    if not wanted:
        raise NothingCollected(f"no profile in {context.load_profiles}")
    if not context.sets:
        raise NothingCollected("no eval set to search in; put one into evals/relevance")
    yield from floor.records(context, _chosen(context.sets, ["scifact", "memory-notes"]))
    done: list[Measured] = []
    ceilings = Ceilings(context.folder.path / "logs")
    for profile in wanted:
        if profile.adapter and not (context.bench.has_strategies and context.bench.has_database):
            progress.say(f"  {profile.name}: left out; {profile.adapter} needs a stack of our own")
            continue
        with _for(context, profile) as own:
            done.append(_run(own, profile, ceilings.of(profile.size.processes)))
        yield from writing.records(done[-1])
        yield from where.records(done[-1])
        writing.write_tables(context.folder, done)
        where.write_tables(context.folder, done)


@contextlib.contextmanager
def _for(context: "Context", profile: LoadProfile) -> Iterator["Context"]:
    """The context with the server a profile is about: the product's, or an adapter's."""
    if not profile.adapter:
        yield context
        return
    with context.bench.adapted(profile.adapter) as bench:
        yield replace(context, bench=bench)


def _run(context: "Context", profile: LoadProfile, ceiling: float) -> Measured:
    """One profile, measured again where the run did not keep to its plan."""
    for attempt in range(1, ATTEMPTS + 1):
        with asking(context, profile, attempt) as asked:
            with watching.watching(context, asked) as watched:
                found = measured(context, profile, asked, ceiling)
            if not found.reasons or attempt == ATTEMPTS:
                mix = profile.size.mix
                watched.plans = watching.explained(context, profile.name, mix, asked, watched)
                return replace(found, watched=watched)
        progress.say(f"  {profile.name}: invalid ({found.reasons[0]}); measuring once more")
    raise AssertionError("the last attempt returns, whatever it measured")


@contextlib.contextmanager
def asking(context: "Context", profile: LoadProfile, attempt: int) -> Iterator[Asked]:
    """A server of the profile's own over the eval set; over a copy of it where calls write."""
    loaded = context.bench.load(_chosen(context.sets, profile.size.sets))
    writes = any(WORKLOADS[name].writes for name in profile.size.mix)
    if writes:
        loaded = context.bench.copied(loaded)
    variant = Variant(f"load-{profile.name}", cached=False)
    with context.bench.servers(loaded.database_url, [variant]) as (client,):
        name = re.sub(r"[^a-z0-9]+", "-", profile.name.lower()).strip("-")
        scratch = f"load-{name[:60]}-{secrets.token_hex(3)}"
        if writes:
            told(client, "CreateProject", name=scratch, slug=scratch)
        yield Asked(
            loaded=loaded,
            memory_url=client.url,
            embedding_url=context.targets.services.embedding.url,
            token=context.targets.services.memory.token,
            scratch_project=scratch,
            # Other calls each time: what a server was asked lately it answers from memory.
            seed=context.seed + 1_000_000 * attempt + sum(profile.name.encode()),
            own_queries=context.owned,
        )


def measured(context: "Context", profile: LoadProfile, asked: Asked, ceiling: float) -> Measured:
    """One run of a profile, whatever its model; `ceiling` is the client's own, calls a second."""
    size = profile.size
    log = context.folder.path / "logs" / f"locust-{profile.name}.log"
    if isinstance(size, Ramp):
        return _climbed(profile, size, asked, log, ceiling)
    plan = (
        planning.closed(asked, size) if isinstance(size, Closed) else planning.opened(asked, size)
    )
    return judged(profile, size, plan, locust.run(plan, profile.name, log), ceiling)


def _climbed(profile: LoadProfile, size: Ramp, asked: Asked, log: Path, ceiling: float) -> Measured:
    """The run at the knee, with every step that led there."""

    def measure(rate: float) -> Measured:
        # Phrases alone: the set's own queries would be asked in every step again.
        fresh = replace(asked, seed=asked.seed + round(1000 * rate), own_queries=False)
        step = Open(
            per_second=rate,
            seconds=size.seconds,
            warm_up_s=size.warm_up_s,
            pool=size.pool,
            mix=size.mix,
            processes=size.processes,
        )
        plan = planning.opened(fresh, step)
        recorded = locust.run(plan, f"{profile.name} at {rate:.1f}/s", log)
        return judged(profile, step, plan, recorded, ceiling)

    found = climb(size, measure)
    reasons = [] if found.knee else [f"not even {size.per_second:g} a second held"]
    if not found.reached:
        reasons.append(f"{found.knee:.1f} a second held still: more steps are needed")
    if (first := found.first_too_much) is not None:
        reasons += [f"at {first.per_second:.1f}/s {r}" for r in first.measured.client_reasons]
    return replace(
        found.best.measured, reasons=[*found.best.measured.reasons, *reasons], climb=found
    )


def _chosen(sets: tuple[EvalSet, ...], wanted: list[str]) -> EvalSet:
    """The first wanted set that is there, else the largest."""
    by_name = {one.name: one for one in sets}
    named = [by_name[name] for name in wanted if name in by_name]
    return named[0] if named else max(sets, key=lambda one: len(one.documents))
