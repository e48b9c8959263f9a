"""What the report says beside the calls: statements, their plans, CPU and memory over time."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pydantic

from harness.measures.plans import File, Plan, Planned, Plans, flips_within, key_of, lines, named
from harness.report.multiples import Multiple, multiple
from harness.results import Records, Result

SHOWN_STATEMENTS = 6
SHOWN_PLANS = 8
"""In a whole report; the same plan in another profile is not shown again."""
LEAST_MS = 0.1
"""Of a run in all: a statement below it is not worth a line."""
LONGEST_TEXT = 1600
LONGEST_PLAN = 6000
PER_CALL = ("mean", "statements", "share")


@dataclass(frozen=True, slots=True)
class StatementRow:
    """A statement's cost; `text` is empty where the report shows it further up."""

    name: str
    text: str
    calls: int
    total_ms: float
    mean_ms: float
    stddev_ms: float
    share: float
    rows: int
    hit: int
    read: int
    temp: int
    plans: int


@dataclass(frozen=True, slots=True)
class PlanText:
    """A plan as text: the slowest execution, and the one in the middle of the pass."""

    name: str
    fingerprint: str
    seen: int
    slowest_ms: float
    slowest: str
    sample_ms: float
    sample: str


@dataclass(frozen=True, slots=True)
class Used:
    """What one service used over the run."""

    service: str
    cores: float
    most_cores: float
    rss_mib: float
    cpu_chart: Multiple
    rss_chart: Multiple


@dataclass(frozen=True, slots=True)
class WhereView:
    """Statements, plans and processes of one load profile."""

    statements: tuple[StatementRow, ...]
    all_statements: int
    no_statements: str
    per_call: dict[str, Result]
    plans: tuple[PlanText, ...]
    no_plans: str
    planned_calls: int
    flips: tuple[str, ...]
    used: tuple[Used, ...]


class Views:
    """The views of a run folder's profiles; what one has shown the next one does not repeat."""

    def __init__(self, folder: Path, records: Records) -> None:
        self._records = records
        self._statements = _by_profile(folder / "load" / "statements.csv")
        self._samples = _by_profile(folder / "load" / "resources.csv")
        self._plans = _read_plans(folder / "load" / "plans.json")
        where = folder / "load" / "where.json"
        self._told = json.loads(where.read_bytes())["profiles"] if where.exists() else {}
        self._shown: set[str] = set()

    def of(self, profile: str) -> WhereView | None:
        """One profile's; None of a run that did not look."""
        if profile not in self._told:
            return None
        told, plans = self._told[profile], self._plans.get(profile, Plans(unavailable="not kept"))
        rows = [
            one for one in self._statements.get(profile, []) if float(one["total_ms"]) > LEAST_MS
        ]
        found = {name: self._records.find(f"load.sql.{name}", "", profile) for name in PER_CALL}
        whole = told["service_ms"] * told["sent"]
        return WhereView(
            statements=tuple(self._rows(rows[:SHOWN_STATEMENTS], plans, whole)),
            all_statements=told["statements"],
            no_statements=told["no_statements"],
            per_call={name: one for name, one in found.items() if one is not None},
            plans=tuple(self._texts(plans)),
            no_plans=plans.unavailable,
            planned_calls=plans.calls,
            flips=tuple(flips_within(plans)),
            used=tuple(self._used(profile)),
        )

    def _rows(
        self, rows: Sequence[dict[str, str]], plans: Plans, whole_ms: float
    ) -> Iterator[StatementRow]:
        counts = {one.key: len(one.plans) for one in plans.statements}
        for row in rows:
            text, key = row["text"], key_of(row["text"])
            cut = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} …"
            yield StatementRow(
                name=named(text, 100),
                text="" if self._is_shown(f"text {key}") else cut,
                calls=int(row["calls"]),
                total_ms=float(row["total_ms"]),
                mean_ms=float(row["mean_ms"]),
                stddev_ms=float(row["stddev_ms"]),
                share=float(row["total_ms"]) / whole_ms if whole_ms else 0.0,
                rows=int(row["rows"]),
                hit=int(row["hit"]),
                read=int(row["read"]),
                temp=int(row["temp"]),
                plans=counts.get(key, 0),
            )

    def _texts(self, plans: Plans) -> Iterator[PlanText]:
        for statement in plans.statements:
            for plan in statement.plans:
                mark = f"plan {statement.key} {plan.fingerprint}"
                shown = sum(one.startswith("plan ") for one in self._shown)
                if shown < SHOWN_PLANS and not self._is_shown(mark):
                    yield _text(statement, plan)

    def _is_shown(self, mark: str) -> bool:
        """Whether it was shown before; from now on it is."""
        known = mark in self._shown
        self._shown.add(mark)
        return known

    def _used(self, profile: str) -> Iterator[Used]:
        by_service: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
        for row in self._samples.get(profile, []):
            by_service[row["service"]].append(row)
        last = max((float(r["at_s"]) for rows in by_service.values() for r in rows), default=1.0)
        most = max((float(r["cpu_cores"]) for rows in by_service.values() for r in rows), default=1)
        for service, rows in by_service.items():
            cores = [(float(row["at_s"]), float(row["cpu_cores"])) for row in rows]
            memory = [(float(row["at_s"]), float(row["rss_mib"])) for row in rows]
            yield Used(
                service=service,
                cores=sum(value for _, value in cores) / len(cores),
                most_cores=max(value for _, value in cores),
                rss_mib=max(value for _, value in memory),
                # One scale for all services' CPU: that is what they share.
                cpu_chart=multiple(cores, last, max(most, 0.1)),
                rss_chart=multiple(memory, last, max(value for _, value in memory) * 1.1),
            )


def _text(statement: Planned, plan: Plan) -> PlanText:
    slowest, sample = ("\n".join(lines(one.tree)) for one in (plan.slowest, plan.sample))
    return PlanText(
        name=statement.name,
        fingerprint=plan.fingerprint,
        seen=plan.seen,
        slowest_ms=plan.slowest.took_ms,
        slowest=slowest[:LONGEST_PLAN],
        sample_ms=plan.sample.took_ms,
        sample=sample[:LONGEST_PLAN] if plan.sample != plan.slowest else "",
    )


def _by_profile(path: Path) -> dict[str, list[dict[str, str]]]:
    found: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    if path.exists():
        with path.open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows):
                found[row["profile"]].append(row)
    return found


def _read_plans(path: Path) -> dict[str, Plans]:
    if not path.exists():
        return {}
    try:
        return File.model_validate_json(path.read_bytes()).profiles
    except pydantic.ValidationError:
        return {}
