"""The contract suite's own behaviour: records of every outcome, and cases that can fail."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import contrary_server
import pytest

from harness.probes import contract
from harness.probes.contract import health, official, protocol
from harness.probes.contract.cases import BOTH, Chapter, ContractCase, play
from harness.probes.contract.scene import At, CannotRun, Scene
from harness.probes.contract.speaking import Broken, same
from harness.results import Case, Records
from harness.targets import Targets


def _targets(url: str) -> Targets:
    return Targets.model_validate(
        {
            "schema": "cortex.targets/1",
            "stack": {"name": "n", "runtime": "native", "profile": "memory"},
            "services": {
                "memory": {"url": url, "mcp_url": f"{url}/mcp"},
                "embedding": {"url": url},
            },
        }
    )


def _played(
    cases: list[ContractCase], folder: Path, url: str = "http://127.0.0.1:9", required: bool = False
) -> list[Case]:
    with Scene(_targets(url), False, folder, 1).playing() as scene:
        return list(play(cases, scene, required))


@pytest.fixture
def chapter() -> Chapter:
    """Cases of every outcome, a good one last."""
    made = Chapter("memory")

    @made.case("a promise that does not hold")
    def _broken(_at: At) -> None:
        same({"a": 1}, {"a": 2}, "about a")

    @made.case("a case that crashes")
    def _crashing(_at: At) -> None:
        raise ZeroDivisionError("by nothing")

    @made.case("a case without its ground")
    def _groundless(_at: At) -> None:
        raise CannotRun("there is no ground")

    @made.case("a server that is not there")
    def _refused(at: At) -> None:
        at.call("ListProjects")

    @made.case("a promise that holds")
    def _good(_at: At) -> None:
        same(1, 1)

    return made


def test_every_outcome_is_a_record_and_the_run_goes_on(chapter: Chapter, tmp_path: Path) -> None:
    records = _played(chapter.cases, tmp_path)

    outcomes = [record.outcome for record in records]
    assert outcomes == ["failed", "error", "skipped", "error", "passed"]
    failed, crashed, skipped, refused, _ = records
    assert (failed.expected, failed.actual, failed.note) == ('{"a": 1}', '{"a": 2}', "about a")
    assert "ZeroDivisionError: by nothing" in crashed.note
    assert "test_contract_machinery.py" in crashed.note
    assert skipped.note == "there is no ground"
    assert "ConnectError" in refused.actual
    assert {record.service for record in records} == {"memory"}


def test_where_all_is_required_a_case_that_cannot_run_counts_as_failed(
    chapter: Chapter, tmp_path: Path
) -> None:
    records = _played(chapter.cases, tmp_path, required=True)

    assert [record.outcome for record in records][2] == "error"
    assert records[2].note == "there is no ground"


def test_a_case_of_both_eras_is_two_records_that_name_them(tmp_path: Path) -> None:
    made = Chapter("memory", eras=BOTH)
    made.add("a promise", lambda at: same(at.era, at.memory.era))

    records = _played(made.cases, tmp_path)

    assert [(record.era, record.outcome) for record in records] == [
        ("handshake", "passed"),
        ("2026-07-28", "passed"),
    ]
    assert len({record.name for record in records}) == 2


def test_no_two_cases_have_one_name() -> None:
    names = Counter(case.name for case in contract.all_cases())

    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) >= 300


def test_chapters_that_disturb_the_stack_are_played_last() -> None:
    assert contract.CHAPTERS[-1].__name__.endswith("lifecycle")


@pytest.fixture(scope="module")
def yes() -> Iterator[str]:
    """A server that says yes to everything."""
    with contrary_server.saying_yes() as url:
        yield url


PASSED_BY_YES = {
    "a request without a protocol version is answered",
    "a session id of another server changes nothing",
    "a loopback Host is answered, with a port and without",
    "a loopback Origin is answered",
    "any Accept that takes JSON is answered, also none at all",
    "a client that takes gzip gets an answer it can read",
    "/mcp and /mcp/ both answer, without a redirect",
    "broken bodies are refused, and none breaks the server",
    "headers from anywhere are refused, and none breaks the server",
}
"""Promises to let something in, which a server that lets everything in keeps."""


def test_a_server_that_says_yes_to_everything_passes_no_case_but_those_that_let_in(
    yes: str, tmp_path: Path
) -> None:
    cases = [case for case in contract.all_cases() if case.check.__module__ != official.__name__]
    started = time.monotonic()

    records = _played(cases, tmp_path, yes)

    wrong = [
        record.name
        for record in records
        if record.outcome == "passed" and not any(one in record.name for one in PASSED_BY_YES)
    ]
    assert wrong == []
    assert all(record.note for record in records if record.outcome == "skipped")
    assert time.monotonic() - started < 120


def test_a_server_that_fails_at_everything_passes_no_case(tmp_path: Path) -> None:
    chapters = (health, protocol)
    cases = [case for one in chapters for case in one.CHAPTER.cases]

    with contrary_server.failing() as url:
        records = _played(cases, tmp_path, url)

    assert [record.name for record in records if record.outcome == "passed"] == []


def test_on_a_stack_of_others_nothing_is_started_or_killed_and_each_case_says_so(
    yes: str, tmp_path: Path
) -> None:
    wanted = ("calls too often gets 429", "that is killed is restarted", "replica", "API key")
    cases = [case for case in contract.all_cases() if any(word in case.name for word in wanted)]

    records = _played(cases, tmp_path, yes)

    assert len(records) == 6
    started = [record for record in records if "replica" not in record.name]
    assert {record.outcome for record in started} == {"skipped"}
    assert all("this run brought up" in record.note for record in started)


def test_records_of_a_run_keep_service_and_era(tmp_path: Path, chapter: Chapter) -> None:
    records = _played(chapter.cases, tmp_path)

    assert [case.service for case in Records.of(records).cases] == ["memory"] * 5


def test_a_scenario_without_one_passed_check_proves_nothing() -> None:
    with pytest.raises(Broken, match="no check passed"):
        official.judge("ping", official.Outcome(0, (), ""))
    with pytest.raises(Broken, match="check 2"):
        official.judge("ping", official.Outcome(1, ("check 2",), ""))
    official.judge("ping", official.Outcome(1, (), ""))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder for logs, where the conformance suite is to be had."""
    try:
        official.installed(official.CACHE, tmp_path)
    except CannotRun as err:
        pytest.skip(f"the conformance suite is not to be had here: {err}")
    return tmp_path


@pytest.mark.parametrize("scenario", official.SCENARIOS)
def test_a_server_that_must_fail_an_official_scenario_does(
    yes: str, suite: Path, scenario: str
) -> None:
    # Strange hosts must be let in to fail that scenario; the others fail on a server that fails.
    with contrary_server.failing() as failing:
        url = yes if scenario == official.NEEDS_LOOPBACK else failing
        outcome = official.run(f"{url}/mcp", scenario, suite)

    with pytest.raises(Broken):
        official.judge(scenario, outcome)


def test_without_a_registry_the_official_suite_says_that_it_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("npm_config_fetch_retry_mintimeout", "10")

    with pytest.raises(CannotRun, match="could not be installed"):
        official.installed(tmp_path / "cache", tmp_path)

    assert list((tmp_path / "cache").iterdir()) == []


def test_the_lock_file_names_no_registry() -> None:
    text = (official.PINNED / "package-lock.json").read_text()

    assert '"resolved"' not in text
    assert text.count('"integrity"') > 100
