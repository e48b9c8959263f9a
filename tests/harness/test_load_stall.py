"""The harness itself on trial: a server that stood still for two of twelve seconds.

Stock tools show a p95 of 8 ms for it; independent callers would have seen 1.4 s.
"""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest
from servers import wait_for

from harness.environment import ROOT
from harness.measures.latency import Latencies
from harness.measures.schedule import Law, arrivals
from harness.probes.load import locust
from harness.probes.load.judging import judged
from harness.probes.load.profiles import LoadProfile, Open, Valid
from harness.processes import running
from harness.proofs.load import LATE_S, SHARES, WITHIN, calls, closed, shared, stalled, stalling
from harness.servers import free_port
from loadtests.plans import Plan


@pytest.mark.parametrize("law", ["poisson", "steady"])
def test_an_open_run_shows_what_independent_callers_waited(tmp_path: Path, law: Law) -> None:
    found = stalled(tmp_path, law, 7)

    assert (found.dropped, found.failed, found.answered) == (0, 0, found.sent)
    for name in SHARES:
        assert found.measured_ms[name] == pytest.approx(found.true_ms[name], rel=WITHIN)
    assert found.true_ms["p95"] > 1_000
    assert found.service_p50_ms < 100
    assert found.holds


def test_a_closed_run_is_blind_to_it_which_is_why_the_report_says_so(tmp_path: Path) -> None:
    found = closed(tmp_path)

    assert found.answered == 1_000
    assert found.max_ms > 1_000  # the ten who waited
    assert found.p95_ms < 100  # nobody asked while it stood


def test_workers_share_the_plan_and_their_histograms_add_up(tmp_path: Path) -> None:
    found = shared(tmp_path, 11)

    assert found.sent == found.answered == found.samples
    assert found.equal
    assert found.lost == 0
    assert found.latest_s < LATE_S
    assert found.holds


def test_a_run_that_lost_a_process_ends_soon_and_does_not_count(tmp_path: Path) -> None:
    moments = list(arrivals(30, 12.0, 5))
    with stalling(tmp_path) as url, ThreadPoolExecutor(1) as beside:
        plan = Plan(
            model="open",
            calls=calls(url, len(moments)),
            moments=moments,
            processes=3,
            limit_s=300,
        )
        running = beside.submit(locust.run, plan, "one is lost", tmp_path / "locust.log")
        came = tmp_path / "port.arrivals"
        wait_for("calls", lambda: came.exists() and len(came.read_text().splitlines()) > 60)
        workers = [one for one in psutil.Process().children(recursive=True) if is_worker(one)]
        workers[0].kill()
        recorded = running.result(timeout=120)  # not the plan's limit

    assert recorded.lost == 1
    assert 0 < recorded.answered < len(moments)
    size = Open(per_second=30, seconds=12)
    profile = LoadProfile(name="p", about="", model="open", size=size, valid=Valid())
    reasons = judged(profile, size, plan, recorded, ceiling=1e9).client_reasons
    assert "1 of 3 client processes were lost" in reasons


def is_worker(process: psutil.Process) -> bool:
    """Whether a process is a Locust worker: one that a Locust master forked."""
    return "locust" in process.cmdline() and "locust" in process.parent().cmdline()


def test_a_master_and_workers_started_apart_follow_one_plan(tmp_path: Path) -> None:
    """As on several machines: each process is started by hand and has its own copy of the plan."""
    moments = list(arrivals(40, 4.0, 3))
    port, record = free_port(), tmp_path / "record.json"
    with stalling(tmp_path) as url, ExitStack() as stack:
        plan = Plan(
            model="open",
            calls=calls(url, len(moments)),
            moments=moments,
            processes=2,
            limit_s=60,
        )
        (tmp_path / "plan.json").write_text(json.dumps(asdict(plan)))
        words = [sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests" / "callers.py")]
        words += ["--plan", str(tmp_path / "plan.json"), "--record", str(record), "OpenCallers"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        master = ["--master", "--headless", "--expect-workers", "2", "--users", "2"]
        master += ["--spawn-rate", "2", "--master-bind-host", "127.0.0.1"]
        log = tmp_path / "locust.log"
        place = ["--master-bind-port", str(port)]
        child = stack.enter_context(running([*words, *master, *place], environment, log))
        for number in range(2):
            worker = ["--worker", "--master-host", "127.0.0.1", "--master-port", str(port)]
            own = tmp_path / f"worker-{number}.log"
            stack.enter_context(running([*words, *worker], environment, own))
        child.wait(timeout=90)

    found = locust.Recorded.model_validate_json(record.read_bytes())
    assert found.answered == len(moments) == Latencies(found.response).n
    assert (found.lost, found.dropped, found.errors) == (0, 0, {})
