"""What was suffered, as records of a run and as a file beside them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from harness.probes.resilience.faults import Fault
from harness.probes.resilience.suffering import WHOLE_WITHIN_S, Crashed, Suffered
from harness.results import Case, Record, Result
from harness.runs import RunFolder

FILE = "resilience/faults.json"
SHOWN_CHARS = 1500
COUNTED = {
    "writes": "writes",
    "lost-writes": "writes",
    "unreported": "calls",
    "strays": "processes",
}


def write(folder: RunFolder, done: Sequence[Suffered]) -> None:
    """Keep every outcome so far."""
    folder.write(FILE, json.dumps([asdict(one) for one in done], indent=1) + "\n")


def line(one: Suffered) -> str:
    """One outcome in a line."""
    whole = "never whole" if one.recovery_s is None else f"whole after {one.recovery_s:.1f} s"
    counts = ", ".join(f"{count} {name}" for name, count in sorted(one.outcomes.items()))
    return f"{one.id}: {whole}; {counts}; {len(one.lost)} lost of {one.items} items"


def records(one: Suffered) -> Iterator[Record]:
    """A fault's figures, and its case."""
    for name, count in _counts([one]).items():
        yield _result(name, count, COUNTED[name], one)
    if one.recovery_s is not None:
        yield _result("recovery", one.recovery_s, "s", one)
    failings = one.failings
    yield Case(
        suite="resilience",
        name=one.id,
        outcome="failed" if failings else "passed",
        expected="" if not failings else _EXPECTED,
        actual="; ".join(failings)[:SHOWN_CHARS],
        note=failings[0][:SHOWN_CHARS] if failings else "",
        service=one.service,
        took_s=round(float(len(one.seconds)), 1),
    )


_EXPECTED = (
    "every acknowledged write is there, every failure was reported, all is whole within "
    f"{WHOLE_WITHIN_S:.0f} s, no process is left behind"
)


def left_out(fault: Fault, why: str, require_all: bool) -> Case:
    """A fault that this machine cannot inflict; an error where everything is required."""
    return Case(
        suite="resilience",
        name=fault.id,
        outcome="error" if require_all else "skipped",
        expected="a fault that is inflicted" if require_all else "",
        note=why[:SHOWN_CHARS],
        service=fault.service,
    )


def crashed(one: Crashed) -> Case:
    """A fault that was not inflicted to its end: nothing is known of what it did."""
    return Case(
        suite="resilience",
        name=one.fault.id,
        outcome="error",
        expected="a fault that is inflicted",
        actual=one.why[:SHOWN_CHARS],
        note=one.why[:SHOWN_CHARS],
        service=one.fault.service,
    )


def totals(done: Sequence[Suffered], not_done: Sequence[Case]) -> Iterator[Record]:
    """What all faults come to; the recovery is the longest, and is missing where one never came."""
    errors = sum(case.outcome == "error" for case in not_done)
    failures = sum(bool(one.failings) for one in done) + errors
    yield _result("faults", len(done), "faults")
    yield _result("failures", failures, "faults")
    yield _result("skipped", len(not_done) - errors, "faults")
    for name, count in _counts(done).items():
        yield _result(name, count, COUNTED[name])
    recoveries = [one.recovery_s for one in done if one.recovery_s is not None]
    if recoveries and len(recoveries) == len(done) and not errors:
        slowest = max(done, key=lambda one: one.recovery_s or 0.0)
        yield _result("recovery", max(recoveries), "s", note=slowest.id, n=len(done))


def _counts(some: Sequence[Suffered]) -> dict[str, int]:
    return {
        "writes": sum(one.writes for one in some),
        "lost-writes": sum(len(one.lost) for one in some),
        "unreported": sum(len(one.unreported) for one in some),
        "strays": sum(len(one.strays) for one in some),
    }


def _result(
    name: str,
    value: float,
    unit: str,
    of: Suffered | None = None,
    note: str = "",
    n: int | None = None,
) -> Result:
    return Result(
        suite="resilience",
        name=f"resilience.{name}",
        value=float(value),
        unit=unit,
        variant=of.fault if of else "",
        part=of.service if of else "",
        note=note,
        n=n,
    )
