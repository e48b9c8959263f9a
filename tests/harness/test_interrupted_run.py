"""Ctrl-C leaves a valid partial run folder, and no process of the run's own."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import Harness

WITHIN_S = 60


def wait_for(path_made: "object", what: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if path_made():  # type: ignore[operator]
            return
        time.sleep(0.05)
    pytest.fail(f"{what} did not happen within {WITHIN_S} s")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_valid_partial_folder(
    harness: Harness, tmp_path: Path, number: signal.Signals
) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    child = harness.start(
        *("run", "relevance", *harness.options),
        CORTEX_FAKE_FAULT="slow",
        CORTEX_FAKE_TRACE=str(trace),
    )
    mine = psutil.Process(child.pid)
    wait_for(lambda: list(harness.runs.glob("*/logs/memory-hybrid.log")), "the first searches")
    family = mine.children(recursive=True)

    child.send_signal(number)
    ended = harness.end(child)

    assert ended.code == 4
    assert ended.verdict.startswith("verdict: BROKEN (exit 4): interrupted: relevance")
    kept = ended.json
    assert kept["status"] == "partial"
    assert kept["suites"]["relevance"]["state"] == "interrupted"
    assert kept["verdict"]["line"] == ended.verdict
    assert "This run is partial" in (ended.run / "report.html").read_text()
    again = harness("gate", str(ended.run), "--evals", str(harness.evals))
    assert again.code == 4
    refused = harness(
        *("baseline", "accept", str(ended.run), "--evals", str(harness.evals), "--reason", "x")
    )
    assert refused.code == 2
    services = [pid for path in trace.iterdir() for pid in json.loads(path.read_text())]
    assert family
    assert len(services) == 2
    for pid in [process.pid for process in family] + services:
        wait_for(lambda pid=pid: _gone(pid), f"the end of process {pid}")


def test_an_interrupt_within_an_import_keeps_the_exit_code(tmp_path: Path) -> None:
    made_from_text = (
        "import os, signal; os.kill(os.getpid(), signal.SIGINT); [0 for _ in 'ab' * 99]"
    )
    program = (
        "import sys\nfrom harness import interrupts\n"
        f"try:\n with interrupts.heeded():\n  exec({made_from_text!r})\n"
        "except KeyboardInterrupt:\n sys.exit(4)\n"
    )

    ended = subprocess.run([sys.executable, "-c", program])

    assert ended.returncode == 4


def test_signals_without_end_do_not_stop_the_verdict_from_being_written(harness: Harness) -> None:
    child = harness.start("run", "relevance", *harness.options, CORTEX_FAKE_FAULT="slow")
    wait_for(lambda: list(harness.runs.glob("*/logs/memory-hybrid.log")), "the first searches")
    deadline = time.monotonic() + WITHIN_S

    while not list(harness.runs.glob("*/report.html")) and child.poll() is None:
        assert time.monotonic() < deadline
        child.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    ended = harness.end(child)

    assert ended.code == 4, ended.output
    assert ended.verdict.startswith("verdict: BROKEN (exit 4): interrupted: relevance")
    assert ended.json["verdict"]["line"] == ended.verdict


def _gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_good_run_leaves_no_process_either(harness: Harness, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()

    ended = harness.run("relevance", CORTEX_FAKE_TRACE=str(trace))

    assert ended.code == 0, ended.output
    services = [pid for path in trace.iterdir() for pid in json.loads(path.read_text())]
    assert len(services) == 2
    assert all(_gone(pid) for pid in services)
