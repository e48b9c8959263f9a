"""Real servers for tests: Postgres, databases cloned from a template, services on free ports."""

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import uvicorn

CORTEX = [sys.executable, "-m", "cortex.cli"]


def wait_for(what: str, check: Callable[[], Any], within_s: float = 30) -> Any:
    """What `check` answers once it answers something; fails saying what did not come."""
    deadline = time.monotonic() + within_s
    while not (found := check()):
        assert time.monotonic() < deadline, f"{what} did not come within {within_s} s"
        time.sleep(0.02)
    return found


@contextmanager
def native_stack(folder: Path, *services: str) -> Iterator[dict[str, Any]]:
    """A stack of the named services; the targets document."""
    where = ["--state-dir", str(folder), "--name", "tests"]
    out = folder / "targets.json"
    folder.mkdir(parents=True, exist_ok=True)
    words = ["up", *services, *where, "--free-ports", "--fast", "--wait", "--out", str(out)]
    done = subprocess.run([*CORTEX, *words], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    try:
        yield json.loads(out.read_text())
    finally:
        subprocess.run([*CORTEX, "down", *where, "--volumes"], capture_output=True, check=True)


@contextmanager
def fresh_database(server_url: str, template: str | None = None) -> Iterator[str]:
    """A database of its own, cloned from a template; its address."""
    name = f"t{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        source = f" TEMPLATE {template}" if template else ""
        connection.execute(f"CREATE DATABASE {name}{source}")
        try:
            yield server_url.rpartition("/")[0] + f"/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def serve(app: Any) -> Iterator[str]:
    """An ASGI app on a free port, in a thread of this process; its address."""
    config = uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for("the server's start", lambda: server.started or not thread.is_alive())
        assert server.started, "the server did not start"
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


class ToolFailed(AssertionError):
    """A tool answered an error; its text is the message."""


class Mcp:
    """A plain MCP caller, one HTTP request a call, that knows nothing of any SDK."""

    def __init__(self, base_url: str, token: str | None = None) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.Client(base_url=base_url, timeout=60, headers=headers, trust_env=False)
        self.last: httpx.Response | None = None

    def request(self, method: str, params: dict[str, Any] | None = None) -> httpx.Response:
        """One handshake-era request."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        self.last = self.http.post(
            "/mcp", json=body, headers={"accept": "application/json, text/event-stream"}
        )
        return self.last

    def result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's whole result."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["result"]
        return found

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's structured answer; raises `ToolFailed`."""
        result = self.result(tool, **arguments)
        if result.get("isError"):
            raise ToolFailed(result["content"][0]["text"])
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        found: dict[str, Any] = result["structuredContent"]
        return found

    def close(self) -> None:
        """Close the connections."""
        self.http.close()
