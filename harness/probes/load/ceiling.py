"""How many calls a second the load client can make by itself, on this machine and at this moment.

Beyond a quarter of it a client's own queue is part of what it measures (measured: FastHttpUser at
its ceiling shows 15 ms where the server takes 2), so that a profile which asks for more is invalid.
"""

import sys
import tempfile
from pathlib import Path

from harness import mcp, processes, progress
from harness.environment import ROOT
from harness.errors import HarnessError
from harness.probes.load import locust
from loadtests.plans import Call, Plan

CALLERS = 16
CALLS = 2_000
STARTED_WITHIN_S = 20.0
ENDED_WITHIN_S = 120.0


class Ceilings:
    """Ceilings by number of client processes; each is measured once a run."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._found: dict[int, float] = {}

    def of(self, processes_: int) -> float:
        """Calls a second so many processes can make together."""
        if processes_ not in self._found:
            self._found[processes_] = _measured(processes_, self._logs)
            progress.say(
                f"  the client by itself makes {self._found[processes_]:.0f} calls a second"
                + (f" with {processes_} processes" if processes_ > 1 else "")
            )
        return self._found[processes_]


def _measured(processes_: int, logs: Path) -> float:
    with tempfile.TemporaryDirectory(prefix="cortex-ceiling-") as scratch:
        port_file = Path(scratch) / "port"
        command = [sys.executable, str(ROOT / "loadtests" / "quick_server.py"), str(port_file)]
        log = logs / "quick-server.log"
        with processes.running(command, None, log) as server:
            if not processes.until(port_file.exists, server, STARTED_WITHIN_S):
                raise HarnessError(f"the client's own server did not start{processes.tail(log)}")
            headers, body = mcp.request("FindItems", {"queries": ["anything"]}, None)
            url = f"http://127.0.0.1:{port_file.read_text()}/mcp"
            call = Call(url, headers, body.decode(), "nothing", "mcp")
            callers = max(CALLERS, processes_)
            plan = Plan(
                model="closed",
                calls=[call] * (CALLS * processes_),
                users=callers,
                warm_up=CALLS * processes_ // 10,
                moments=[],
                processes=processes_,
                limit_s=ENDED_WITHIN_S,
            )
            found = locust.run(plan, "ceiling of the client", logs / "locust-ceiling.log")
    return found.answered / found.elapsed_s if found.elapsed_s else 0.0
