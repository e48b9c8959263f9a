"""What looks at processes: CPU and memory by service, sampled stacks, flame graphs."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import wait_for

from harness.measures import call_tree
from harness.probes import resources
from harness.probes.profiling.sampling import sampling
from harness.report.flames import MOST_BOXES, flame_chart, tone

BUSY = """
import sys, time
def the_hot_one(until):
    n = 0
    while time.monotonic() < until:
        n += 1
    return n
def rests():
    time.sleep(60)
print("up", flush=True)
(the_hot_one if sys.argv[1] == "busy" else lambda _: rests())(time.monotonic() + 60)
"""

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python processes that are `busy` or not; they are gone afterwards."""
    children = []

    def started(how: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", BUSY, how]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        return child

    yield started
    for child in children:
        child.kill()
        child.communicate()


def test_the_hot_function_of_a_running_process_stands_in_its_stacks(
    start: Start, tmp_path: Path
) -> None:
    child = start("busy")

    with sampling(child.pid, tmp_path / "py-spy.log") as stacks:
        assert not stacks.unavailable, stacks.unavailable
        wait_for("a second of CPU", lambda: _spent(child.pid) > 1)

    assert stacks.samples > 10
    hottest = call_tree.hottest(stacks.collapsed, 1)[0]
    assert hottest.name.startswith("the_hot_one")
    assert hottest.within > 0.8 * stacks.samples
    assert stacks.cpu_s > 0.2
    assert child.poll() is None  # looked at, never stopped


def _spent(pid: int) -> float:
    import psutil

    return psutil.Process(pid).cpu_times().user


def test_a_process_that_cannot_be_sampled_is_a_reason_with_the_exit_code(tmp_path: Path) -> None:
    with sampling(2**22 + 1, tmp_path / "py-spy.log") as stacks:
        pass

    assert stacks.collapsed == ""
    assert "py-spy ended with exit code 1 for process" in stacks.unavailable


def test_each_service_is_counted_with_its_children_and_the_rest_is_the_client(
    start: Start,
) -> None:
    busy, idle, client = start("busy"), start("idle"), start("busy")
    roots = {"memory": [busy.pid], "postgres": [idle.pid], "gone": [2**22 + 1]}

    with resources.sampling(roots, every_s=0.2) as sampled:
        wait_for("three looks", lambda: len(sampled.of(resources.CLIENT)) >= 3)

    assert client.poll() is None
    assert set(sampled.services) == {"memory", "postgres", resources.CLIENT, resources.HARNESS}
    used = {name: sum(s.cores for s in sampled.of(name)) for name in sampled.services}
    assert used["memory"] > 10 * used["postgres"]
    assert used[resources.CLIENT] > 10 * used["postgres"]
    assert all(one.rss_mib > 1 for one in sampled.samples)
    moments = [one.at_s for one in sampled.of("memory")]
    assert moments == sorted(moments)
    assert moments[0] > 0


def test_no_look_is_taken_after_the_end(start: Start) -> None:
    child = start("idle")
    with resources.sampling({"memory": [child.pid]}, every_s=0.05) as sampled:
        wait_for("a look", lambda: sampled.samples)
    seen = len(sampled.samples)

    time.sleep(0.15)  # would be three more looks

    assert len(sampled.samples) == seen


def test_samples_become_a_tree_and_recursion_counts_once() -> None:
    collapsed = "main;f;f;g 3\nmain;f 2\nmain;h 1\nnot a stack\n"

    root = call_tree.tree(collapsed)

    assert root.samples == 6
    assert root.below["main"].below["f"].samples == 5
    assert root.below["main"].below["f"].own == 2
    found = {one.name: (one.own, one.within) for one in call_tree.hottest(collapsed, 9)}
    assert found == {"g": (3, 3), "f": (2, 5), "h": (1, 1)}


def test_a_flame_graph_of_anything_stays_small_and_is_the_same_each_time() -> None:
    names = [f"function_{n} (cortex/memory/actions/finding.py)" for n in range(60)]
    wide = [f"main;{a};{b};leaf {1 + i % 7}" for i, a in enumerate(names) for b in names]

    chart = flame_chart(call_tree.tree("\n".join(wide)))
    again = flame_chart(call_tree.tree("\n".join(reversed(wide))))

    assert chart == again
    assert len(chart.boxes) <= MOST_BOXES
    assert max(box.x + box.width for box in chart.boxes) <= chart.width + 0.2
    assert {tone(name) for name in names} == {"s0"}
    assert tone("execute (psycopg/cursor.py)") == "s1"
