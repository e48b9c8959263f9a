"""One run from start to verdict: stack, suites, judgement, report; always a whole folder."""

import contextlib
import datetime as dt
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness import (
    adapters,
    baselines,
    environment,
    gates_file,
    interrupts,
    judging,
    outputs,
    plain_get,
    progress,
    provenance,
    stack,
    targets,
    waivers,
)
from harness.errors import HarnessError, NothingCollected, StackFailed, UsageMistake
from harness.evalsets.collect import Collected, Profile, collect
from harness.evalsets.records import EvalSet
from harness.gates_file import GatesFile
from harness.probes import embedding_cache
from harness.probes.load import profiles as load_profiles
from harness.probes.profiling import Wish
from harness.probes.workbench import Workbench
from harness.results import Case, Record, Result
from harness.runs import RunFolder, RunRecord, SetRecord, SuiteRecord
from harness.suites import ALL, PROFILING, SUITES, Context
from harness.targets import Targets
from harness.verdicts import Verdict

RUNTIMES = ("native",)
CASE_SUITES = ("contract",)
ANSWERS_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for on the command line."""

    suites: tuple[str, ...]
    profile: Profile
    stack: str
    allow_writes: bool
    out: Path
    evals: Path
    eval_sets: Path | None
    hub: tuple[str, ...]
    adapter: str
    load_profiles: Path
    cache: Path
    cortex: tuple[str, ...]
    seed: int
    require_all: bool
    command: tuple[str, ...]
    search: Wish | None = None


def run(options: Options) -> tuple[RunFolder, Verdict]:
    """Measure, judge, write everything; the caller's mistakes are raised before anything starts."""
    gates = gates_file.read(options.evals / "gates.toml")
    collected = _collected(options)
    waivers.read_for(
        options.evals, gates, [*(one.name for one in collected.sets), *collected.left_out]
    )
    # A baseline that cannot be read is told now, not after the measuring.
    baselines.read(baselines.path_of(options.evals, options.profile))
    foreign = _foreign(options)
    load = {}
    _check_adapter(options)
    if "load" in options.suites:
        read = load_profiles.read_all(options.load_profiles, options.profile)
        load = {one.name: one.fingerprint for one in read}
    if any(ALL[name].needs_sets for name in options.suites):
        embedding_cache.Cache(options.cache).close()
    now = dt.datetime.now(dt.UTC)
    folder = RunFolder.create(options.out, environment.revision(), now)
    record = _begun(options, collected, folder, now)
    record.load_profiles = load
    folder.save(record)
    progress.say(f"run {record.id}: {', '.join(options.suites)}, {options.profile} profile")
    for name, why in collected.left_out.items():
        progress.say(f"  left out: {name}: {why}")
    with interrupts.ignored():
        with interrupts.heeded():
            _measure_all(options, collected.sets, folder, record, foreign)
        return folder, _end(options, folder, record, gates)


def _collected(options: Options) -> Collected:
    if not any(ALL[name].needs_sets for name in options.suites):
        return Collected((), {})
    own = options.evals / "relevance"
    found = collect(own, options.eval_sets, options.hub, options.profile)
    return found if options.search is None else _only(options.search.set, found)


def _only(name: str, found: Collected) -> Collected:
    """The one set that was asked for."""
    sets = tuple(one for one in found.sets if one.name == name)
    if not sets:
        known = ", ".join(one.name for one in found.sets) or "none"
        raise UsageMistake(f"no eval set {name!r}; there are {known}")
    return Collected(sets, {})


def _check_adapter(options: Options) -> None:
    """Another server's suites are those that ask what any memory server can."""
    if not options.adapter:
        return
    adapters.check(options.adapter)
    if strange := [name for name in options.suites if not ALL[name].for_any_server]:
        raise UsageMistake(
            f"{', '.join(strange)} are about the product's own servers; with --adapter say "
            f"{' '.join(name for name, suite in SUITES.items() if suite.for_any_server)}"
        )
    if options.stack not in RUNTIMES:
        raise UsageMistake(
            "--adapter brings up a stack of its own; a server that runs elsewhere is reached by "
            "the adapter itself"
        )


def _foreign(options: Options) -> Targets | None:
    """The stack that was named by file; None when the run is to have its own."""
    if options.stack in RUNTIMES:
        return None
    found = targets.read(Path(options.stack))
    if faults := [name for name in options.suites if ALL[name].faults]:
        raise UsageMistake(
            f"{', '.join(faults)} kills and stops services; that is refused on the stack "
            f"{options.stack} describes, which this run did not start; leave --stack out"
        )
    writing = [name for name in options.suites if ALL[name].writes]
    if writing and not options.allow_writes:
        raise UsageMistake(
            f"{', '.join(writing)} would write to the stack {options.stack} describes, which "
            "this run did not start; say --allow-writes if that is meant"
        )
    return found


def _begun(
    options: Options, collected: Collected, folder: RunFolder, now: dt.datetime
) -> RunRecord:
    revision = environment.revision()
    return RunRecord(
        id=folder.path.name,
        status="partial",
        started_at=_utc(now),
        revision=revision.name,
        dirty=revision.dirty,
        profile=options.profile,
        command=list(options.command),
        seed=options.seed,
        machine=environment.machine(),
        packages=environment.packages(),
        data={one.name: SetRecord.of(one) for one in collected.sets},
        left_out=collected.left_out,
        adapter=options.adapter,
        sets_required=options.require_all and options.eval_sets is not None,
    )


def _utc(moment: dt.datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _measure_all(
    options: Options,
    sets: Sequence[EvalSet],
    folder: RunFolder,
    record: RunRecord,
    foreign: Targets | None,
) -> None:
    """Run every suite; what goes wrong ends up in the record, never as a lost folder."""
    try:
        with contextlib.ExitStack() as open_:
            found = foreign or open_.enter_context(_own_stack(options, folder))
            record.stack = provenance.stack_record(found, owned=foreign is None)
            _must_answer(found)
            bench = Workbench(found, foreign is None, folder.path, options.cache, options.adapter)
            open_.enter_context(bench.closing())
            context = Context(
                targets=found,
                owned=foreign is None,
                profile=options.profile,
                folder=folder,
                sets=tuple(sets),
                seed=options.seed,
                bench=bench,
                load_profiles=options.load_profiles,
                require_all=options.require_all,
                search=options.search,
                runtime=options.stack,
                cortex=options.cortex,
            )
            for name in options.suites:
                _measure(name, context, record)
                folder.save(record)
        record.status = _status(record)
    except KeyboardInterrupt:
        _note_rest(options, record, SuiteRecord(state="interrupted", message="interrupted"))
    except HarnessError as err:
        record.status = "failed"
        _note_rest(options, record, SuiteRecord(state="failed", message=str(err)))
    except Exception as err:  # noqa: BLE001 - whatever happens, the folder gets its verdict
        record.status = "failed"
        _keep_trace(folder, "run")
        message = f"{type(err).__name__}: {err}"
        _note_rest(options, record, SuiteRecord(state="failed", message=message))


def _own_stack(options: Options, folder: RunFolder) -> contextlib.AbstractContextManager[Targets]:
    progress.say(f"bringing up a {options.stack} stack")
    return stack.own_stack(options.stack, folder.path / "logs", options.cortex)


def _note_rest(options: Options, record: RunRecord, suite: SuiteRecord) -> None:
    """Suites that did not get their turn ended the same way, unless nothing is left to say so."""
    rest = [name for name in options.suites if name not in record.suites]
    for name in rest or ["the stack"]:
        record.suites[name] = suite


def _status(record: RunRecord) -> Literal["complete", "failed"]:
    states = set(record.suite_states.values())
    return "failed" if states & {"failed"} else "complete"


def _measure(name: str, context: Context, record: RunRecord) -> None:
    """One suite; each record is on disk before the next is asked for."""
    progress.say(f"suite {name}")
    started = time.monotonic()
    state = SuiteRecord(state="measured")
    try:
        cases = []
        for one in ALL[name].measure(context):
            context.folder.append(one)
            state.records += 1
            if isinstance(one, Case):
                cases.append(one)
        for one in _counted(name, cases):
            context.folder.append(one)
        if state.records == 0:
            raise NothingCollected(f"suite {name} measured nothing")
    except NothingCollected as err:
        state.state, state.message = "empty", str(err)
    except KeyboardInterrupt:
        state.state, state.message = "interrupted", "interrupted"
        raise
    except Exception as err:  # noqa: BLE001 - a suite that crashes must not take the others along
        state.state, state.message = "failed", f"{type(err).__name__}: {err}"
        _keep_trace(context.folder, name)
        progress.say(f"  {name} failed: {state.message}")
    finally:
        state.took_s = round(time.monotonic() - started, 3)
        record.suites[name] = state


def _keep_trace(folder: RunFolder, name: str) -> None:
    """Where it went wrong, for whoever mends it; a full disk is no second failure."""
    with contextlib.suppress(HarnessError):
        folder.write(f"logs/{name}-crash.log", traceback.format_exc())


def _counted(name: str, cases: list[Case]) -> Iterator[Record]:
    """How many cases of a suite ran, failed, were skipped."""
    if name not in CASE_SUITES or not cases:
        return
    ran = [case for case in cases if case.outcome != "skipped"]
    counts = {
        "cases": len(ran),
        "failures": sum(case.outcome != "passed" for case in ran),
        "skipped": len(cases) - len(ran),
    }
    for what, count in counts.items():
        yield Result(suite="contract", name=f"{name}.{what}", value=float(count), unit="cases")


def _must_answer(found: Targets) -> None:
    """A memory server that is not there is no gate that fell."""
    url = found.services.memory.url
    try:
        plain_get.get(f"{url}/health/live", ANSWERS_WITHIN_S)
    except StackFailed as err:
        raise StackFailed(f"the memory server at {url} does not answer: {err}") from err


def _end(options: Options, folder: RunFolder, record: RunRecord, gates: GatesFile) -> Verdict:
    """Judge and write what people read; a partial run gets all of it too."""
    record.ended_at = _utc(dt.datetime.now(dt.UTC))
    if PROFILING in options.suites:
        verdict = judging.profiled(folder, record)
    else:
        verdict = judging.judge_run(folder, record, gates, options.evals)
    folder.save(record)
    outputs.write(folder, record)
    return verdict
