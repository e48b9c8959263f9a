"""What the report says about processes: CPU and memory of each service under every load."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.report.multiples import Multiple, multiple

IDLE_CORES = 0.05
"""A service that never uses more has a row in the table and no chart."""

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Used:
    """What one service used during one load profile; no charts of an idle one."""

    service: str
    cores: float
    most_cores: float
    rss_mib: float
    charts: tuple[Multiple, Multiple] | None


@dataclass(frozen=True, slots=True)
class Most:
    """The most one service used, and during which profile."""

    service: str
    cores: float
    cores_in: str
    rss_mib: float
    rss_in: str


@dataclass(frozen=True, slots=True)
class ProcessesView:
    """Each service's most, and all of it by load profile."""

    most: tuple[Most, ...]
    profiles: tuple[tuple[str, tuple[Used, ...]], ...]


def view(folder: Path) -> ProcessesView | None:
    """The part on processes; None of a run that watched none."""
    path = folder / "load" / "resources.csv"
    if not path.exists():
        return None
    by_profile: defaultdict[str, list[Row]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            by_profile[row["profile"]].append(row)
    profiles = [(name, tuple(_used(rows))) for name, rows in by_profile.items()]
    return ProcessesView(tuple(_most(profiles)), tuple(profiles)) if profiles else None


def _used(samples: Sequence[Row]) -> Iterator[Used]:
    by_service: defaultdict[str, list[Row]] = defaultdict(list)
    for row in samples:
        by_service[row["service"]].append(row)
    last = max(float(row["at_s"]) for row in samples)
    most = max(float(row["cpu_cores"]) for row in samples)
    for service, rows in by_service.items():
        cores = [(float(row["at_s"]), float(row["cpu_cores"])) for row in rows]
        memory = [(float(row["at_s"]), float(row["rss_mib"])) for row in rows]
        most_cores, rss = (max(value for _, value in pairs) for pairs in (cores, memory))
        # One scale for all services' CPU: that is what they share.
        charts = multiple(cores, last, max(most, 0.1)), multiple(memory, last, rss * 1.1)
        yield Used(
            service=service,
            cores=sum(value for _, value in cores) / len(cores),
            most_cores=most_cores,
            rss_mib=rss,
            charts=charts if most_cores >= IDLE_CORES else None,
        )


def _most(profiles: Sequence[tuple[str, Sequence[Used]]]) -> Iterator[Most]:
    by_service: defaultdict[str, list[tuple[str, Used]]] = defaultdict(list)
    for name, of in profiles:
        for used in of:
            by_service[used.service].append((name, used))
    for service, seen in by_service.items():
        cores_in, busiest = max(seen, key=lambda one: one[1].most_cores)
        rss_in, largest = max(seen, key=lambda one: one[1].rss_mib)
        yield Most(service, busiest.most_cores, cores_in, largest.rss_mib, rss_in)
