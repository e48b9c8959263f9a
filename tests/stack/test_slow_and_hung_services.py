"""A slow service is not a hung one; what it served before it fell counts."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from cortex.runtime.layout import ProcessState, StackLayout, StackState
from cortex.runtime.plan import Plan
from cortex.runtime.programs import program
from cortex.runtime.programs.program import Health
from cortex.runtime.services import SERVICES
from cortex.runtime.supervisor import Supervisor

EMBEDDING = next(service for service in SERVICES if service.name == "embedding")


@contextmanager
def answering_after(seconds: float) -> Iterator[int]:
    """The port of a server that takes so long for each answer."""
    over = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            over.wait(seconds)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def asked(folder: Path, port: int) -> Health:
    ports = {"embedding": port}
    plan = Plan(layout=StackLayout(folder, "t"), ports=ports, secrets={}, fast=True)
    with httpx.Client(timeout=2.0, trust_env=False) as client:
        return EMBEDDING.program.ask(plan, client)


def test_an_embedding_service_slower_than_the_first_look_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "PATIENCE_S", (0.2, 20.0, 0.2))
    with answering_after(0.6) as port:
        assert asked(tmp_path, port) == Health(None, lives=True)


def test_one_that_answers_none_of_the_looks_hangs_and_one_that_is_gone_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "PATIENCE_S", (0.1, 0.3, 0.1))
    with answering_after(60) as port:
        assert asked(tmp_path, port) == Health(None, lives=False, hangs=True)

    assert asked(tmp_path, port) == Health(None, lives=False)


def test_a_hung_service_that_served_for_an_hour_begins_its_count_of_restarts_anew(
    tmp_path: Path,
) -> None:
    state = ProcessState(ports={"embedding": 1}, state="ready", restarts=5)
    stack = StackState(
        stack_id="s",
        name="t",
        runtime="native",
        profile="memory",
        started_at="",
        fast=True,
        supervisor=ProcessState(),
        services={"embedding": state},
    )
    supervisor = Supervisor(StackLayout(tmp_path, "t"), stack)
    one = supervisor._running["embedding"]
    one.ever_ready, one.ready_at = True, time.monotonic() - 3600

    supervisor._judge(one, Health(None, lives=False, hangs=True), time.monotonic())

    assert (state.state, state.restarts) == ("restarting", 1)
    one.ready_at = None  # it fell again before it was ready
    supervisor._fell(one, "again")
    assert state.restarts == 2
