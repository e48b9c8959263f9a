"""The exit code, the last printed line and run.json say the same, whatever happens."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import Ended, Harness

WORDS = {0: "PASS", 1: "FAIL", 2: "USAGE", 3: "INCONCLUSIVE", 4: "BROKEN", 5: "EMPTY"}


def agrees(ended: Ended, code: int) -> str:
    """The verdict's words, after its three forms were held against each other."""
    assert ended.code == code, ended.output
    prefix = f"verdict: {WORDS[code]} (exit {code}): "
    assert ended.verdict.startswith(prefix), ended.output
    if ended.runs.exists():
        kept = ended.json["verdict"]
        assert (kept["word"], kept["exit_code"], kept["line"]) == (WORDS[code], code, ended.verdict)
    return ended.verdict.removeprefix(prefix)


def test_a_good_run_ends_with_0_and_a_whole_folder(finished: tuple[Harness, Ended]) -> None:
    run = finished[1].run

    kept = json.loads((run / "run.json").read_text())

    assert kept["schema"] == "cortex.run/1"
    assert kept["status"] == "complete"
    assert kept["verdict"]["exit_code"] == 0
    assert kept["stack"]["model"] == "fake-trigrams@1"
    assert {"garage", "kitchen"} == kept["data"].keys()
    for name in ("results.jsonl", "junit.xml", "summary.md", "report.html", "relevance/scores.csv"):
        assert (run / name).stat().st_size > 0
    everything = "".join(path.read_text() for path in run.rglob("*") if path.is_file())
    assert "secret-token-of-the-fake" not in everything


def test_a_gate_that_fell_ends_with_1(harness: Harness) -> None:
    gates = harness.evals / "gates.toml"
    gates.write_text(gates.read_text().replace("floor = 0.5", "floor = 0.99"))

    why = agrees(harness.run("relevance"), 1)

    assert "ndcg/all/floor" in why


def test_a_search_that_fails_ends_with_1_and_is_never_scored(harness: Harness) -> None:
    ended = harness.run("relevance", CORTEX_FAKE_FAULT="half-errors")

    agrees(ended, 1)
    assert "the store is on fire" in (ended.run / "results.jsonl").read_text()
    standings = {gate["id"]: gate["standing"] for gate in ended.json["gates"]}
    assert standings["answered/kitchen/ceiling"] == "fell"
    assert standings["ndcg/all/floor"] == "missing"


@pytest.mark.parametrize(
    ("fault", "says"),
    [("degraded", "degraded: embedding"), ("unknown-item", "is no item that was added")],
)
def test_a_search_that_is_not_whole_counts_as_failed(
    harness: Harness, fault: str, says: str
) -> None:
    ended = harness.run("relevance", CORTEX_FAKE_FAULT=fault)

    agrees(ended, 1)
    assert says in (ended.run / "results.jsonl").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "nonsense"], "'nonsense' is not one of"),
        (["run", "--profile", "medium"], "'medium' is not one of"),
        (["gate", "nowhere"], "is not a run folder"),
        (["report", "nowhere"], "is not a run folder"),
        (["baseline", "accept", "nowhere"], "Missing option '--reason'"),
        (["run", "--eval-sets", "nowhere"], "no such folder"),
        (["run", "relevance", "--stack", "nowhere.json"], "cannot be read"),
    ],
)
def test_a_usage_mistake_ends_with_2_before_anything_starts(
    harness: Harness, words: list[str], says: str
) -> None:
    ended = harness(*words, *(["--out", str(harness.runs)] if words[0] == "run" else []))

    assert says in agrees(ended, 2)
    assert not harness.runs.exists()


def test_too_few_samples_end_with_3(harness: Harness) -> None:
    gates = harness.evals / "gates.toml"
    gates.write_text(gates.read_text().replace("min_n = 10", "min_n = 200"))

    ended = harness.run("relevance")

    agrees(ended, 3)
    assert "n is 32; 200 are needed" in ended.output


def test_a_stack_that_does_not_start_ends_with_4(harness: Harness) -> None:
    ended = harness.run("relevance", CORTEX_FAKE_FAULT="up-fails")

    assert "no space left on device" in agrees(ended, 4)
    assert ended.json["status"] == "failed"
    assert "no space left on device" in (ended.run / "report.html").read_text()


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("/nowhere/cortex", 4, "/nowhere/cortex: cannot be started (No such file or directory)"),
        ("false", 4, "`cortex up` ended with exit code 1"),
        ("cortex '", 2, "--cortex is no command: No closing quotation"),
    ],
)
def test_a_command_that_brings_up_nothing_is_named(
    harness: Harness, command: str, code: int, said: str
) -> None:
    ended = harness("run", "relevance", *harness.options, "--cortex", command)

    assert ended.code == code
    assert said in ended.verdict
    assert "Traceback" not in ended.output


def test_a_cache_that_cannot_be_used_is_named(harness: Harness) -> None:
    (harness.folder / "cache.sqlite").write_bytes(b"no database" * 500)

    ended = harness.run("relevance")

    assert ended.code == 2
    assert "cache.sqlite: the cache of embeddings cannot be used" in ended.verdict
    assert not harness.runs.exists()


def test_a_suite_without_data_ends_with_5(harness: Harness) -> None:
    shutil.rmtree(harness.evals / "relevance")

    why = agrees(harness.run("relevance"), 5)

    assert "no eval set" in why


def test_judging_again_says_the_same(finished: tuple[Harness, Ended]) -> None:
    made, ended = finished

    again = made("gate", str(ended.run), "--evals", str(made.evals))

    agrees(again, 0)


def test_judging_again_without_the_measurements_is_never_a_pass(
    finished: tuple[Harness, Ended],
) -> None:
    made, ended = finished
    (ended.run / "results.jsonl").write_text("")

    again = made("gate", str(ended.run), "--evals", str(made.evals))

    assert "gates not measured" in agrees(again, 4)


def test_a_run_of_a_newer_schema_is_refused(
    finished: tuple[Harness, Ended], change_run: object
) -> None:
    made, ended = finished
    path = ended.run / "run.json"
    path.write_text(path.read_text().replace("cortex.run/1", "cortex.run/2"))

    again = made("report", str(ended.run))

    assert again.code == 2
    assert "schema is 'cortex.run/2'; this harness reads cortex.run/1" in again.verdict


def test_a_stack_of_somebody_else_is_not_written_to_unasked(
    harness: Harness, tmp_path: Path
) -> None:
    targets = tmp_path / "targets.json"
    memory = {"url": "http://127.0.0.1:1", "mcp_url": "http://127.0.0.1:1/mcp"}
    services = {"memory": memory, "embedding": {"url": "http://127.0.0.1:1"}}
    stack = {"name": "prod", "runtime": "native", "profile": "memory"}
    targets.write_text(
        json.dumps({"schema": "cortex.targets/1", "stack": stack, "services": services})
    )

    ended = harness.run("relevance", "--stack", str(targets))

    assert "--allow-writes" in agrees(ended, 2)


def test_a_runtime_there_is_none_of_is_a_mistake_not_a_broken_stack(harness: Harness) -> None:
    ended = harness.run("relevance", "--stack", "compose")

    assert "compose" in agrees(ended, 2)
