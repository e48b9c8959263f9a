"""A native stack, brought up and down as its operator does it."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

CORTEX = [sys.executable, "-m", "cortex.cli"]


def cortex(*words: str, timeout: float = 120) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*CORTEX, *words], capture_output=True, text=True, timeout=timeout)


class Stack:
    """A stack in a temporary folder."""

    def __init__(self, folder: Path, name: str = "t") -> None:
        self.folder, self.name = folder, name
        self.where = ("--state-dir", str(folder), "--name", name)

    def up(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return cortex("up", *words, *self.where, "--free-ports", "--fast", "--wait")

    def down(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return cortex("down", *self.where, *words)

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / self.name / "state.json").read_text())
        return found

    def pids(self) -> list[int]:
        state = self.state()
        return [state["supervisor"]["pid"], *(s["pid"] for s in state["services"].values())]


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    made = Stack(tmp_path)
    yield made
    made.down("--volumes")


def gone(pids: list[int], within_s: float = 20) -> bool:
    deadline = time.monotonic() + within_s
    while any(psutil.pid_exists(p) and psutil.Process(p).status() != "zombie" for p in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_postgres_comes_up_with_its_extensions_and_a_password(stack: Stack, tmp_path: Path) -> None:
    targets = tmp_path / "targets.json"

    done = stack.up("postgres", "--out", str(targets))

    assert done.returncode == 0, done.stderr
    url = json.loads(targets.read_text())["services"]["postgres"]["url"]
    with psycopg.connect(url) as connection:
        version = connection.execute("SELECT extversion FROM pg_extension WHERE extname='vector'")
        found = version.fetchone()
        encoding = connection.execute(
            "SELECT datlocprovider, datlocale, pg_encoding_to_char(encoding) "
            "FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    assert found is not None
    assert tuple(int(part) for part in found[0].split(".")) >= (0, 8, 4)
    assert encoding == ("b", "C.UTF-8", "UTF8")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(url.replace("cortex:", "cortex:wrong"))


def test_secrets_are_in_private_files_and_not_on_stdout(stack: Stack, tmp_path: Path) -> None:
    targets = tmp_path / "targets.json"

    done = stack.up("postgres", "--json", "--out", str(targets))

    secret = (stack.folder / "t" / ".env").read_text().splitlines()[0].partition("=")[2]
    assert len(secret) == 32
    assert secret not in done.stdout + done.stderr
    for path in (targets, stack.folder / "t" / ".env", stack.folder / "t" / "state.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(done.stdout)["services"][0]["state"] == "ready"


def test_down_leaves_no_process_and_no_port(stack: Stack) -> None:
    stack.up("postgres")
    pids, port = stack.pids(), stack.state()["services"]["postgres"]["ports"]["postgres"]

    assert stack.down().returncode == 0

    assert gone(pids)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_data_and_secrets_survive_down_and_up(stack: Stack, tmp_path: Path) -> None:
    targets = tmp_path / "targets.json"
    stack.up("postgres", "--out", str(targets))
    with psycopg.connect(json.loads(targets.read_text())["services"]["postgres"]["url"]) as c:
        c.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    stack.down()

    stack.up("postgres", "--out", str(targets))

    with psycopg.connect(json.loads(targets.read_text())["services"]["postgres"]["url"]) as c:
        assert c.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_second_up_finds_the_stack_running(stack: Stack) -> None:
    stack.up("postgres")
    pids = stack.pids()

    again = stack.up("postgres")

    assert again.returncode == 0
    assert stack.pids() == pids


def test_down_finds_everything_after_the_supervisor_was_killed(stack: Stack) -> None:
    stack.up("postgres")
    pids = stack.pids()
    os.kill(pids[0], signal.SIGKILL)

    assert stack.down().returncode == 0

    assert gone(pids)


def test_up_after_a_killed_supervisor_starts_anew(stack: Stack) -> None:
    stack.up("postgres")
    before = stack.pids()
    os.kill(before[0], signal.SIGKILL)

    again = stack.up("postgres")

    assert again.returncode == 0, again.stderr
    assert gone(before)
    assert set(stack.pids()).isdisjoint(before)


def test_a_killed_service_is_started_again(stack: Stack) -> None:
    stack.up("postgres")
    before = stack.state()["services"]["postgres"]["pid"]
    os.kill(before, signal.SIGKILL)

    deadline = time.monotonic() + 30
    while True:
        now = stack.state()["services"]["postgres"]
        if now["pid"] != before and now["state"] == "ready":
            break
        assert time.monotonic() < deadline, f"not back within 30 s: {now}"
        time.sleep(0.1)


def test_ctrl_c_while_waiting_stops_what_was_started(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    words = ["up", *stack.where, "--free-ports", "--fast", "--wait"]
    process = subprocess.Popen(
        [*CORTEX, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Started from a shell's background job, we ignore SIGINT, and our children would too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "t" / "state.json").exists() or not stack.pids()[1]:
        assert time.monotonic() < deadline, "no process was started within 60 s"
        time.sleep(0.02)
    pids = [pid for pid in stack.pids() if pid]

    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 130
    assert gone(pids)
    stack.down("--volumes")


def test_a_busy_port_names_its_holder_and_harms_nobody(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        offset = holder.getsockname()[1] - 5432

        done = cortex(
            "up", "postgres", "--state-dir", str(tmp_path), "--port-offset", str(offset), "--wait"
        )

    assert done.returncode == 1
    assert f"(process {os.getpid()})" in done.stderr
    assert "--port-offset" in done.stderr


def test_two_stacks_run_side_by_side_by_name(tmp_path: Path) -> None:
    one, two = Stack(tmp_path, "one"), Stack(tmp_path, "two")
    try:
        assert one.up("postgres").returncode == 0
        assert two.up("postgres").returncode == 0
        one.down()

        assert cortex("status", *two.where).returncode == 0
        assert cortex("status", *one.where).returncode == 1
    finally:
        one.down("--volumes")
        two.down("--volumes")


def test_a_changed_password_on_old_data_is_said(stack: Stack) -> None:
    stack.up("postgres")
    stack.down()
    (stack.folder / "t" / ".env").write_text(
        "CORTEX_POSTGRES_PASSWORD=a\nCORTEX_POSTGRES_SUPERUSER_PASSWORD=b\n"
    )

    done = stack.up("postgres")

    assert done.returncode == 1
    assert "is not the one this data was made with" in done.stderr


def test_a_service_that_fails_shows_its_last_lines_and_the_stack_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORTEX_EMBEDDING_DIMENSION", "7")
    stack = Stack(tmp_path)

    done = stack.up("embedding")

    assert done.returncode == 1
    assert "embedding did not start" in done.stderr
    assert "last lines of" in done.stderr
    assert not (tmp_path / "t" / "state.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up", "postgress"), "no service postgress; there are embedding, memory, neo4j, postgres"),
        (("up", "--name", "a/b"), "--name is 'a/b'"),
        (("up", "--profile", "huge"), "huge"),
        (("logs", "nothing"), "no logs of nothing"),
    ],
)
def test_a_wrong_word_is_explained(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = cortex(*words, "--state-dir", str(tmp_path))

    assert done.returncode in (1, 2)
    assert said in done.stderr


def test_an_ordinary_user_brings_postgres_up_as_itself(tmp_path: Path) -> None:
    folder = Path("/var/tmp") / f"cortex-user-{os.getpid()}"
    folder.mkdir(mode=0o755)
    somebody = 65534 if os.geteuid() == 0 else os.geteuid()
    os.chown(folder, somebody, -1)
    stack = Stack(folder)
    python, as_nobody = python_for_nobody()
    command = [python, "-m", "cortex.cli"]
    words = [*command, "up", "postgres", *stack.where, "--free-ports", "--fast", "--wait"]
    try:
        done = subprocess.run(words, **as_nobody, capture_output=True, text=True, timeout=60)

        assert done.returncode == 0, done.stderr
        owner = psutil.Process(stack.state()["services"]["postgres"]["pid"]).uids().real
        assert owner == somebody
    finally:
        subprocess.run([*command, "down", *stack.where, "--volumes"], **as_nobody, check=False)
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def python_for_nobody() -> tuple[str, dict[str, Any]]:
    """An interpreter that an ordinary user can run, with our packages in its path."""
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([packages, str(root / "stack"), str(root)])
    as_nobody: dict[str, Any] = {}
    if os.geteuid() == 0:
        as_nobody |= {"user": 65534, "group": 65534, "extra_groups": []}
    as_nobody["env"] = {"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    as_nobody["cwd"] = "/"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        try:
            if subprocess.run([python, "-c", "import cortex"], **as_nobody).returncode == 0:
                return python, as_nobody
        except (PermissionError, FileNotFoundError):
            continue
    pytest.skip("this machine's Python lies where no other user can run it")


def test_the_model_that_was_picked_is_said_and_another_can_be_named(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORTEX_EMBEDDING_MODEL", "/nowhere/at/all")

    named = stack.up("embedding")

    assert named.returncode == 1
    assert "/nowhere/at/all" in named.stderr
    monkeypatch.delenv("CORTEX_EMBEDDING_MODEL")
    picked = stack.up("embedding")
    assert picked.returncode == 0, picked.stderr
    assert "CORTEX_EMBEDDING_MODEL is not set; picked 'bundled'" in picked.stderr
