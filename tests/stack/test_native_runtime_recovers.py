"""A native stack whose processes are killed, stand still or refuse: it becomes whole by itself."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

CORTEX = [sys.executable, "-m", "cortex.cli"]


class Stack:
    """A stack that is up, in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.targets = folder / "targets.json"

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        where = ["--state-dir", str(self.folder / "state"), "--name", "t"]
        return subprocess.run(
            [*CORTEX, *words, *where], capture_output=True, text=True, timeout=120
        )

    def up(self, *words: str) -> None:
        done = self.run(
            "up", *words, "--free-ports", "--fast", "--wait", "--out", str(self.targets)
        )
        assert done.returncode == 0, done.stderr

    def database(self) -> str:
        return str(json.loads(self.targets.read_text())["services"]["postgres"]["url"])

    def services(self) -> dict[str, dict[str, Any]]:
        state = json.loads((self.folder / "state" / "t" / "state.json").read_text())
        found: dict[str, dict[str, Any]] = state["services"]
        return found

    def pid(self, service: str) -> int:
        return int(self.services()[service]["pid"])

    def is_whole(self) -> bool:
        return all(row["state"] == "ready" for row in self.services().values())

    def comes_to(self, what: str, check: Callable[[], Any], within_s: float = 90) -> Any:
        deadline = time.monotonic() + within_s
        while not (found := check()):
            assert time.monotonic() < deadline, f"{what} did not come: {self.services()}"
            time.sleep(0.1)
        return found


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    made = Stack(tmp_path)
    yield made
    made.run("down", "--volumes")


def stand_still(pid: int) -> list[psutil.Process]:
    """Stop a process and all below it; Postgres' each lead a group of their own."""
    tree = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    for one in tree:
        one.suspend()
    return tree


def alive(tree: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still are; what waits to be buried by the machine's first process is not."""
    return [one for one in tree if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def acknowledged_then_killed(stack: Stack) -> tuple[int, int]:
    """How many commits were acknowledged, and how many of them there are after a kill -9."""
    killed = stack.pid("postgres")
    with psycopg.connect(stack.database(), autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (n integer)")
        for count in range(1, 200):
            connection.execute("INSERT INTO kept VALUES (%s)", (count,))
        os.kill(killed, signal.SIGKILL)
    stack.comes_to("another Postgres", lambda: stack.is_whole() and stack.pid("postgres") != killed)
    with psycopg.connect(stack.database()) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return count, int(row[0])


def test_a_killed_postgres_keeps_all_it_acknowledged_though_it_is_a_fast_one(stack: Stack) -> None:
    stack.up("postgres")

    acknowledged, kept = acknowledged_then_killed(stack)
    given_from = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])

    assert kept == acknowledged
    # Of those that are given to callers, one could be taken while nobody listens.
    assert stack.services()["postgres"]["ports"]["postgres"] < given_from


def test_a_postgres_that_stands_still_is_replaced_and_what_needs_it_is_left_alone(
    stack: Stack,
) -> None:
    stack.up()
    before = stack.services()

    tree = stand_still(before["postgres"]["pid"])
    stack.comes_to(
        "a whole stack",
        lambda: stack.is_whole() and stack.pid("postgres") != before["postgres"]["pid"],
    )

    after = stack.services()
    assert after["memory"]["pid"] == before["memory"]["pid"]
    assert after["embedding"]["pid"] == before["embedding"]["pid"]
    assert not alive(tree)


def test_services_that_stand_still_are_replaced_also_when_one_that_needs_them_starts(
    stack: Stack,
) -> None:
    stack.up()
    before = {name: row["pid"] for name, row in stack.services().items()}

    stand_still(before["postgres"])
    stand_still(before["embedding"])
    os.kill(before["memory"], signal.SIGKILL)

    stack.comes_to(
        "a whole stack of new processes",
        lambda: (
            stack.is_whole()
            and not {row["pid"] for row in stack.services().values()} & set(before.values())
        ),
    )


def test_a_postgres_that_waits_for_its_callers_to_leave_is_replaced(stack: Stack) -> None:
    stack.up("postgres")
    before = stack.pid("postgres")

    with psycopg.connect(stack.database()):
        os.kill(before, signal.SIGTERM)
        stack.comes_to(
            "another Postgres", lambda: stack.is_whole() and stack.pid("postgres") != before
        )


def test_down_takes_what_a_killed_postgres_left_standing_still(stack: Stack) -> None:
    stack.up("postgres")
    tree = stand_still(stack.pid("postgres"))

    tree[0].kill()
    assert stack.run("down").returncode == 0

    assert not alive(tree)


def test_a_shell_in_the_data_folder_is_nobody_the_runtime_started_and_lives_on(
    stack: Stack,
) -> None:
    stack.up("postgres")
    before = stack.pid("postgres")
    folder = os.readlink(f"/proc/{before}/cwd")
    words = ["sh", "-c", "sleep 300 & wait"]
    # As the folder's owner, as one would to look at its files.
    owner = {} if os.geteuid() else {"user": Path(folder).stat().st_uid}
    with subprocess.Popen(words, cwd=folder, start_new_session=True, **owner) as shell:
        os.kill(before, signal.SIGKILL)
        stack.comes_to(
            "another Postgres", lambda: stack.is_whole() and stack.pid("postgres") != before
        )
        assert stack.run("down").returncode == 0
        left = alive([psutil.Process(shell.pid), *psutil.Process(shell.pid).children()])
        os.killpg(shell.pid, signal.SIGKILL)

    assert len(left) == 2
