"""The `cortex-harness` command; its last line is the verdict, and its exit code says the same."""

import shlex
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from harness import annotations, baselines, garbled, gates_file, judging, outputs, running, stack
from harness.comparing import running as comparing
from harness.comparing import stored
from harness.environment import ROOT
from harness.errors import HarnessError
from harness.measures.pairs import LEAST_PAIRS
from harness.probes.profiling import Wish
from harness.progress import plain, say, tell
from harness.runs import RunFolder
from harness.suites import PROFILING, SUITES
from harness.verdicts import Outcome, Verdict

FOLDER = click.Path(path_type=Path, file_okay=False)
SEED = 1729
PROFILED_RATE, PROFILED_S, PROFILED_SEARCHES = 10.0, 60.0, 600


class _Ended(Exception):
    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.line)
        self.verdict = verdict


@click.group()
@click.option(
    "--annotations",
    "annotated",
    is_flag=True,
    envvar="GITHUB_ACTIONS",
    help="Print gates that do not hold as workflow commands of GitHub. [GITHUB_ACTIONS]",
)
@click.pass_context
def cortex_harness(context: click.Context, annotated: bool) -> None:
    """Measure a running stack, and judge what was measured.

    Exit codes: 0 all gates hold; 1 a gate fell; 2 usage or configuration; 3 inconclusive or not
    comparable; 4 the stack or the harness failed; 5 nothing was collected.
    """
    context.obj = annotated


_OPTIONS = {
    "--profile": click.option(
        "--profile", type=click.Choice(["quick", "full"]), default="quick", show_default=True
    ),
    "--stack": click.option(
        "--stack",
        default="native",
        show_default=True,
        metavar="native|FILE",
        help="Bring up a stack of its own, or use the one a targets file describes.",
    ),
    "--allow-writes": click.option(
        "--allow-writes", is_flag=True, help="Write to a stack that this run did not start."
    ),
    "--out": click.option(
        "--out", type=FOLDER, default=ROOT / "reports" / "runs", help="Where run folders go."
    ),
    "--evals": click.option(
        "--evals",
        type=FOLDER,
        default=ROOT / "evals",
        help="Folder with gates.toml, baselines/ and relevance/.",
    ),
    "--eval-sets": click.option(
        "--eval-sets",
        type=FOLDER,
        envvar="CORTEX_EVAL_SETS",
        help="Folder of more eval sets in BEIR form, each a folder. [CORTEX_EVAL_SETS]",
    ),
    "--hub": click.option(
        "--hub",
        multiple=True,
        metavar="NAME",
        help="An eval set by its name in ir_datasets, such as beir/scifact/test.",
    ),
    "--adapter": click.option(
        "--adapter",
        default="",
        metavar="FILE.py:CLASS",
        help="Measure another memory server, by an adapter; `postgres-recipe` comes along.",
    ),
    "--load-profiles": click.option(
        "--load-profiles",
        type=FOLDER,
        default=ROOT / "loadtests" / "profiles",
        help="Folder of load profiles.",
    ),
    "--cache": click.option(
        "--cache",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="CORTEX_HARNESS_CACHE",
        default=ROOT / ".cortex" / "harness" / "embeddings.sqlite",
        help="Where computed embeddings are kept between runs. [CORTEX_HARNESS_CACHE]",
    ),
    "--cortex": click.option(
        "--cortex",
        envvar="CORTEX_HARNESS_CORTEX",
        default="",
        metavar="COMMAND",
        help="The command that brings up a stack, instead of `cortex`. [CORTEX_HARNESS_CORTEX]",
    ),
    "--seed": click.option("--seed", type=int, default=SEED, show_default=True),
    "--require-all": click.option(
        "--require-all",
        is_flag=True,
        envvar="CORTEX_REQUIRE_ALL",
        help="A part that is missing fails, instead of being left out. [CORTEX_REQUIRE_ALL]",
    ),
}


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS.values()):
        command = option(command)
    return command


def _shared(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Some of the options of `run`."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for name in reversed(names):
            command = _OPTIONS[name](command)
        return command

    return add


@cortex_harness.command(name="run")
@click.argument("suites", nargs=-1, type=click.Choice(list(SUITES)))
@_with_options
def run_command(suites: tuple[str, ...], **options: Any) -> None:
    """Run suites (all of them when none is named), judge them, write a run folder."""
    _run(suites or tuple(SUITES), options)


def _suite_command(name: str) -> click.Command:
    @_with_options
    def command(**options: Any) -> None:
        _run((name,), options)

    return click.command(name=name, help=f"Run the {name} suite alone.")(command)


for _name in SUITES:
    cortex_harness.add_command(_suite_command(_name))


def _run(suites: tuple[str, ...], options: dict[str, Any]) -> None:
    cortex = _command_of(options.pop("cortex"), stack.CORTEX)
    asked = running.Options(
        suites=tuple(dict.fromkeys(suites)),
        cortex=cortex,
        command=("cortex-harness", *sys.argv[1:]),
        **options,
    )
    folder, verdict = running.run(asked)
    _tell(folder)
    raise _Ended(verdict)


def _command_of(text: str, usual: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text)) or usual
    except ValueError as err:
        raise click.UsageError(f"--cortex is no command: {err}") from err


def _tell(folder: RunFolder) -> None:
    run = folder.load()
    if click.get_current_context().find_root().obj:
        for line in annotations.lines(run.gates):
            tell(line)
    for gate in run.gates:
        say(f"  {outputs.MARKS[gate.standing]:<18} {gate.id}: {gate.why}")
    for waiver in run.waivers:
        if waiver.state != "used":
            about = f"{waiver.gate} {waiver.set}".strip()
            say(f"waiver of {about} by {waiver.by}, until {waiver.until}: {waiver.state}")
    if run.baseline and run.baseline.note:
        say(f"baseline: {run.baseline.note}")
    say(f"report: {folder.path / 'report.html'}")


_RUN = click.argument("run", type=FOLDER)
_EVALS = click.option("--evals", type=FOLDER, default=ROOT / "evals", show_default=False)


@cortex_harness.command()
@_RUN
@_EVALS
def gate(run: Path, evals: Path) -> None:
    """Judge a run's results again against evals/gates.toml."""
    folder = RunFolder(run)
    record = folder.load()
    gates = gates_file.read(evals / "gates.toml")
    with garbled.named(run):
        verdict = judging.judge_run(folder, record, gates, evals)
        # Rendered first: a folder that cannot be read keeps the verdict it had.
        outputs.write(folder, record)
        folder.save(record)
    _tell(folder)
    raise _Ended(verdict)


@cortex_harness.command()
@_RUN
def report(run: Path) -> None:
    """Render a run's report again from its data; ends with the run's own verdict."""
    folder = RunFolder(run)
    record = folder.load()
    with garbled.named(run):
        outputs.write(folder, record)
    say(f"report: {folder.path / 'report.html'}")
    raise _Ended(record.concluded())


@cortex_harness.group(name="profile")
def profile_group() -> None:
    """Look closer at one thing under a chosen load."""


def _with_stack_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a run that say which stack and which eval sets."""
    without = ("--load-profiles", "--require-all", "--profile")
    return _shared(*(name for name in _OPTIONS if name not in without))(command)


@profile_group.command(name="search")
@click.option("--set", "set_", default="memory-notes", show_default=True, help="The eval set.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Searches a second.")
@click.option("--users", type=click.IntRange(min=1), help="Callers who wait, instead of a rate.")
@click.option("--seconds", type=click.FloatRange(min=1), help="How long, with a rate. [60]")
@click.option("--searches", type=click.IntRange(min=10), help="How many, timed. [600 with --users]")
@click.option(
    "--texts", type=click.Choice(["1", "4"]), default="1", show_default=True, help="Texts a search."
)
@_with_stack_options
def profile_search(
    set_: str,
    rate: float | None,
    users: int | None,
    seconds: float | None,
    searches: int | None,
    texts: str,
    **options: Any,
) -> None:
    """Where the time of a search goes: stages, statements, plans, processes, flame graphs.

    Judges nothing: ends with 0 when it was measured, 3 when the load run does not count.
    """
    if rate is not None and users is not None:
        raise click.UsageError("--rate and --users are two loads; choose one")
    if users is not None and seconds is not None:
        raise click.UsageError("--users make a number of searches: say --searches, not --seconds")
    if seconds is not None and searches is not None:
        raise click.UsageError("--seconds and --searches both say how long; choose one")
    rate = None if users is not None else rate or PROFILED_RATE
    lasts_s = searches / rate if searches and rate else seconds or PROFILED_S
    wish = Wish(
        rate=rate,
        seconds=lasts_s,
        users=users,
        searches=searches or PROFILED_SEARCHES,
        texts=int(texts),
        set=set_,
    )
    wish.profile()  # an impossible load is refused before anything is started
    unused = {"profile": "full", "load_profiles": Path(), "require_all": False}
    _run((PROFILING,), {**options, **unused, "search": wish})


@cortex_harness.command()
@click.argument("runs", nargs=-1, type=FOLDER, metavar="[RUN RUN]")
@click.option("--base", metavar="REF", help="Run this revision beside the candidate.")
@click.option(
    "--candidate", metavar="REF", default="", help="Another revision than the working tree."
)
@click.option("--eval-set", default="", help="The eval set to load; the first one if not said.")
@click.option(
    "--pairs",
    type=click.IntRange(LEAST_PAIRS, 1000),
    help="Pairs of blocks, instead of the file's.",
)
@click.option(
    "--repository",
    type=FOLDER,
    default=ROOT,
    show_default=False,
    help="Where the revisions are.",
)
@click.option(
    "--out",
    type=FOLDER,
    default=ROOT / "reports" / "comparisons",
    show_default=False,
    help="Where comparisons go.",
)
@click.option(
    "--environments",
    type=FOLDER,
    default=ROOT / ".cortex" / "harness" / "environments",
    show_default=False,
    help="Where the dependencies of other revisions are kept.",
)
@_shared("--evals", "--eval-sets", "--cortex", "--seed")
def compare(runs: tuple[Path, ...], base: str | None, **options: Any) -> None:
    """Two runs side by side, or with --base two builds in turn on this machine, with statistics.

    Kept runs: relevance is judged, speed is shown. Builds: both are judged; the verdict names the
    stage to blame. Not comparable, or too restless a machine: exit code 3.
    """
    command = ("cortex-harness", *sys.argv[1:])
    if base is not None and not runs:
        cortex = _command_of(options.pop("cortex"), ())
        environments = options.pop("environments")
        asked = comparing.Options(
            base=base, cortex=cortex, cache=environments, command=command, **options
        )
        folder, verdict = comparing.compare(asked)
    elif base is None and len(runs) == 2:
        _only_of_builds()
        evals, out = options["evals"], options["out"]
        with garbled.named(*runs):
            folder, verdict = stored.compare(runs[0], runs[1], evals, out, command)
    else:
        raise click.UsageError("give two run folders, or --base REF")
    say(f"report: {folder.path / 'report.html'}")
    raise _Ended(verdict)


def _only_of_builds() -> None:
    """Refuse options that say nothing about two kept runs."""
    context = click.get_current_context()
    given = [
        f"--{name.replace('_', '-')}"
        for name in context.params
        if name not in ("runs", "base", "evals", "out")
        and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: only with --base; two runs are as they are")


@cortex_harness.group()
def baseline() -> None:
    """What regressions are measured against."""


@baseline.command()
@_RUN
@_EVALS
@click.option("--reason", required=True, help="Why these scores are what is wanted from now on.")
def accept(run: Path, evals: Path, reason: str) -> None:
    """Make a run's per-query scores the committed baseline of its profile."""
    if not reason.strip():
        raise click.UsageError("--reason is empty; say why")
    with garbled.named(run):
        lines = baselines.accept(RunFolder(run), evals, reason.strip())
    for line in lines:
        say(line)
    raise _Ended(Verdict(outcome=Outcome.PASS, why="baseline accepted; commit evals/baselines"))


def main() -> NoReturn:
    """Run the command; whatever happens, the last line is a verdict, the exit code its number."""
    try:
        cortex_harness.main(standalone_mode=False)
        # Reached by --help alone.
        sys.exit(0)
    except _Ended as ended:
        verdict = ended.verdict
    except click.ClickException as err:
        err.show()
        verdict = Verdict(outcome=Outcome.USAGE, why=err.format_message())
    except (click.Abort, KeyboardInterrupt):
        verdict = Verdict(outcome=Outcome.BROKEN, why="interrupted")
    except HarnessError as err:
        verdict = Verdict(outcome=Outcome(err.exit_code), why=str(err))
    except Exception as err:  # noqa: BLE001 - Python's own exit code for a crash means "a gate fell"
        click.echo(plain(traceback.format_exc()), err=True)
        verdict = Verdict(outcome=Outcome.BROKEN, why=f"{type(err).__name__}: {err}")
    say(verdict.line)
    sys.exit(verdict.outcome.value)
