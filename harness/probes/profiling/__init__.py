"""`profile search`: searches under one load, timed first, then explained, then sampled.

Each pass is by itself: the timed one knows of no other, plans are told of by another server, and
each service is sampled in a pass of its own, whose median says what the sampling costs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import pydantic

from harness import misfits, progress
from harness.errors import NothingCollected, UsageMistake
from harness.measures.latency import Latencies
from harness.probes import load
from harness.probes.load import watching, where, writing
from harness.probes.load.asked import Asked
from harness.probes.load.ceiling import Ceilings
from harness.probes.load.judging import Measured
from harness.probes.load.profiles import Closed, LoadProfile, Open, Valid
from harness.probes.load.watching import Watched
from harness.probes.profiling.sampling import RATE_HZ, Stacks, sampling
from harness.results import Failure, Record

if TYPE_CHECKING:
    from harness.suites import Context

NAME = "search"
SERVICES = ("memory", "embedding")
SAMPLED_S = 15.0
SAMPLED_SEARCHES = 300
WARM_UP_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which load: `rate` a second for `seconds`, or `searches` by `users`; texts of a search."""

    rate: float | None
    seconds: float
    users: int | None
    searches: int
    texts: int
    set: str

    def profile(self) -> LoadProfile:
        """It as a load profile."""
        about = f"{self.texts} text{'s' if self.texts > 1 else ''} a search"
        size: Closed | Open
        model: Literal["closed", "open"]
        try:
            if self.users is not None:
                warm_up = round(self.searches * WARM_UP_SHARE)
                size = Closed(users=self.users, searches=self.searches, warm_up=warm_up)
                model = "closed"
            else:
                warm_up_s = min(5.0, self.seconds * WARM_UP_SHARE)
                whole_s = self.seconds + warm_up_s
                size = Open(per_second=self.rate or 0, seconds=whole_s, warm_up_s=warm_up_s)
                model = "open"
        except pydantic.ValidationError as err:
            misfit = misfits.first(err)
            raise UsageMistake(f"{misfit.place or 'the load'}: {misfit.why}") from err
        return LoadProfile(name=NAME, about=about, model=model, size=size, valid=Valid())


class Flame(pydantic.BaseModel):
    """One sampled service: where its stacks are, and the median search meanwhile."""

    model_config = pydantic.ConfigDict(extra="forbid")

    service: str
    file: str = ""
    unavailable: str = ""
    seconds: float = 0.0
    cpu_s: float = 0.0
    samples: int = 0
    p50_ms: float = 0.0


class Profile(pydantic.BaseModel):
    """`profile/profile.json`."""

    model_config = pydantic.ConfigDict(extra="forbid")

    schema_: Literal["cortex.profile/1"] = pydantic.Field(
        default="cortex.profile/1", alias="schema"
    )
    rate_hz: int
    texts: int
    p50_ms: float
    flames: list[Flame]


def measure(context: "Context") -> Iterator[Record]:
    """The timed pass, the plans, then a pass for each service that can be sampled."""
    wish = context.search
    if wish is None or not context.sets:
        raise NothingCollected("nothing to search for: a load and an eval set are needed")
    profile = wish.profile()
    ceiling = Ceilings(context.folder.path / "logs").of(profile.size.processes)
    with load.asking(context, profile, attempt=1) as asked:
        asked = replace(asked, texts=wish.texts)
        timed, watched = _timed(context, profile, asked, ceiling)
        yield from _kept(context, timed)
        watched.plans = watching.explained(context, NAME, profile.size.mix, asked, watched)
        yield from where.records(timed)
        where.write_tables(context.folder, [timed])
        yield from _flames(context, wish, timed, asked)


def _timed(
    context: "Context", profile: LoadProfile, asked: Asked, ceiling: float
) -> tuple[Measured, Watched]:
    """The timed pass, once more with other searches where it did not keep to its plan."""
    with watching.watching(context, asked) as watched:
        timed = load.measured(context, profile, asked, ceiling)
    if timed.reasons:
        progress.say(f"  invalid ({timed.reasons[0]}); measuring once more")
        with watching.watching(context, asked) as watched:
            timed = load.measured(context, profile, _other(asked, 0), ceiling)
    return replace(timed, watched=watched), watched


def _kept(context: "Context", timed: Measured) -> Iterator[Record]:
    yield from writing.records(timed)
    writing.write_tables(context.folder, [timed])
    failed = sum(timed.recorded.errors.values())
    if failed >= timed.recorded.answered:
        raise NothingCollected(f"no search was answered ({failed} failed)")


def _flames(context: "Context", wish: Wish, timed: Measured, asked: Asked) -> Iterator[Record]:
    flames = []
    for place, service in enumerate(SERVICES):
        flame, stacks = _flame(context, service, timed.profile, _other(asked, 1 + place))
        if flame.unavailable:
            progress.say(f"  no flame graph of {service}: {flame.unavailable}")
            yield Failure(suite="load", name=f"flame of {service}", message=flame.unavailable)
        else:
            context.folder.write(flame.file, stacks.collapsed)
        flames.append(flame)
    p50 = Latencies(timed.recorded.service).quantile(0.5).value_ms
    kept = Profile(rate_hz=RATE_HZ, texts=wish.texts, p50_ms=p50, flames=flames)
    context.folder.write("profile/profile.json", kept.model_dump_json(by_alias=True) + "\n")


def _other(asked: Asked, place: int) -> Asked:
    """Searches that were not asked yet: what was is answered from memory in part."""
    return replace(asked, seed=asked.seed + 700_000 + place, own_queries=False)


def _flame(
    context: "Context", service: str, profile: LoadProfile, asked: Asked
) -> tuple[Flame, Stacks]:
    pids = watching.roots(context).get(service)
    if not pids:
        host = urlsplit(context.targets.services.memory.url).hostname
        return Flame(service=service, unavailable=f"no process of it on this machine ({host})"), (
            Stacks()
        )
    progress.say(f"  sampling {service}, {RATE_HZ} times a second")
    log = context.folder.path / "logs" / f"py-spy-{service}.log"
    measured = None
    with sampling(pids[0], log) as stacks:
        if not stacks.unavailable:
            shorter = profile.model_copy(update={"size": _shorter(profile.size)})
            measured = load.measured(context, shorter, asked, ceiling=float("inf"))
    if stacks.unavailable or measured is None:
        return Flame(service=service, unavailable=stacks.unavailable), stacks
    times = Latencies(measured.recorded.service)
    flame = Flame(
        service=service,
        file=f"profile/{service}.collapsed",
        seconds=stacks.seconds,
        cpu_s=stacks.cpu_s,
        samples=stacks.samples,
        p50_ms=times.quantile(0.5).value_ms if times.n else 0.0,
    )
    return flame, stacks


def _shorter(size: object) -> Closed | Open:
    if isinstance(size, Closed):
        searches = min(size.searches, SAMPLED_SEARCHES)
        return size.model_copy(update={"searches": searches, "warm_up": 0})
    assert isinstance(size, Open), "a profile of searches is closed or open"
    return size.model_copy(update={"seconds": min(size.seconds, SAMPLED_S), "warm_up_s": 0.0})
