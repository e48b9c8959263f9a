"""Where a load run's time went beside its calls: records, and the files the report reads.

Statements in `load/statements.csv`, plans in `load/plans.json`, CPU and memory of every process in
`load/resources.csv`; what could not be had is in `load/where.json`, with the reason.
"""

import json
from collections.abc import Iterator, Sequence

from harness.measures.plans import File, flips_within
from harness.metrics import METRICS
from harness.probes.load.judging import Measured
from harness.probes.load.watching import Calls, Watched, calls_of
from harness.probes.statements import Statement
from harness.results import Record, Result
from harness.runs import RunFolder, csv_text

SCHEMA = "cortex.where/1"
LISTED_STATEMENTS = 30


def records(measured: Measured) -> Iterator[Record]:
    """The figures of statements, plans and processes."""
    watched, name = measured.watched, measured.profile.name
    if watched is None:
        return
    calls = calls_of(measured)
    if not _no_statements(watched, calls) and calls.sent:
        yield from _of_statements(watched.statements, calls, name)
    if not watched.plans.unavailable:
        found = watched.plans.statements
        n = watched.plans.calls
        yield _result("load.plans", sum(len(one.plans) for one in found), name, n=n)
        flips = flips_within(watched.plans)
        yield _result("load.plan-flips", len(flips), name, n=n, note="; ".join(flips)[:2000])
    for service in watched.resources.services:
        samples = watched.resources.of(service)
        cores, n = [one.cores for one in samples], len(samples)
        memory = max(one.rss_mib for one in samples)
        yield _result("load.resource.cpu", sum(cores) / n, name, service, n=n)
        yield _result("load.resource.cpu-max", max(cores), name, service, n=n)
        yield _result("load.resource.rss", memory, name, service, n=n)


def _no_statements(watched: Watched, calls: Calls) -> str:
    """Why nothing is known of statements; none at all beside answered calls is no measure."""
    if not watched.no_statements and not watched.statements and calls.service_ms:
        return (
            "no statement was counted though calls were answered; look at "
            "pg_stat_statements.track, and whether the role has pg_read_all_stats"
        )
    return watched.no_statements


def _of_statements(found: Sequence[Statement], calls: Calls, name: str) -> Iterator[Record]:
    sql_ms = sum(one.total_ms for one in found) / calls.sent
    count = sum(one.calls for one in found) / calls.sent
    yield _result("load.sql.mean", sql_ms, name, n=calls.sent)
    yield _result("load.sql.statements", count, name, n=calls.sent)
    if calls.service_ms:
        yield _result("load.sql.share", sql_ms / calls.service_ms, name, n=calls.sent)


def _result(
    name: str, value: float, variant: str, part: str = "", *, n: int, note: str = ""
) -> Result:
    unit = METRICS[name].unit
    return Result(
        suite="load",
        name=name,
        value=float(value),
        unit=unit,
        variant=variant,
        part=part,
        n=n,
        note=note,
    )


_STATEMENTS = (
    "calls",
    "total_ms",
    "mean_ms",
    "stddev_ms",
    "rows",
    "hit",
    "read",
    "temp",
    "text",
)


def write_tables(folder: RunFolder, done: Sequence[Measured]) -> None:
    """Everything, for the report, for `compare` and for whoever wants to look closer."""
    seen = [(one.profile.name, one, one.watched) for one in done if one.watched is not None]
    folder.write(
        "load/statements.csv",
        csv_text(
            ["profile", *_STATEMENTS],
            (
                [name, *(_cell(getattr(statement, column)) for column in _STATEMENTS)]
                for name, _, watched in seen
                for statement in watched.statements[:LISTED_STATEMENTS]
            ),
        ),
    )
    folder.write(
        "load/resources.csv",
        csv_text(
            ["profile", "at_s", "service", "processes", "cpu_cores", "rss_mib"],
            (
                [name, *map(_cell, (s.at_s, s.service, s.processes, s.cores, s.rss_mib))]
                for name, _, watched in seen
                for s in watched.resources.samples
            ),
        ),
    )
    plans = File(profiles={name: watched.plans for name, _, watched in seen})
    folder.write("load/plans.json", plans.model_dump_json(by_alias=True, indent=1) + "\n")
    told = {name: _told(one, watched) for name, one, watched in seen}
    folder.write("load/where.json", json.dumps({"schema": SCHEMA, "profiles": told}) + "\n")


def _cell(value: object) -> object:
    return f"{value:.3f}" if isinstance(value, float) else value


def _told(measured: Measured, watched: Watched) -> dict[str, object]:
    calls = calls_of(measured)
    return {
        "sent": calls.sent,
        "service_ms": calls.service_ms,
        "no_statements": _no_statements(watched, calls),
        "statements": len(watched.statements),
    }
