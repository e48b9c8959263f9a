"""Made-up load runs of every profile of the product: what Locust and Postgres would have left."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.environment import ROOT
from harness.measures.latency import Latencies
from harness.measures.plans import Plans, gathered
from harness.probes.load.judging import Measured
from harness.probes.load.locust import Recorded
from harness.probes.load.profiles import LoadProfile, Ramp, read_all
from harness.probes.load.ramp import Climb, Step
from harness.probes.load.watching import Watched
from harness.probes.resources import Sample, Sampled
from harness.probes.statements import Statement

CALLS = 1200
STAGES = {
    "memory-search": (
        *("embed", "embed.queue", "embed.tokenize", "embed.forward", "embed.wire", "filter"),
        *("text", "vector", "fuse", "fetch", "serialise", "unattributed", "outside the server"),
    ),
    "memory-writes": (
        *("embed", "embed.queue", "embed.tokenize", "embed.forward", "embed.wire", "store"),
        *("serialise", "unattributed", "outside the server"),
    ),
    "embedding": ("queue", "tokenize", "forward", "unattributed", "outside the server"),
}
SERVICES = ("memory", "embedding", "postgres", "load client", "harness", "memory (not asked)")
TABLES = ("items", "fields", "vectors", "postings", "projects", "counts", "terms", "versions")


def measured_profiles(
    chance: random.Random, fallen: bool, only: Sequence[str] = ()
) -> list[Measured]:
    """Each profile of `loadtests/profiles` at full size; `fallen`: with errors and invalid runs."""
    profiles = read_all(ROOT / "loadtests" / "profiles", "full")
    if only:
        profiles = [one for one in profiles if one.name in only]
    return [_measured(profile, chance, fallen) for profile in profiles]


def _measured(profile: LoadProfile, chance: random.Random, fallen: bool) -> Measured:
    mix = profile.size.mix
    recorded = _recorded(chance, tuple(mix), CALLS, fallen)
    reasons = ["achieved 0.911 of what was asked; want 0.98"] * (fallen and len(mix) > 1)
    whole = Measured(
        profile=profile,
        recorded=recorded,
        planned=CALLS,
        achieved=1.0,
        throughput=12.0,
        client_cores=0.21,
        reasons=reasons,
        client_reasons=[],
        ceiling=812.0,
        sent=CALLS,
        watched=_watched(chance, tuple(mix)),
    )
    return replace(whole, climb=_climb(whole, chance)) if isinstance(profile.size, Ramp) else whole


def _climb(whole: Measured, chance: random.Random) -> Climb:
    rates = [12.0 * 1.25**step for step in range(12)] + [130.0, 126.0, 124.0]
    steps = []
    for rate in rates:
        recorded = _recorded(chance, ("memory-search",), 120, fallen=False)
        too_much = f"achieved {0.9:.3f}" if rate > 125 else ""
        steps.append(Step(rate, replace(whole, recorded=recorded, throughput=rate), too_much))
    return Climb(tuple(steps), reached=True)


def _recorded(
    chance: random.Random, workloads: Sequence[str], calls: int, fallen: bool
) -> Recorded:
    response, service, lag = Latencies(), Latencies(), Latencies()
    by_workload = {name: Latencies() for name in workloads}
    stages = {f"{name}/{stage}": Latencies() for name in workloads for stage in STAGES[name]}
    waited = {f"{name}/{stage}": Latencies() for name in workloads for stage in STAGES[name]}
    samples = []
    for place in range(calls):
        workload = workloads[place % len(workloads)]
        late, took = chance.expovariate(2000), 0.004 + chance.lognormvariate(-4.6, 0.7)
        response.record(late + took)
        service.record(took)
        lag.record(late)
        by_workload[workload].record(late + took)
        for stage in STAGES[workload]:
            part = took * chance.uniform(0.02, 0.15)
            stages[f"{workload}/{stage}"].record(part)
            waited[f"{workload}/{stage}"].record(part)
        ok = not (fallen and place % 97 == 5)
        samples.append((place / 12, late, took, late + took, int(ok)))
    whole = {f"the server answered 503: reason {n}": 3 for n in range(14)} if fallen else {}
    return Recorded(
        schema="cortex.record/1",
        response=response.encoded(),
        service=service.encoded(),
        lag=lag.encoded(),
        workloads={name: times.encoded() for name, times in by_workload.items()},
        stages={key: times.encoded() for key, times in stages.items()},
        waited={key: times.encoded() for key, times in waited.items()},
        answered=calls,
        dropped=0,
        errors=whole,
        elapsed_s=calls / 12,
        cpu_cores=[0.2],
        samples=samples,
    )


def _watched(chance: random.Random, workloads: Sequence[str]) -> Watched:
    statements = [
        _statement(place, table, workloads[0], chance) for place, table in enumerate(TABLES)
    ]
    seen = [
        (place, one.text, chance.uniform(0.1, 4), _tree(chance, TABLES[place % 8], variant))
        for place, one in enumerate(statements)
        for variant in (0, 0, 1 if place in (1, 4) else 0)
    ]
    samples = [
        Sample(float(s), name, 4, chance.random() * (place < 4), 90 + s**0.5)
        for s in range(240)
        for place, name in enumerate(SERVICES)
    ]
    texts = {place: one.text for place, one in enumerate(statements)}
    plans = Plans(calls=60, statements=gathered(seen, texts))
    return Watched(resources=Sampled(samples), statements=statements, plans=plans)


def _statement(place: int, table: str, workload: str, chance: random.Random) -> Statement:
    columns = ",\n       ".join(f"{table}.column_{n} AS {workload[-4:]}_{n}" for n in range(14))
    total = chance.uniform(50, 900)
    return Statement(
        queryids=(place,),
        text=f"WITH wanted AS (SELECT $1::uuid AS id)\nSELECT {columns}\nFROM {table}\n"
        f"JOIN wanted USING (id)\nWHERE {table}.deleted_at IS NULL AND {table}.project = $2\n"
        "ORDER BY created_at DESC, id LIMIT $3",
        calls=CALLS,
        total_ms=total,
        mean_ms=total / CALLS,
        stddev_ms=0.4,
        rows=CALLS * 10,
        hit=123_456,
        read=12,
        temp=0,
    )


def _tree(chance: random.Random, table: str, variant: int) -> dict[str, object]:
    def nodes(depth: int) -> Iterator[dict[str, object]]:
        for child in range(2 if depth else 0):
            scan = "Seq Scan" if variant and depth == 1 else "Index Scan"
            yield {
                "Node Type": "Nested Loop" if depth > 1 else scan,
                "Relation Name": f"{table}_{child}",
                "Index Name": f"{table}_{child}_by_project_and_time",
                "Actual Total Time": round(chance.uniform(0.01, 2), 3),
                "Actual Rows": 12.0,
                "Plan Rows": 10,
                "Actual Loops": 1,
                "Shared Hit Blocks": 120,
                "Filter": f"(({table}.deleted_at IS NULL) AND ({table}.project = $2))",
                "Plans": list(nodes(depth - 1)),
            }

    return {"Node Type": "Limit", "Actual Loops": 1, "Plans": list(nodes(4))}
