"""What the report says of Postgres during a load: its statements, and their plans."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pydantic

from harness.measures.plans import (
    Execution,
    File,
    Plan,
    Planned,
    Plans,
    flips_within,
    key_of,
    lines,
    named,
)
from harness.results import Records, Result

SHOWN_STATEMENTS = 4
SHOWN_PLANS = 8
"""In a whole report; the same plan in another profile is not shown again."""
LEAST_MS = 0.1
"""Of a run in all: a statement below it is not worth a line."""
LONGEST_TEXT = 900
LONGEST_PLAN, LONGEST_SAMPLE, SMALL_PLAN = 4500, 1800, 500
PLANS_CHARS = 9_000
"""Of all plans in a report; what is beyond is in load/plans.json."""
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
    """A plan as text: the slowest execution, and the one in the middle of the pass, if it fits.

    `flips` says that the statement had another plan too.
    """

    name: str
    fingerprint: str
    seen: int
    slowest_ms: float
    slowest: str
    sample_ms: float
    sample: str
    flips: bool


@dataclass(frozen=True, slots=True)
class WhereView:
    """Statements and plans of one load profile; `flips_shown` are those of a profile before."""

    statements: tuple[StatementRow, ...]
    all_statements: int
    no_statements: str
    per_call: dict[str, Result]
    plans: tuple[PlanText, ...]
    no_plans: str
    planned_calls: int
    flips: tuple[str, ...]
    flips_shown: int


class Views:
    """The views of a run folder's profiles; what one has shown the next one does not repeat."""

    def __init__(self, folder: Path, records: Records) -> None:
        self._records = records
        self._statements = _by_profile(folder / "load" / "statements.csv")
        self._plans = _read_plans(folder / "load" / "plans.json")
        where = folder / "load" / "where.json"
        self._told = json.loads(where.read_bytes())["profiles"] if where.exists() else {}
        self._shown: set[str] = set()
        self._room = PLANS_CHARS

    def of(self, profile: str) -> WhereView | None:
        """One profile's; None of a run that did not look."""
        if profile not in self._told:
            return None
        told, plans = self._told[profile], self._plans.get(profile, Plans(unavailable="not kept"))
        rows = [
            one for one in self._statements.get(profile, []) if float(one["total_ms"]) > LEAST_MS
        ]
        flips = flips_within(plans)
        fresh = [flip for flip in flips if not self._is_shown(f"flip {flip.rpartition(' (')[0]}")]
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
            flips=tuple(fresh),
            flips_shown=len(flips) - len(fresh),
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
        """Those of statements with several plans first: they are why one looks."""
        for statement in sorted(plans.statements, key=lambda one: len(one.plans) < 2):
            for plan in statement.plans:
                mark = f"plan {statement.key} {plan.fingerprint}"
                shown = sum(one.startswith("plan ") for one in self._shown)
                if shown < SHOWN_PLANS and not self._is_shown(mark):
                    yield self._text(statement, plan)

    def _text(self, statement: Planned, plan: Plan) -> PlanText:
        slowest = self._within(plan.slowest, LONGEST_PLAN)
        return PlanText(
            name=statement.name,
            fingerprint=plan.fingerprint,
            seen=plan.seen,
            slowest_ms=plan.slowest.took_ms,
            slowest=slowest,
            sample_ms=plan.sample.took_ms,
            sample=self._within(plan.sample, LONGEST_SAMPLE) if plan.sample != plan.slowest else "",
            flips=len(statement.plans) > 1,
        )

    def _within(self, execution: Execution, longest: int) -> str:
        """As many whole lines of a plan as there is room for, and of a small one always all."""
        most = max(min(longest, self._room), SMALL_PLAN)
        text = "\n".join(lines(execution.tree))
        if len(text) > most:
            kept = text[: text.rfind("\n", 0, most) + 1].splitlines()
            more = len(text.splitlines()) - len(kept)
            text = "\n".join([*kept, f"… {more} more lines in load/plans.json"]) if kept else ""
        self._room = max(0, self._room - len(text))
        return text

    def _is_shown(self, mark: str) -> bool:
        """Whether it was shown before; from now on it is."""
        known = mark in self._shown
        self._shown.add(mark)
        return known


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
