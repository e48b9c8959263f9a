"""The harness itself on trial: a server that stood still for two of twelve seconds.

Stock tools show a p95 of 8 ms for it; independent callers would have seen 1.4 s.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from servers import wait_for

from harness.measures.latency import Latencies
from harness.measures.schedule import Law, arrivals
from harness.probes.load import locust
from harness.probes.load.judging import judged
from harness.probes.load.profiles import LoadProfile, Open, Valid
from harness.proofs.load import LATE_S, SHARES, WITHIN, calls, shared, stalled, stalling
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
    with stalling(tmp_path) as url:
        plan = Plan(
            model="closed",
            calls=calls(url, 1_000),
            users=10,
            think_s=0.095,
            moments=[],
            limit_s=60,
        )
        recorded = locust.run(plan, "stall", tmp_path / "locust.log")

    response = Latencies(recorded.response)
    assert response.n == 1_000
    assert response.max_ms > 1_000  # the ten who waited
    assert response.quantile(0.95).value_ms < 100  # nobody asked while it stood


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
