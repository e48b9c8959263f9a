"""`python -m harness.probes.embedding_cost`: measure, print a table, write JSON, judge."""

import argparse
import asyncio
import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from harness.environment import ROOT, revision
from harness.errors import HarnessError
from harness.probes.embedding_cost.bare import BareSession
from harness.probes.embedding_cost.measuring import CLIENTS, Check, Measurement
from harness.probes.embedding_cost.service import started

_SINGLES = ((16, 60), (64, 30), (256, 12))
_BATCHES = ((64, 8), (128, 5))


async def measure(model: str, graph: Path | None, folder: Path, rounds: int) -> list[Check]:
    """Every check, from one service and one bare session."""
    with started(model, permits=CLIENTS, log=folder / "service.log") as service:
        measurement = Measurement(service, BareSession(graph or service.graph, threads=1))
        checks: list[Check] = []
        for tokens, turns in _SINGLES:
            checks += await measurement.singles(tokens, turns)
        for tokens, turns in _BATCHES:
            checks.append(await measurement.batch(tokens, turns))
        mixed, cpu_s, per_second = await measurement.mixed(rounds)
        checks += mixed
        checks += await measurement.overload(cpu_s, per_second, seconds=8.0 * rounds)
        peak = service.resident_mb()
        checks.append(Check(name="resident memory, peak", value=peak, limit=350, unit="MB"))
        return checks


def main() -> int:
    """Measure as the command line says; 0 when every limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="bundled", help="the service's model setting")
    parser.add_argument("--graph", type=Path, help="model file; the one the service says, if unset")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "embedding-cost")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of the mixed load")
    asked = parser.parse_args()
    try:
        checks = asyncio.run(measure(asked.model, asked.graph, asked.out, asked.rounds))
    except HarnessError as err:
        print(err, file=sys.stderr)
        return err.exit_code
    width = max(len(check.name) for check in checks)
    for check in checks:
        verdict = "ok  " if check.passed else "FAIL"
        sign = ">=" if check.at_least else "<="
        figure = f"{check.value:8.3f} {sign} {check.limit:7.3f} {check.unit}"
        print(f"{verdict} {check.name:{width}} {figure:28} {check.note}")
    record = {
        "model": asked.model,
        "revision": asdict(revision()),
        "machine": platform.processor() or platform.machine(),
        "checks": [{**asdict(check), "passed": check.passed} for check in checks],
    }
    (asked.out / "embedding-cost.json").write_text(json.dumps(record, indent=2) + "\n")
    return 0 if all(check.passed for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
