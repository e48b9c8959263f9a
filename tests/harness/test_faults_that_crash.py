"""Nothing that dies does so in silence: a fault, a thread of the load, half a line of a file."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from servers import wait_for

from harness import kept_rows
from harness.errors import HarnessError
from harness.probes import resources
from harness.probes.resilience import outcomes, proof
from harness.probes.resilience.faults import FAULTS
from harness.probes.resilience.ledger import Ledger
from harness.probes.resilience.load import Load
from harness.probes.resilience.repeated import Repeated, left, repeated
from harness.probes.resilience.sequence import inflicted
from harness.probes.resilience.stacks import Maker
from harness.probes.resilience.suffering import Crashed, Suffered
from harness.results import Records

KILL = next(fault for fault in FAULTS if fault.id == "kill memory")
SUFFERED = Suffered(
    fault="kill",
    service="memory",
    about="",
    began_s=1.0,
    ended_s=1.0,
    recovery_s=2.0,
    writes=3,
    items=4,
    outcomes={"acknowledged": 5},
    degraded=0,
    longest_s=1.0,
    lost=(),
    unreported=(),
    words={},
)


def test_a_fault_whose_stack_fails_is_an_error_and_the_next_one_is_tried(tmp_path: Path) -> None:
    maker = Maker(runtime="native", cortex=("false",), logs=tmp_path)
    some = [fault for fault in FAULTS if fault.where == "stack"][:2]

    found = list(inflicted(maker, some, 1))

    assert [one.fault for one in found if isinstance(one, Crashed)] == some
    cases = [outcomes.crashed(one) for one in found if isinstance(one, Crashed)]
    assert {case.outcome for case in cases} == {"error"}
    totals = Records.of(outcomes.totals([SUFFERED], cases))
    failures = totals.find("resilience.failures")
    assert failures is not None
    assert failures.value == 2
    assert totals.find("resilience.recovery") is None


def test_a_torn_last_row_is_dropped_and_the_next_one_stands_in_its_place(tmp_path: Path) -> None:
    kept = tmp_path / "rows.jsonl"
    kept_rows.keep(kept, {"a": 1})
    with kept.open("a") as file:
        file.write('{"a": 2, "b')

    assert kept_rows.read(kept) == [{"a": 1}]
    kept_rows.keep(kept, {"a": 3})
    assert kept_rows.read(kept) == [{"a": 1}, {"a": 3}]


def test_only_outcomes_of_this_revision_are_gone_on_with(tmp_path: Path) -> None:
    kept = tmp_path / "rows.jsonl"
    for revision in ("old", "new"):
        kept_rows.keep(kept, {"id": "kill memory", "revision": revision, **asdict(SUFFERED)})

    made = repeated(1, ["kill memory"], kept, 1, "new")

    assert len(made.done) == 1
    assert made.holds
    assert "Revision `new`: 1 of 1 faults" in proof.page(made)
    assert [json.loads(line)["revision"] for line in kept.read_text().splitlines()] == [
        "old",
        "new",
    ]


def test_what_was_done_is_taken_from_what_is_wanted_by_its_id() -> None:
    one, two, three = FAULTS[:3]

    assert left([one, two, three, one], [three.id, one.id]) == [two, one]
    assert left([one, two], [three.id]) == [one, two]


def test_fewer_faults_than_asked_do_not_hold_unless_they_are_many_and_the_page_says_so() -> None:
    why = "fill the disk of postgres: left out: only root may"

    assert not Repeated("r", 2, [SUFFERED], [why]).holds
    assert Repeated("r", 36, [SUFFERED] * 30, [why]).holds
    assert not Repeated("r", 36, [SUFFERED] * 30, [why], crashed=1).holds
    page = proof.page(Repeated("r", 36, [SUFFERED] * 30, [why]))
    assert "30 of 36 faults" in page
    assert "--faults 36 " in page
    assert f"- not inflicted: {why}" in page


class Numbers(BaseHTTPRequestHandler):
    """Answers one item that is none, whatever is asked."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        result = {"content": [], "structuredContent": {"items": [1]}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_thread_of_the_load_that_died_is_told_at_its_end() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Numbers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    load = Load(url, None, Ledger("p"), seed=1, writers=1, searchers=0)

    with pytest.raises(HarnessError, match="a caller of the load died"):
        with load.running():
            wait_for("the end of the thread", lambda: load._died)
    server.shutdown()
    server.server_close()


def test_a_call_that_has_not_ended_is_known_by_when_it_began() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    load = Load(url, None, Ledger("p"), seed=1, writers=1, searchers=0)

    with load.running():
        wait_for("a call", lambda: load.has_open(0.0, float("inf")))
        assert not load.has_open(0.0, 1.0)
        connection, _ = listener.accept()
        connection.close()
        listener.close()

    assert not load.has_open(0.0, float("inf"))


class Once(list[int]):
    """Processes that can be looked at once."""

    def __iter__(self) -> Iterator[int]:
        with suppress(IndexError):
            self.pop()
            return iter(())
        raise RuntimeError("looked at twice")


def test_a_sampling_that_died_is_told_at_its_end() -> None:
    with pytest.raises(HarnessError, match="looked at twice"):
        with resources.sampling({"memory": Once([1])}, every_s=0.05):
            wait_for("the end of the thread", _no_sampler)


def _no_sampler() -> bool:
    return all(one.name != "resources" for one in threading.enumerate())
