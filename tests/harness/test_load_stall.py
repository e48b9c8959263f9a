"""The harness itself on trial: a server that stood still for two of twelve seconds.

Stock tools show a p95 of 8 ms for it; independent callers would have seen 1.4 s.
"""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from servers import wait_for

from harness import mcp
from harness.measures.latency import Latencies
from harness.measures.schedule import arrivals
from harness.probes.load import locust
from harness.probes.load.judging import judged
from harness.probes.load.profiles import LoadProfile, Open, Valid
from loadtests.plans import Call, Plan

HERE = Path(__file__).parent
PER_SECOND, SECONDS, STALL_AT_S, STALL_S, SERVICE_S = 100, 12.0, 4.0, 2.0, 0.005
WITHIN = 0.15


@contextmanager
def stalling(folder: Path) -> Iterator[str]:
    port = folder / "port"
    command = [sys.executable, str(HERE / "stalling_server.py"), str(port)]
    server = subprocess.Popen([*command, str(STALL_AT_S), str(STALL_S)])
    try:
        wait_for("the server's port", lambda: port.exists() and port.read_text())
        yield f"http://127.0.0.1:{port.read_text()}/mcp"
    finally:
        server.kill()
        server.wait()


def calls(url: str, count: int) -> list[Call]:
    made = (mcp.request("FindItems", {"queries": [f"q {n}"]}, None) for n in range(count))
    return [Call(url, headers, body.decode(), "memory-search", "mcp") for headers, body in made]


def truth(moments: list[float], share: float) -> float:
    """The quantile, in ms, of what callers at these moments wait, by arithmetic."""
    end = STALL_AT_S + STALL_S
    first = moments[0]  # the server counts from its first request
    waits = sorted(
        SERVICE_S + (end - (at - first) if STALL_AT_S <= at - first < end else 0.0)
        for at in moments
    )
    return 1000 * waits[min(len(waits) - 1, int(share * len(waits)))]


@pytest.mark.parametrize("law", ["poisson", "steady"])
def test_an_open_run_shows_what_independent_callers_waited(tmp_path: Path, law: str) -> None:
    moments = list(arrivals(PER_SECOND, SECONDS, 7, law))  # type: ignore[arg-type]
    with stalling(tmp_path) as url:
        plan = Plan(
            model="open", calls=calls(url, len(moments)), moments=moments, pool=400, limit_s=60
        )
        recorded = locust.run(plan, "stall", tmp_path / "locust.log")

    response, service = Latencies(recorded.response), Latencies(recorded.service)
    assert recorded.dropped == 0
    assert recorded.errors == {}
    assert response.n == len(moments)
    for share in (0.95, 0.99):
        assert response.quantile(share).value_ms == pytest.approx(truth(moments, share), rel=WITHIN)
    assert service.quantile(0.5).value_ms < 100


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
    moments = list(arrivals(60, 5.0, 11))
    with stalling(tmp_path) as url:
        plan = Plan(
            model="open",
            calls=calls(url, len(moments)),
            moments=moments,
            pool=200,
            processes=3,
            limit_s=60,
        )
        recorded = locust.run(plan, "three workers", tmp_path / "locust.log")

    raw = Latencies()
    for _, _, _, response_s, _ in recorded.samples:
        raw.record(response_s)
    assert recorded.answered == len(moments) == len(recorded.samples)
    assert Latencies(recorded.response).encoded() == raw.encoded()
    assert recorded.lost == 0
    came = sorted(float(line) for line in (tmp_path / "port.arrivals").read_text().splitlines())
    shift = came[0] - moments[0]
    late = max(abs(at - shift - due) for at, due in zip(came, moments, strict=True))
    assert late < 0.7  # processes started one after the other would be seconds apart


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
