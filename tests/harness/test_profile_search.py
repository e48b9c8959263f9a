"""`profile search`: what it leaves, what it refuses, how it ends."""

import json
from pathlib import Path

import click
import pytest
from conftest import Ended, Harness

from harness import judging, outputs, results
from harness.cli import cortex_harness
from harness.errors import UsageMistake
from harness.metrics import METRICS
from harness.runs import RunFolder, RunRecord, SuiteRecord

LOAD = ["--set", "kitchen", "--users", "2", "--searches", "40", "--texts", "4"]


def profile(harness: Harness, *words: str, **environment: str) -> Ended:
    without = harness.options[:4] + harness.options[6:]  # no load profiles are read
    return harness("profile", "search", *without, *words, **environment)


def test_a_profile_says_where_a_search_s_time_goes_and_judges_nothing(harness: Harness) -> None:
    ended = profile(harness, *LOAD)

    assert ended.code == 0, ended.output
    assert ended.verdict.startswith("verdict: PASS (exit 0): measured: a search takes ")
    assert ended.json["gates"] == []
    assert ended.json["verdict"]["line"] == ended.verdict
    records = results.read(ended.run)
    stages = ["embed", "text", "vector", "unattributed", "outside the server"]
    found = [records.find("load.stage.waited", "", "search", stage) for stage in stages]
    mean = records.find("load.service.mean", "", "search")
    assert mean is not None
    assert sum(one.value for one in found if one) == pytest.approx(mean.value, rel=0.05)
    assert records.find("load.resource.cpu", "", "search", "memory") is not None
    kept = json.loads((ended.run / "profile" / "profile.json").read_text())
    assert {flame["service"] for flame in kept["flames"]} == {"memory", "embedding"}
    assert (ended.run / "profile" / "memory.collapsed").stat().st_size > 0
    page = (ended.run / "report.html").read_text()
    assert "Measured, held against nothing" in page
    assert "Flame graph of memory" in page
    assert "does not say where its Postgres is" in page
    assert len(page) < 300_000
    assert "4 texts a search" in page
    found = records.find("load.searches", "", "search")
    assert found is not None
    assert found.value == 40
    outputs.write(RunFolder(ended.run), RunFolder(ended.run).load())
    assert (ended.run / "report.html").read_text() == page


def test_searches_that_all_fail_are_nothing_measured(harness: Harness) -> None:
    ended = profile(harness, *LOAD, CORTEX_FAKE_FAULT="all-errors")

    assert ended.code == 5, ended.output
    assert "no search was answered" in ended.verdict


def one(name: str, value: float, part: str = "", note: str = "") -> results.Result:
    unit = METRICS[name].unit
    return results.Result(
        suite="load", name=name, value=value, unit=unit, variant="search", part=part, note=note
    )


@pytest.mark.parametrize(
    ("invalid", "failed", "word", "why"),
    [
        (0, 0.0, "PASS", "a search takes 12.0 ms from when it is sent, median of"),
        (0, 0.5, "INCONCLUSIVE", "50.0% of the searches failed"),
        (1, 0.0, "INCONCLUSIVE", "it does not count: sent 900 ms late"),
    ],
)
def test_a_profile_counts_only_if_its_load_does(
    tmp_path: Path, invalid: int, failed: float, word: str, why: str
) -> None:
    folder = RunFolder(tmp_path)
    for record in (
        one("load.service.p50", 12.0),
        one("load.error-rate", failed),
        one("load.invalid", invalid, note="sent 900 ms late"),
        one("load.stage.waited", 7.0, part="embed"),
    ):
        folder.append(record)
    run = RunRecord(
        id="r", status="complete", started_at="", revision="r", dirty=False, profile="full", seed=1
    )
    run.suites["profile-search"] = SuiteRecord(state="measured", records=4)

    verdict = judging.profiled(folder, run)

    assert verdict.outcome.name == word
    assert why in verdict.why


def test_a_stack_that_does_not_come_up_ends_with_4(harness: Harness) -> None:
    ended = profile(harness, *LOAD, CORTEX_FAKE_FAULT="up-fails")

    assert ended.code == 4, ended.output
    assert "no space left on device" in ended.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--rate", "10", "--users", "2"], "--rate and --users are two loads"),
        (["--users", "2", "--seconds", "9"], "say --searches, not --seconds"),
        (["--seconds", "9", "--searches", "90"], "both say how long"),
        (["--rate", "0"], "0.0 is not in the range x>0"),
        (["--rate", "99999"], "per_second: Input should be less than or equal to 2000"),
        (["--users", "9999"], "users: Input should be less than or equal to 500"),
        (["--texts", "3"], "'3' is not one of"),
        (["--set", "attic"], "no eval set 'attic'; there are garage, kitchen"),
    ],
)
def test_a_load_that_cannot_be_is_refused_before_anything_starts(
    harness: Harness, words: list[str], says: str
) -> None:
    arguments = ["profile", "search", *harness.options[:4], *words]

    with pytest.raises((click.ClickException, UsageMistake)) as refused:
        cortex_harness.main(arguments, standalone_mode=False)

    message = refused.value
    assert says in (
        message.format_message() if isinstance(message, click.ClickException) else str(message)
    )
    assert not harness.runs.exists()


def test_a_refused_load_ends_with_2(harness: Harness) -> None:
    ended = profile(harness, "--rate", "10", "--users", "2")

    assert ended.code == 2, ended.output
    assert ended.verdict.startswith("verdict: USAGE (exit 2): --rate and --users are two loads")
