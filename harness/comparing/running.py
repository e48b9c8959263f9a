"""`compare --base`: both builds up side by side, blocks in turn, then the judged queries once."""

import contextlib
import datetime as dt
import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from harness import (
    comparisons,
    environment,
    gates_file,
    interrupts,
    mcp,
    progress,
    provenance,
    waivers,
)
from harness.comparing import blocks, builds, key, outputs, relevance, speed, verdict
from harness.comparing.blocks import Block, Side
from harness.comparing.builds import Build
from harness.comparing.sitting import sitting
from harness.comparisons import CompareRecord, SideRecord
from harness.errors import HarnessError, StackFailed, UsageMistake
from harness.evalsets.collect import collect
from harness.evalsets.records import EvalSet
from harness.evidence import SetScores
from harness.gates_file import GatesFile
from harness.measures import ranking
from harness.measures.pairs import Limits
from harness.probes.asking import ask
from harness.runs import RunFolder, SetRecord
from harness.verdicts import Verdict
from harness.waivers import Waiver


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for on the command line."""

    base: str
    candidate: str
    repository: Path
    eval_set: str
    out: Path
    evals: Path
    eval_sets: Path | None
    cache: Path
    cortex: tuple[str, ...]
    seed: int
    pairs: int | None
    command: tuple[str, ...]


def compare(options: Options) -> tuple[RunFolder, Verdict]:
    """Measure, judge, write everything; the caller's mistakes are raised before anything starts."""
    gates = gates_file.read(options.evals / "gates.toml")
    limits = _limits(gates.compare, options.pairs)
    found = _chosen(options)
    given = waivers.read_for(options.evals, gates, [found.name])
    if options.base == builds.WORKING_TREE:
        raise UsageMistake("--base is empty; name a revision")
    for name in (options.base, options.candidate):
        builds.check(options.repository, name)
    now = dt.datetime.now(dt.UTC)
    folder = RunFolder.create(options.out, environment.revision(options.repository), now)
    record = _begun(options, limits, found, folder, now)
    comparisons.save(folder, record)
    progress.say(f"comparison {record.id}: {limits.pairs} pairs of {limits.calls} searches or more")
    with interrupts.ignored():
        with interrupts.heeded():
            _measure(options, found, folder, record, limits, gates, given)
        return folder, _end(folder, record)


def _limits(found: Limits, pairs: int | None) -> Limits:
    if pairs is None:
        return found
    return Limits(**{**asdict(found), "pairs": pairs})


def _chosen(options: Options) -> EvalSet:
    found = collect(options.evals / "relevance", options.eval_sets, (), "full").sets
    chosen = [one for one in found if options.eval_set in ("", one.name)]
    if not chosen:
        known = ", ".join(one.name for one in found) or "none"
        raise UsageMistake(f"no eval set {options.eval_set!r}; there are {known}")
    return chosen[0]


def _begun(
    options: Options, limits: Limits, found: EvalSet, folder: RunFolder, now: dt.datetime
) -> CompareRecord:
    return CompareRecord(
        id=folder.path.name,
        kind="builds",
        status="partial",
        started_at=utc(now),
        command=list(options.command),
        seed=options.seed,
        base=SideRecord(name=options.base or "working tree", revision="unknown", dirty=False),
        candidate=SideRecord(
            name=options.candidate or "working tree", revision="unknown", dirty=False
        ),
        machine=environment.machine(),
        packages=environment.packages(),
        data={found.name: SetRecord.of(found)},
        limits=asdict(limits),
    )


def utc(moment: dt.datetime) -> str:
    """A moment as records keep it."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _measure(
    options: Options,
    found: EvalSet,
    folder: RunFolder,
    record: CompareRecord,
    limits: Limits,
    gates: GatesFile,
    given: Sequence[Waiver],
) -> None:
    """Fill the record; what goes wrong ends up in it, never as a lost folder."""
    try:
        with _both(options, found, folder, record) as sides:
            plan = blocks.Plan(
                pairs=limits.most_pairs,
                calls=limits.calls,
                warm_up=limits.warm_up,
                seed=record.seed,
            )
            with (
                (folder.path / "blocks.jsonl").open("a", encoding="utf-8") as lines,
                progress.steps("blocks, in turn, at most", 2 * plan.pairs) as step,
            ):

                def keep(block: Block) -> None:
                    lines.write(json.dumps(asdict(block), sort_keys=True) + "\n")
                    lines.flush()
                    step(1)

                record.changes = speed.measured(blocks.alternate(sides, plan), limits, keep)
                record.blamed = speed.blamed(record.changes)
            _judge_relevance(sides, found, record, gates, given)
        record.status = "complete"
    except KeyboardInterrupt:
        record.message = "interrupted"
    except HarnessError as err:
        record.status, record.message = "failed", str(err)
    except Exception as err:  # noqa: BLE001 - what was measured until then is kept and shown
        record.status, record.message = "failed", f"{type(err).__name__}: {err}"
        folder.write("logs/crash.log", traceback.format_exc())


@contextlib.contextmanager
def _both(
    options: Options, found: EvalSet, folder: RunFolder, record: CompareRecord
) -> Iterator[list[Side]]:
    """Both builds up and loaded; who they are is in the record."""
    logs = folder.path / "logs"
    with contextlib.ExitStack() as open_:
        pair = [
            open_.enter_context(
                builds.build(role, options.repository, name, options.cache, logs / role)
            )
            for role, name in ((blocks.BASE, options.base), (blocks.CANDIDATE, options.candidate))
        ]
        _describe(record, pair)
        sides = open_.enter_context(sitting(pair, found, folder.path, options.cortex))
        record.base.stack = provenance.stack_record(sides[0].targets, owned=True)
        record.candidate.stack = provenance.stack_record(sides[1].targets, owned=True)
        record.key = list(key.of_builds(record.base.stack, record.candidate.stack))
        if differ := key.differing(record, "noted"):
            record.notes.append(f"the builds differ in: {', '.join(differ)}")
        comparisons.save(folder, record)
        yield sides


def _describe(record: CompareRecord, pair: Sequence[Build]) -> None:
    for side, build in zip((record.base, record.candidate), pair, strict=True):
        side.revision, side.dirty = build.revision, build.dirty


def _judge_relevance(
    sides: Sequence[Side],
    found: EvalSet,
    record: CompareRecord,
    gates: GatesFile,
    given: Sequence[Waiver],
) -> None:
    base, candidate = ({found.name: scored(found, ranked(side, found))} for side in sides)
    texts = {(found.name, query.id): " | ".join(query.texts) for query in found.queries}
    models = [one.stack.model if one.stack else "" for one in (record.base, record.candidate)]
    both = relevance.Sides(base, candidate, texts, (models[0], models[1]))
    relevance.judge_in(record, both, gates, given)


def ranked(side: Side, found: EvalSet) -> dict[str, tuple[str, ...]]:
    """One build's hits of each judged query; a query that failed voids the comparison."""
    memory = side.targets.services.memory
    with mcp.Client(memory.mcp_url, memory.token) as client:
        asked = ask(client, side.loaded, found.queries, f"{found.name}, {side.name}")
    if failed := [one for one in asked if one.error]:
        raise StackFailed(
            f"{side.name}: {len(failed)} of {len(asked)} judged queries failed, such as "
            f"{failed[0].query.id!r}: {failed[0].error}"
        )
    return {one.query.id: one.documents for one in asked}


def scored(found: EvalSet, rankings: Mapping[str, Sequence[str]]) -> SetScores:
    """The scores of each judged query, and how many hits it had."""
    known = {document.id for document in found.documents}
    hits = {query: len(documents) for query, documents in rankings.items()}
    return SetScores(ranking.score(found.judgments, rankings, known), hits)


def _end(folder: RunFolder, record: CompareRecord) -> Verdict:
    """Judge and write what people read; an interrupted comparison gets all of it too."""
    record.ended_at = utc(dt.datetime.now(dt.UTC))
    ended = verdict.concluded(record)
    record.conclude(ended)
    comparisons.save(folder, record)
    outputs.write(folder, record)
    return ended
