"""A native stack in bad surroundings: killed half-way, full disks, odd environments, odd files."""

import json
import os
import resource
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
EVERY_PRINTABLE = "".join(map(chr, range(32, 127)))


class Stack:
    """A stack in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "t"
        self.where = ["--state-dir", str(folder), "--name", "t"]

    def run(self, *words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        command = [*CORTEX, *words, *self.where]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)

    def up(self, *words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        return self.run("up", *words, "--free-ports", "--fast", **more)

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home / "state.json").read_text())
        return found

    def comes_to(self, what: str, check: Callable[[], Any], within_s: float = 60) -> Any:
        deadline = time.monotonic() + within_s
        while not (found := check()):
            assert time.monotonic() < deadline, f"{what} did not come within {within_s} s"
            time.sleep(0.05)
        return found


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    made = Stack(tmp_path / "state")
    yield made
    for file, sign in (
        (made.home / "state.json", b"supervisor"),
        (made.home / ".env", b"POSTGRES"),
    ):
        if file.exists() and sign not in file.read_bytes():
            file.unlink()  # one that a test broke
    made.run("down", "--volumes")


def test_an_up_that_gives_up_leaves_a_stack_alone_that_it_did_not_start(stack: Stack) -> None:
    assert stack.up("postgres").returncode == 0

    hasty = stack.up("postgres", "--wait", "--wait-timeout", "0")
    patient = stack.up("postgres", "--wait")

    assert hasty.returncode == 1
    assert "not ready within 0 s: postgres" in hasty.stderr
    assert "was stopped" not in hasty.stderr
    assert patient.returncode == 0, patient.stderr


def test_an_up_that_asks_for_more_than_runs_says_so(stack: Stack) -> None:
    assert stack.up("postgres", "--wait").returncode == 0

    more = stack.up("memory", "--wait")

    assert more.returncode == 1
    assert "runs without embedding, memory" in more.stderr
    assert stack.run("status").returncode == 0


def test_a_private_mask_folder_and_foreign_database_settings_do_no_harm(
    stack: Stack, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    odd = {"TMPDIR": str(private), "PGSSLMODE": "require", "PGOPTIONS": "-c no.such=1"}
    odd |= {"PGHOST": "nowhere.invalid", "PGSERVICE": "none", "PGPASSWORD": "other"}

    done = stack.up("postgres", "--wait", env=os.environ | odd, umask=0o077)

    assert done.returncode == 0, done.stderr


def test_passwords_of_every_printable_character_work(stack: Stack, tmp_path: Path) -> None:
    stack.home.mkdir(parents=True)
    given = f"# ours\nCORTEX_POSTGRES_PASSWORD={EVERY_PRINTABLE}\n"
    (stack.home / ".env").write_text(given)
    targets = tmp_path / "targets.json"

    done = stack.up("--wait", "--out", str(targets))

    assert done.returncode == 0, done.stderr
    with psycopg.connect(json.loads(targets.read_text())["services"]["postgres"]["url"]) as one:
        assert one.info.password == EVERY_PRINTABLE
    assert (stack.home / ".env").read_text().startswith(given)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"s3cret-without-a-name", "has no '='"),
        (b"CORTEX_POSTGRES_PASSWORD=", "is empty"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_broken_file_of_secrets_is_named_and_not_quoted(
    stack: Stack, content: bytes, said: str
) -> None:
    stack.home.mkdir(parents=True)
    (stack.home / ".env").write_bytes(content)

    done = stack.up("postgres", "--wait")

    assert done.returncode == 2
    assert said in done.stderr
    assert str(stack.home / ".env") in done.stderr
    assert "s3cret" not in done.stderr
    assert "Traceback" not in done.stderr


ODD_STATE = {
    "stack_id": "x",
    "name": "t",
    "runtime": "native",
    "profile": "memory",
    "started_at": "x",
    "fast": True,
    "supervisor": {"pid": "1"},
    "services": [],
}


@pytest.mark.parametrize("content", ["{", "[]", "null", json.dumps(ODD_STATE)])
@pytest.mark.parametrize("command", ["up", "status", "down"])
def test_a_broken_state_file_is_named(stack: Stack, content: str, command: str) -> None:
    stack.home.mkdir(parents=True)
    (stack.home / "state.json").write_text(content)

    done = stack.run(command)

    assert done.returncode == 2
    assert f"{stack.home / 'state.json'} is not a state file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_stack_killed_while_its_database_is_laid_down_comes_up_the_next_time(
    stack: Stack,
) -> None:
    assert stack.up("postgres").returncode == 0
    stack.comes_to("initdb", lambda: list(stack.home.rglob("PG_VERSION")) or _shared(stack))
    os.kill(stack.state()["supervisor"]["pid"], signal.SIGKILL)

    done = stack.up("postgres", "--wait")

    assert done.returncode == 0, done.stderr


def _shared(stack: Stack) -> list[Path]:
    """Where the data of a root's stack lies, if the folder of the test is out of others' reach."""
    return list(Path("/var/lib/cortex").glob("t-*/.postgres-*/PG_VERSION"))


def test_a_disk_that_is_full_for_a_while_does_not_end_the_stack(stack: Stack) -> None:
    assert stack.up("embedding", "--wait").returncode == 0
    state = stack.state()
    supervisor, service = state["supervisor"]["pid"], state["services"]["embedding"]["pid"]
    unlimited = resource.prlimit(supervisor, resource.RLIMIT_FSIZE)

    resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (0, unlimited[1]))  # no byte is written
    os.kill(service, signal.SIGKILL)
    stack.comes_to(
        "another process",
        lambda: {one.pid for one in psutil.Process(supervisor).children()} - {service},
    )
    resource.prlimit(supervisor, resource.RLIMIT_FSIZE, unlimited)

    os.kill(stack.state()["supervisor"]["pid"], 0)
    stack.comes_to(
        "another start",
        lambda: (
            stack.state()["services"]["embedding"]["pid"] not in (0, service)
            and stack.run("status").returncode == 0
        ),
    )


def test_a_folder_that_cannot_be_written_is_named() -> None:
    done = Stack(Path("/proc/cortex-state")).up("postgres")

    assert done.returncode == 1
    assert "/proc/cortex-state" in done.stderr
    assert "Traceback" not in done.stderr
