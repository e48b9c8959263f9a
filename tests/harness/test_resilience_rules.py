"""What the resilience suite calls lost, what it calls reported, and what it does to connections."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import accumulate
from pathlib import Path

import pytest
from conftest import Harness

from harness import mcp, processes
from harness.probes.resilience import faults, outcomes
from harness.probes.resilience.disks import CannotMount, small_disk
from harness.probes.resilience.ledger import Entry, Form, Ledger, Unsure, deleted
from harness.probes.resilience.load import Call, Caller
from harness.probes.resilience.relay import relaying
from harness.probes.resilience.suffering import Suffered
from harness.report.resilience_view import timeline
from harness.results import Records

OLD = Form("oldword", "A title", "old content", ("t",))
NEW = Form("oldword", "A new title", "new content", ())


def stored(form: Form) -> dict[str, object]:
    gone = "2026-01-01T00:00:00Z" if form.deleted else None
    return {**form.as_new(), "id": "x", "version": 1, "deletedAt": gone}


def test_an_item_may_have_the_form_that_was_acknowledged_and_no_other() -> None:
    entry = Entry("x", [OLD])

    assert entry.wrong(stored(OLD)) == ""
    assert "content is 'new content', not 'old content'" in entry.wrong(stored(NEW))
    assert "deleted is 'True', not 'False'" in entry.wrong(stored(deleted(OLD)))
    assert "body is" in entry.wrong({**stored(OLD), "body": "half"})


def test_after_a_change_without_an_answer_both_forms_are_right_and_a_mixture_is_not() -> None:
    entry = Entry("x", [OLD])

    entry.may_have_changed(NEW)

    assert entry.wrong(stored(OLD)) == entry.wrong(stored(NEW)) == ""
    assert entry.wrong({**stored(OLD), "title": NEW.title})


def test_an_acknowledged_change_leaves_one_form() -> None:
    entry = Entry("x", [OLD])

    entry.changed(NEW)

    assert entry.wrong(stored(OLD))


def test_items_of_a_call_without_an_answer_are_all_there_or_none() -> None:
    forms = (OLD, Form("other", "t", "c", ()))

    assert Unsure(forms, refused=False).wrong(set()) == ""
    assert Unsure(forms, refused=False).wrong({"oldword", "other"}) == ""
    assert Unsure(forms, refused=False).wrong({"other"}) == "1 of 2 items of one call are there"
    assert Unsure(forms, refused=True).wrong({"oldword", "other"}).endswith("refused and is there")


class Server(BaseHTTPRequestHandler):
    """Answers every POST with the body, status and length it was told."""

    status, body = 200, b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.status == 0:
            self.connection.close()
            return
        self.send_response(self.status)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    made = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}/mcp"
    made.shutdown()
    thread.join()
    made.server_close()


def tool_error(text: str) -> bytes:
    result = {"isError": True, "content": [{"type": "text", "text": text}]}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


def answer(**content: object) -> bytes:
    result = {"structuredContent": content, "content": []}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


PLAIN, OPEN = False, True


@pytest.mark.parametrize(
    ("status", "body", "outcome", "is_open"),
    [
        (200, answer(items=[{"id": "a"}]), "acknowledged", PLAIN),
        (200, answer(items=[]), "unreported", OPEN),
        (200, answer(), "unreported", OPEN),
        (200, b"<html>all is well</html>", "unreported", OPEN),
        (200, b"", "unreported", OPEN),
        (200, tool_error("Unavailable: the database did not answer"), "refused", PLAIN),
        (200, tool_error("Uncertain: look whether it is there"), "refused", OPEN),
        (200, tool_error("InternalError: see the log"), "refused", OPEN),
        (503, b"busy", "refused", OPEN),
        (0, b"", "unanswered", OPEN),
    ],
)
def test_what_a_call_came_to_is_told_by_its_answer(
    server: str, status: int, body: bytes, outcome: str, is_open: bool
) -> None:
    Server.status, Server.body = status, body
    ledger, calls = Ledger("p"), list[Call]()

    with mcp.Client(server) as client:
        call = Caller(client, ledger, 1, calls).add(1)

    assert (call.outcome, call.open) == (outcome, is_open)
    assert calls == [call]
    assert len(ledger.entries) == (outcome == "acknowledged")
    assert len(ledger.unsure) == (outcome != "acknowledged")


def test_a_server_that_is_away_leaves_nothing_open() -> None:
    with mcp.Client("http://127.0.0.1:9/mcp") as client:
        call = Caller(client, Ledger("p"), 1, []).add(1)

    assert (call.outcome, call.open) == ("unanswered", False)


def test_a_search_that_does_not_find_an_acknowledged_item_is_not_reported(server: str) -> None:
    Server.status, Server.body = 200, answer(hits=[], degraded=None)
    ledger = Ledger("p")
    ledger.added([OLD], ["x"])

    with mcp.Client(server) as client:
        call = Caller(client, ledger, 1, []).search()

    assert call.outcome == "unreported"
    assert "an acknowledged item is not found" in call.words


def suffered(**keys: object) -> Suffered:
    values: dict[str, object] = {
        "fault": "kill",
        "service": "postgres",
        "about": "",
        "began_s": 1.0,
        "ended_s": 1.0,
        "recovery_s": 2.0,
        "writes": 3,
        "items": 4,
        "outcomes": {"acknowledged": 5},
        "degraded": 0,
        "longest_s": 1.0,
        "lost": (),
        "unreported": (),
        "words": {},
        "seconds": ((3, 0), (0, 2), (2, 0)),
    }
    return Suffered(**{**values, **keys})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "failing"),
    [
        ({"lost": ("x",)}, "lost or wrong: x"),
        ({"unreported": ("x",)}, "not reported: x"),
        ({"strays": ("7: python",)}, "left behind: 7: python"),
        ({"recovery_s": None}, "not whole after 90 s"),
        ({"recovery_s": 30.5}, "whole after 30.5 s"),
        ({"outcomes": {"refused": 9}}, "no call was acknowledged"),
        ({"fault": "fill the disk of", "words": {"a": 1}}, "no refusal names the disk"),
    ],
)
def test_whatever_is_not_as_it_must_be_is_a_failing(keys: dict[str, object], failing: str) -> None:
    assert suffered().failings == []
    assert suffered(**keys).failings == [failing]


def test_the_chart_of_a_fault_has_a_column_a_second_and_stays_inside() -> None:
    one = suffered()
    made = timeline({name: getattr(one, name) for name in Suffered.__slots__})

    for area in (made.answered, made.all):
        steps = re.findall(r"(v-?\d+)?h(\d+)", area)
        heights = list(accumulate(int(up[1:] or 0) if up else 0 for up, _ in steps))
        assert len(steps) == 3
        assert sum(int(width) for _, width in steps) == pytest.approx(made.width - 56, abs=1)
        assert all(made.top - made.bottom <= height <= 0 for height in heights)
    assert made.answered != made.all
    assert made.fault[0] < made.fault[1] < made.whole_x < made.width  # type: ignore[operator]


def test_faults_have_names_of_their_own_and_the_quick_ones_are_among_them() -> None:
    ids = [fault.id for fault in faults.FAULTS]

    assert len(set(ids)) == len(ids) >= 20
    assert [fault.id for fault in faults.chosen("quick")] == [
        name for name in ids if name in faults.QUICK
    ]
    assert len(faults.chosen("quick")) == len(faults.QUICK)


def test_a_fault_that_is_left_out_is_counted_and_a_failure_where_everything_is_required() -> None:
    one = faults.FAULTS[-1]

    for required, outcome in ((False, "skipped"), (True, "error")):
        case = outcomes.left_out(one, "only root may", require_all=required)
        found = Records.of(outcomes.totals([suffered()], [case]))
        assert (case.outcome, case.note) == (outcome, "only root may")
        for name, count in (("failures", required), ("skipped", not required), ("faults", 1)):
            result = found.find(f"resilience.{name}")
            assert result is not None
            assert result.value == count


def test_the_longest_recovery_is_missing_where_a_stack_never_came_back() -> None:
    done = [suffered(), suffered(fault="hang", recovery_s=None)]

    assert Records.of(outcomes.totals(done, [])).find("resilience.recovery") is None


def test_a_relay_cuts_refuses_and_takes_connections_again() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        echo = threading.Thread(target=_echo, args=(listener, 2))
        echo.start()
        with relaying(listener.getsockname()[1]) as relay:
            with closing(socket.create_connection(("127.0.0.1", relay.port), 10)) as one:
                one.sendall(b"hello")
                assert one.recv(5) == b"hello"
                relay.refuse()
                relay.cut()
                with pytest.raises(ConnectionResetError):
                    one.recv(1)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", relay.port), 10)
            relay.accept()
            with closing(socket.create_connection(("127.0.0.1", relay.port), 10)) as two:
                two.sendall(b"again")
                assert two.recv(5) == b"again"
        echo.join(10)


def _echo(listener: socket.socket, times: int) -> None:
    for _ in range(times):
        connection, _ = listener.accept()
        with closing(connection):
            try:
                while data := connection.recv(100):
                    connection.sendall(data)
            except OSError:
                continue


def test_a_small_disk_is_filled_to_the_last_byte_and_freed() -> None:
    try:
        with small_disk() as disk:
            disk.fill()
            with pytest.raises(OSError, match="No space left"):
                (disk.path / "more").write_bytes(bytes(10_000))
            disk.free()
            (disk.path / "more").write_bytes(bytes(10_000))
            path = disk.path
    except CannotMount as err:
        pytest.skip(str(err))

    assert not path.exists()


def test_a_process_of_a_stack_is_known_by_its_mark_or_its_folder(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "input()"]
    marked = subprocess.Popen(
        words, stdin=subprocess.PIPE, env={**os.environ, "HARNESS_STACK_NAME": str(tmp_path.name)}
    )
    inside = subprocess.Popen(words, stdin=subprocess.PIPE, cwd=tmp_path)
    other = subprocess.Popen(words, stdin=subprocess.PIPE)

    found = processes.bearing(f"HARNESS_STACK_NAME={tmp_path.name}", tmp_path)

    for one in (marked, inside, other):
        one.communicate(b"\n")
    assert {marked.pid, inside.pid} <= found.keys()
    assert other.pid not in found


def test_faults_are_refused_on_a_stack_that_the_run_did_not_start(
    harness: Harness, tmp_path: Path
) -> None:
    described = {
        "schema": "cortex.targets/1",
        "stack": {"name": "theirs", "runtime": "native", "profile": "memory"},
        "services": {
            "memory": {"url": "http://127.0.0.1:9", "mcp_url": "http://127.0.0.1:9/mcp"},
            "embedding": {"url": "http://127.0.0.1:9"},
        },
    }
    file = tmp_path / "targets.json"
    file.write_text(json.dumps(described))

    ended = harness("resilience", *harness.options, "--stack", str(file), "--allow-writes")

    assert ended.code == 2, ended.output
    assert "kills and stops services; that is refused on the stack" in ended.verdict
    assert not ended.runs.exists()
