"""Run folders as large as they come, without running anything: made-up records, the real writers.

The suites of a full run with all that each can leave: four eval sets with a baseline, eight load
profiles with statements and plans, 21 faults, contract cases. The same seed gives the same folder.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from load_records import measured_profiles
from relevance_records import SETS, measured_sets

from harness import baselines, gates_file, judging, results, score_tables
from harness.environment import ROOT
from harness.evidence import HYBRID
from harness.probes.load import where, writing
from harness.probes.relevance import files, scoring
from harness.probes.resilience import outcomes
from harness.probes.resilience.faults import FAULTS, Fault
from harness.probes.resilience.suffering import Suffered
from harness.results import Case, Failure, Record, Result
from harness.runs import RunFolder, RunRecord, SetRecord, StackRecord, SuiteRecord

SUITES = ("contract", "relevance", "load", "resilience")
MODEL = "a-model@0123456789abcdef"


def whole_run(
    folder: Path,
    suites: Sequence[str] = SUITES,
    *,
    fallen: bool = True,
    only: Sequence[str] = (),
    seed: int = 7,
) -> tuple[RunFolder, RunRecord]:
    """A full run with its verdict; `fallen`: with something of everything that can go wrong.

    `only` names the load profiles; without it there are all.
    """
    folder.mkdir(parents=True)
    run_folder, chance = RunFolder(folder), random.Random(seed)
    run = _begun(suites)
    kept: list[Record] = []
    if "relevance" in suites:
        kept += _relevance(run_folder, run, chance, fallen)
    if "load" in suites:
        kept += _load(run_folder, chance, fallen, only)
    if "resilience" in suites:
        kept += _resilience(run_folder, chance, fallen)
    if "contract" in suites:
        kept += _contract(fallen)
    lines = "".join(results.to_line(one) + "\n" for one in kept)
    run_folder.write("results.jsonl", lines)
    _judge(run_folder, run, chance)
    return run_folder, run


def profiled_run(folder: Path) -> tuple[RunFolder, RunRecord]:
    """What `profile search` leaves: one load, flame graphs, no gate."""
    run_folder, run = whole_run(folder, ["load"], fallen=False, only=["open"])
    stacks = "".join(
        f"main (cortex/memory/main.py:1);{file}:answer_{n} ({file}.py:{n});step ({file}.py) {n}\n"
        for n in range(1, 30)
        for file in ("uvicorn/loop", "cortex/memory/store", "psycopg/cursor", "json/encoder")
    )
    run_folder.write("profile/memory.txt", stacks)
    flame = {"service": "memory", "unavailable": "", "file": "profile/memory.txt"}
    away = {"service": "embedding", "unavailable": "py-spy may not attach", "file": ""}
    times = {"seconds": 20.0, "cpu_s": 8.0, "p50_ms": 9.0}
    flames = [{**flame, **times}, {**away, **times}]
    kept = {"rate_hz": 100, "p50_ms": 8.0, "flames": flames}
    run_folder.write("profile/profile.json", json.dumps(kept))
    run.gates = []
    judging.profiled(run_folder, run)
    run_folder.save(run)
    return run_folder, run


def _begun(suites: Sequence[str]) -> RunRecord:
    return RunRecord(
        id="20260101T000000Z-0123456789",
        status="complete",
        started_at="2026-01-01T00:00:00Z",
        ended_at="2026-01-01T00:59:00Z",
        revision="0123456789",
        dirty=False,
        profile="full",
        command=["cortex-harness", "run", "--profile", "full"],
        seed=7,
        stack=StackRecord(
            name="harness-1",
            runtime="native",
            profile="core",
            revision="0123456789",
            owned=True,
            model=MODEL,
            versions={"memory": "1.0", "embedding": "1.0", "postgres": "17.5"},
        ),
        machine={"system": "Linux 6.1", "processor": "a processor", "cores": "2"},
        packages={"locust": "2.47.0", "numpy": "2.4.0"},
        suites={name: SuiteRecord(state="measured", records=9, took_s=60.0) for name in suites},
    )


def _judge(folder: RunFolder, run: RunRecord, chance: random.Random) -> None:
    """By the product's own gates, against a baseline of this run with other scores."""
    evals = folder.path / "evals"
    (evals / "baselines").mkdir(parents=True)
    gates = gates_file.read(ROOT / "evals" / "gates.toml")
    if "relevance" in run.suites:
        judging.judge_run(folder, run, gates, evals)
        _baseline(folder, run, evals, chance)
    judging.judge_run(folder, run, gates, evals)
    folder.save(run)


def _baseline(folder: RunFolder, run: RunRecord, evals: Path, chance: random.Random) -> None:
    def other(score: float) -> float:
        moved = chance.random() < 0.25
        return min(1.0, max(0.0, score + chance.choice((-0.4, 0.1, 0.5)))) if moved else score

    sets = {}
    for (set_, variant), found in score_tables.read(folder.path).items():
        if variant == HYBRID:
            data = run.data[set_]
            sets[set_] = {
                **{name: getattr(data, name) for name in ("fingerprint", "checksum", "rule")},
                **{name: getattr(data, name) for name in ("documents", "queries")},
                "scores": {
                    metric: {query: other(score) for query, score in values.items()}
                    for metric, values in found.scores.items()
                },
                "hits": dict(found.hits),
            }
    file = {
        "schema": baselines.SCHEMA,
        "profile": "full",
        "reason": "a test",
        "run": "a run",
        "revision": "fedcba9876",
        "model": MODEL,
        "packages": {},
        "versions": {},
        "sets": sets,
    }
    baselines.path_of(evals, "full").write_text(json.dumps(file), encoding="utf-8")


def _relevance(
    folder: RunFolder, run: RunRecord, chance: random.Random, fallen: bool
) -> Iterator[Record]:
    done = measured_sets(chance)
    for one in done:
        yield from scoring.scored(one)
    for name in SETS:
        of_set = [one for one in done if one.found.name == name]
        found = of_set[0].found
        run.data[name] = SetRecord(
            fingerprint=found.fingerprint,
            checksum=found.checksum,
            documents=len(found.documents),
            queries=len(found.queries),
            source=found.source,
            rule=found.rule,
        )
        yield from scoring.stability(of_set)
        yield scoring.count("relevance.lost-queries", 0, name, HYBRID)
        claims = [chance.random() < 0.97 for _ in range(200)]
        yield scoring.share("relevance.ann-recall@10", claims, name, "indexed")
        for metric, share in (("nothing-found", 0.4), ("nothing-false", 0.02)):
            claims = [chance.random() < share for _ in range(100)]
            yield scoring.share(f"relevance.{metric}", claims, name, HYBRID)
        for metric in ("nothing-separation", "score-separation"):
            yield scoring.result(f"relevance.{metric}", 0.83, name, HYBRID, n=120)
        _score_tables(folder, name)
    yield from scoring.macro([one for one in done if one.variant != "hybrid-again"])
    yield scoring.count("relevance.cache-hits", 12_000)
    yield scoring.count("relevance.cache-misses", 345)
    if fallen:
        for place in range(80):
            yield Failure(
                suite="relevance",
                name="query",
                message=f"the server answered 503 to query {place}: the embedding service is away",
                set=SETS[0],
                variant="postgres-recipe",
                query=f"x{place}",
            )
    files.write(folder, done)


def _score_tables(folder: RunFolder, name: str) -> None:
    bins = "".join(f"{n / 10},{(n + 1) / 10},12,{n / 10 + 0.05},{n + 2}\n" for n in range(10))
    folder.write(f"relevance/scores-{name}.csv", f"low,high,queries,mean,right\n{bins}")
    rows = "".join(f"{n / 40:.6f},{n / 40:.6f},{n / 120:.6f}\n" for n in range(40))
    folder.write(f"relevance/least-scores-{name}.csv", f"least,quiet,lost\n{rows}")
    leaks = "".join(
        f"q{n},d{n},query,{n + 4},{' '.join(['some words that stand'] * (n + 1))}\n"
        for n in range(9)
    )
    folder.write(f"relevance/leakage-{name}.csv", f"query,document,kind,words,text\n{leaks}")


def _load(
    folder: RunFolder, chance: random.Random, fallen: bool, only: Sequence[str]
) -> Iterator[Record]:
    done = measured_profiles(chance, fallen, only)
    for one in done:
        yield from writing.records(one)
        yield from where.records(one)
    writing.write_tables(folder, done)
    where.write_tables(folder, done)


def _resilience(folder: RunFolder, chance: random.Random, fallen: bool) -> Iterator[Record]:
    done = [_suffered(fault, chance, lost=fallen and fault.id == "hang memory") for fault in FAULTS]
    for one in done:
        yield from outcomes.records(one)
    absent = replace(FAULTS[-1], service="memory")
    left = [outcomes.left_out(absent, "mounting a small disk needs root", require_all=False)]
    yield from left
    yield from outcomes.totals(done, left)
    outcomes.write(folder, done)


def _suffered(fault: Fault, chance: random.Random, *, lost: bool) -> Suffered:
    seconds = [(chance.randrange(20, 60), 0 if s < 3 else chance.randrange(9)) for s in range(40)]
    words = ("the disk is full; is the embedding service up?", "connection reset by peer")
    return Suffered(
        fault=fault.name,
        service=fault.service,
        about=fault.about,
        began_s=3.0,
        ended_s=8.5,
        recovery_s=None if lost else chance.uniform(0.2, 12.0),
        writes=400,
        items=390,
        outcomes={"acknowledged": 1500, "refused": 60, "unanswered": 9},
        degraded=12,
        longest_s=7.3,
        lost=("note 12: not there", "note 13: has the content of note 12") if lost else (),
        unreported=("GetItem of note 9: ended with half an answer",) if lost else (),
        words={f"{word} ({n})": 20 - n for n, word in enumerate(words * 3)},
        seconds=tuple(seconds),
        strays=("postgres 4711",) if lost else (),
    )


def _contract(fallen: bool) -> Iterator[Record]:
    failed = 70 if fallen else 0
    for place in range(360):
        bad, left = place < failed, place >= 350
        yield Case(
            suite="contract",
            name=f"tool {place % 16}: a limit out of range is refused with the range, {place}",
            outcome="failed" if bad else "skipped" if left else "passed",
            expected='{"error": {"kind": "InvalidInput", "message": "limit is 0"}}' if bad else "",
            actual='{"error": {"kind": "Internal"}, "trace": "' + "x" * 900 + '"}' if bad else "",
            note="the answer is another" if bad else "no Docker engine here" if left else "",
            took_s=0.02,
        )
    for name, value in (("cases", 350), ("failures", failed), ("skipped", 10)):
        yield Result(suite="contract", name=f"contract.{name}", value=float(value), unit="cases")
