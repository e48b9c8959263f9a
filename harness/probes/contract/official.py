"""The official MCP conformance suite, pinned, run on the Node of a Python package.

Only scenarios any server can be held to. `tools-call-simple-text` and `tools-call-error` pass on
any server, so they prove nothing; `server-sse-multiple-streams` needs sessions. None is run.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx

from harness import node_packages, processes
from harness.node_packages import CACHE, NotInstalled
from harness.probes.contract.cases import HANDSHAKE, Chapter
from harness.probes.contract.scene import At, CannotRun
from harness.probes.contract.speaking import Broken

CHAPTER = Chapter("memory", eras=(HANDSHAKE,))
PINNED = Path(__file__).parent / "conformance"
ENDED_WITHIN_S = 30.0
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
NEEDS_LOOPBACK = "dns-rebinding-protection"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scenario's checks came to; `told` is what the suite printed."""

    passed: int
    failed: tuple[str, ...]
    told: str


def installed(cache: Path, logs: Path) -> Path:
    """The folder the suite is installed in; raises `CannotRun` where it is not to be had."""
    try:
        return node_packages.installed(PINNED, "conformance", cache, logs)
    except NotInstalled as err:
        raise CannotRun(str(err)) from err


def run(url: str, scenario: str, logs: Path, cache: Path = CACHE) -> Outcome:
    """Run one scenario against a server; raises `CannotRun` where the suite is not to be had."""
    suite = installed(cache, logs)
    program = suite / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    log = logs / f"conformance-{scenario}.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="conformance-") as results:
        words = ["server", "--url", url, "--scenario", scenario, "-o", results]
        with processes.running(
            [str(node_packages.node()), str(program), *words], None, log
        ) as child:
            try:
                code = child.wait(ENDED_WITHIN_S)
            except subprocess.TimeoutExpired as err:
                raise Broken(f"{scenario} to end", f"no end in {ENDED_WITHIN_S:.0f} s") from err
        checks = [
            check
            for path in Path(results).glob("*/checks.json")
            for check in json.loads(path.read_text(encoding="utf-8"))
        ]
    return _outcome(code, checks, log.read_text(encoding="utf-8", errors="replace"))


def _outcome(code: int, checks: Sequence[dict[str, str]], told: str) -> Outcome:
    """The checks by status; an exit code other than 0 is a failure whatever they say."""
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    failed = [
        f"{check.get('id')}: {check.get('errorMessage') or check.get('description')}"
        for check in checks
        if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")
    ]
    if code != 0 and not failed:
        failed = [f"exit code {code}"]
    return Outcome(passed, tuple(failed), told)


def judge(scenario: str, outcome: Outcome) -> None:
    """Hold a scenario to have passed by at least one check and failed by none."""
    if outcome.failed or not outcome.passed:
        actual = "; ".join(outcome.failed) or "no check passed"
        raise Broken("every check to pass, and at least one", actual, scenario)


@cache
def _outcomes(url: str, logs: Path) -> dict[str, Outcome | Exception]:
    """All scenarios of one server, two at a time: most of each is Node's own start."""

    def one(scenario: str) -> Outcome | Exception:
        try:
            return run(url, scenario, logs)
        except (Broken, CannotRun, OSError, ValueError) as err:
            return err

    # The first one installs the suite; where that cannot be, the others need not try.
    first = one(SCENARIOS[0])
    if isinstance(first, CannotRun):
        return dict.fromkeys(SCENARIOS, first)
    with ThreadPoolExecutor(2) as threads:
        rest = list(threads.map(one, SCENARIOS[1:]))
    return dict(zip(SCENARIOS, [first, *rest], strict=True))


def _scenario(scenario: str) -> None:
    def check(at: At) -> None:
        if at.scene.targets.services.memory.token:
            raise CannotRun("the conformance suite sends no token, and this server asks for one")
        url = at.memory.url
        if scenario == NEEDS_LOOPBACK and httpx.URL(url).host not in LOOPBACK:
            raise CannotRun(f"{scenario} is for servers on a loopback address, not {url}")
        outcome = _outcomes(url, at.scene.logs)[scenario]
        if isinstance(outcome, Exception):
            raise outcome
        judge(scenario, outcome)

    CHAPTER.add(f"the official conformance scenario {scenario} passes", check)


for _name in SCENARIOS:
    _scenario(_name)
