"""Does the load suite tell the truth of a server whose truth is known?

stall    a server stands still for two of twelve seconds: an open run shows what independent callers
         waited, within 15 %
workers  three processes share a plan: what each of them recorded adds up, and the calls came when
         they were planned
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness import kept_rows, mcp
from harness.errors import HarnessError
from harness.measures.latency import Latencies
from harness.measures.schedule import Law, arrivals
from harness.probes.load import locust
from harness.progress import say
from harness.proofs import Asked, revision
from loadtests.plans import Call, Plan

PER_SECOND, SECONDS, STALL_AT_S, STALL_S, SERVICE_S = 100, 12.0, 4.0, 2.0, 0.005
WITHIN = 0.15
LATE_S = 0.7
"""Processes that started one after the other would be seconds apart."""
LAWS: tuple[Law, ...] = ("poisson", "steady")
SHARES = {"p95": 0.95, "p99": 0.99}
STARTED_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Stalled:
    """What an open run measured of the stall, and what is true, in ms by quantile."""

    law: str
    measured_ms: dict[str, float]
    true_ms: dict[str, float]
    sent: int
    answered: int
    dropped: int
    failed: int
    service_p50_ms: float

    @property
    def holds(self) -> bool:
        """Whether every quantile is within the promise, and all was sent and answered."""
        near = all(
            abs(self.measured_ms[name] / true - 1) <= WITHIN for name, true in self.true_ms.items()
        )
        return near and not self.dropped and not self.failed and self.answered == self.sent


@dataclass(frozen=True, slots=True)
class Closed:
    """What a closed run measured of the stall: each caller waits for its answer before it asks."""

    callers: int
    answered: int
    p95_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Shared:
    """What three processes recorded together, against their raw values and the server's own log."""

    sent: int
    answered: int
    samples: int
    equal: bool
    lost: int
    latest_s: float

    @property
    def holds(self) -> bool:
        """Whether nothing got lost between the processes."""
        whole = self.sent == self.answered == self.samples
        return whole and self.equal and not self.lost and self.latest_s < LATE_S


@contextmanager
def stalling(folder: Path) -> Iterator[str]:
    """The server, whose log of arrivals is `port.arrivals` in the folder; its address."""
    port = folder / "port"
    program = Path(__file__).with_name("stalling_server.py")
    words = [sys.executable, str(program), str(port), str(STALL_AT_S), str(STALL_S)]
    server = subprocess.Popen(words)
    try:
        deadline = time.monotonic() + STARTED_WITHIN_S
        while not (port.exists() and port.read_text()):
            if time.monotonic() > deadline:
                raise HarnessError("the stalling server did not start")
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port.read_text()}/mcp"
    finally:
        server.kill()
        server.wait()


def calls(url: str, count: int) -> list[Call]:
    """So many different searches."""
    made = (mcp.request("FindItems", {"queries": [f"q {n}"]}, None) for n in range(count))
    return [Call(url, headers, body.decode(), "memory-search", "mcp") for headers, body in made]


def truth_ms(moments: list[float], share: float) -> float:
    """The quantile, in ms, of what callers at these moments wait, by arithmetic."""
    end = STALL_AT_S + STALL_S
    first = moments[0]  # the server counts from its first request
    waits = sorted(
        SERVICE_S + (end - (at - first) if STALL_AT_S <= at - first < end else 0.0)
        for at in moments
    )
    return 1000 * waits[min(len(waits) - 1, int(share * len(waits)))]


def stalled(folder: Path, law: Law, seed: int) -> Stalled:
    """One open run against the stalling server; `folder` is empty before."""
    moments = list(arrivals(PER_SECOND, SECONDS, seed, law))
    with stalling(folder) as url:
        plan = Plan(
            model="open", calls=calls(url, len(moments)), moments=moments, pool=400, limit_s=60
        )
        recorded = locust.run(plan, "stall", folder / "locust.log")
    response = Latencies(recorded.response)
    return Stalled(
        law=law,
        measured_ms={name: response.quantile(share).value_ms for name, share in SHARES.items()},
        true_ms={name: truth_ms(moments, share) for name, share in SHARES.items()},
        sent=len(moments),
        answered=response.n,
        dropped=recorded.dropped,
        failed=sum(recorded.errors.values()),
        service_p50_ms=Latencies(recorded.service).quantile(0.5).value_ms,
    )


def closed(folder: Path) -> Closed:
    """One closed run against the stalling server; `folder` is empty before."""
    with stalling(folder) as url:
        plan = Plan(
            model="closed",
            calls=calls(url, 1_000),
            users=10,
            think_s=0.095,
            moments=[],
            limit_s=60,
        )
        recorded = locust.run(plan, "stall", folder / "locust.log")
    response = Latencies(recorded.response)
    p95_ms = response.quantile(SHARES["p95"]).value_ms
    return Closed(plan.users, response.n, p95_ms, response.max_ms)


def shared(folder: Path, seed: int) -> Shared:
    """One open run of three processes; `folder` is empty before."""
    moments = list(arrivals(60, 5.0, seed))
    with stalling(folder) as url:
        plan = Plan(
            model="open",
            calls=calls(url, len(moments)),
            moments=moments,
            pool=200,
            processes=3,
            limit_s=60,
        )
        recorded = locust.run(plan, "three workers", folder / "locust.log")
    raw = Latencies()
    for _, _, _, response_s, _ in recorded.samples:
        raw.record(response_s)
    came = sorted(float(line) for line in (folder / "port.arrivals").read_text().splitlines())
    shift = came[0] - moments[0]
    return Shared(
        sent=len(moments),
        answered=recorded.answered,
        samples=len(recorded.samples),
        equal=Latencies(recorded.response).encoded() == raw.encoded(),
        lost=recorded.lost,
        latest_s=max(abs(at - shift - due) for at, due in zip(came, moments, strict=False)),
    )


# The proof.


def prove(asked: Asked) -> bool:
    """Each experiment so often, half as often as is asked for; and `load.md`."""
    of, count = revision(), max(1, asked.count // 2)
    kept = asked.kept / "load.jsonl"
    rows = [row for row in kept_rows.read(kept) if row["revision"] == of]
    if not any(row["part"] == "closed" for row in rows):
        folder = _folder(asked, f"closed-{of}")
        rows.append({"revision": of, "part": "closed", "holds": True, **asdict(closed(folder))})
        kept_rows.keep(kept, rows[-1])
    for name in ("stall", "workers"):
        done = sum(row["part"] == name for row in rows)
        for number in range(done, count):
            folder = _folder(asked, f"{name}-{of}-{number}")
            made = (
                stalled(folder, LAWS[number % len(LAWS)], 100 + number)
                if name == "stall"
                else shared(folder, 200 + number)
            )
            row = {"revision": of, "part": name, "holds": made.holds, **asdict(made)}
            kept_rows.keep(kept, row)
            rows.append(row)
            say(f"  {name} {number + 1}: {'holds' if made.holds else 'does not hold'}")
    (asked.pages / "load.md").write_text(_page(rows, of), encoding="utf-8")
    return len(rows) > 2 * count and all(row["holds"] for row in rows)


def _folder(asked: Asked, name: str) -> Path:
    """A new folder for one experiment."""
    folder = asked.kept / "load" / f"{name}-{time.time_ns()}"
    folder.mkdir(parents=True)
    return folder


def _page(rows: list[dict[str, Any]], of: str) -> str:
    stalls = [row for row in rows if row["part"] == "stall"]
    workers = [row for row in rows if row["part"] == "workers"]
    blind = next(row for row in rows if row["part"] == "closed")
    lines = [
        "# Proof: load",
        "",
        f"Made by `python -m harness.proofs load`, revision `{of}`.",
        "",
        f"## A server that stands still for {STALL_S:g} of {SECONDS:g} s, {PER_SECOND} calls a "
        "second",
        "",
        f"{sum(row['holds'] for row in stalls)} of {len(stalls)} runs within {WITHIN:.0%} of the "
        f"computed truth. A closed run of {blind['callers']} callers shows a p95 of "
        f"{blind['p95_ms']:.0f} ms for the same server ({blind['answered']} calls).",
        "",
        "| arrivals | p95 ms, true | p95 ms, measured | p99 ms, true | p99 ms, measured | calls |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in stalls:
        true, found = row["true_ms"], row["measured_ms"]
        numbers = [f"{one[name]:.0f}" for name in SHARES for one in (true, found)]
        lines.append(f"| {row['law']} | {' | '.join(numbers)} | {row['answered']} |")
    lines += [
        "",
        "## Three processes",
        "",
        f"{sum(row['holds'] for row in workers)} of {len(workers)} runs: the merged histogram is "
        "that of all raw values, every planned call came.",
        "",
        "| planned | answered | raw values | histograms equal | furthest from its moment, s |",
        "|---:|---:|---:|---|---:|",
    ]
    for row in workers:
        equal = "yes" if row["equal"] else "NO"
        lines.append(
            f"| {row['sent']} | {row['answered']} | {row['samples']} | {equal} "
            f"| {row['latest_s']:.2f} |"
        )
    return "\n".join(lines) + "\n"
