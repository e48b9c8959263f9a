"""What the report says about stages: for each workload a bar of what its calls waited for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.measures.stages import EXCESS, RESTS
from harness.report.charts import Segment, stack
from harness.results import Result, stage_part

Find = Callable[[str, str], Result | None]
"""A result of the profile by metric and part."""


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage in ms; `waited` is None of a part of a stage, `tone` empty where it has no bar."""

    name: str
    tone: str
    ran: float
    waited: float | None
    share: float
    p50: float | None
    p95: float
    is_part: bool


@dataclass(frozen=True, slots=True)
class StageBar:
    """One workload's stages; `whole_ms` is the mean service time that they add up to."""

    workload: str
    segments: tuple[Segment, ...]
    rows: tuple[StageRow, ...]
    whole_ms: float
    excess_ms: float


def stage_bars(one: dict[str, Any], find: Find) -> Iterator[StageBar]:
    """A bar a workload, from a profile's kept histograms and results."""
    keys = [key.rpartition("/") for key in one["stages"]]
    workloads = list(dict.fromkeys(workload for workload, _, _ in keys))
    for workload in workloads:
        names = [name for own, _, name in keys if own == workload]
        rows = list(_rows(_ordered(names), workload, len(workloads), find))
        bar = [row for row in rows if row.waited is not None and row.name != EXCESS]
        whole = sum(row.waited or 0.0 for row in bar)
        segments = stack([(row.name, row.waited or 0.0) for row in bar])
        tones = {segment.label: segment.tone for segment in segments}
        yield StageBar(
            workload,
            segments,
            tuple(_finished(row, tones, whole) for row in rows),
            whole,
            next((row.ran for row in rows if row.name == EXCESS), 0.0),
        )


def _ordered(names: list[str]) -> list[str]:
    """Each part below its stage, the rests last."""
    whole = [name for name in names if "." not in name and name not in RESTS]
    rests = [name for name in RESTS if name in names]
    parts = {name: [part for part in names if part.startswith(f"{name}.")] for name in whole}
    return [one for name in whole for one in (name, *parts[name])] + rests


def _rows(names: list[str], workload: str, workloads: int, find: Find) -> Iterator[StageRow]:
    for name in names:
        part = stage_part(workload, name, workloads)
        ran, p95 = find("stage.mean", part), find("stage.p95", part)
        waited, p50 = find("stage.waited", part), find("stage.p50", part)
        if ran is None or p95 is None:
            continue
        # A run of before stages told when they began has no `waited`: then all of it was.
        told = ran.value if waited is None else waited.value
        is_part = "." in name
        yield StageRow(
            name=name,
            tone="",
            ran=ran.value,
            waited=None if is_part else told,
            share=0.0,
            p50=p50.value if p50 else None,
            p95=p95.value,
            is_part=is_part,
        )


def _finished(row: StageRow, tones: dict[str, str], whole_ms: float) -> StageRow:
    return StageRow(
        row.name,
        tones.get(row.name, ""),
        row.ran,
        row.waited,
        (row.waited or 0.0) / whole_ms if whole_ms else 0.0,
        row.p50,
        row.p95,
        row.is_part,
    )
