"""What the report says about sampled services: a flame graph each, and the hottest functions."""

import json
from dataclasses import dataclass
from pathlib import Path

from harness.measures import call_tree
from harness.measures.call_tree import Function
from harness.report.flames import KINDS, FlameChart, flame_chart, tone

HOTTEST = 15


@dataclass(frozen=True, slots=True)
class Hot:
    """A function among the hottest: its share of the samples in itself, and with all below."""

    name: str
    tone: str
    own: float
    within: float


@dataclass(frozen=True, slots=True)
class FlameView:
    """One service; `chart` is None where it could not be sampled, and `unavailable` says why."""

    service: str
    unavailable: str
    file: str
    samples: int
    seconds: float
    cpu_s: float
    p50_ms: float
    chart: FlameChart | None
    hottest: tuple[Hot, ...]


@dataclass(frozen=True, slots=True)
class ProfileView:
    """All sampled services of a profile, and the median search without sampling."""

    rate_hz: int
    p50_ms: float
    flames: tuple[FlameView, ...]
    legend: tuple[tuple[str, str], ...]


def view(folder: Path) -> ProfileView | None:
    """The part on flame graphs; None of a run that sampled nothing."""
    path = folder / "profile" / "profile.json"
    if not path.exists():
        return None
    kept = json.loads(path.read_bytes())
    flames = tuple(_flame(folder, one) for one in kept["flames"])
    legend = tuple((tone, meaning) for tone, meaning, _ in KINDS)
    return ProfileView(kept["rate_hz"], kept["p50_ms"], flames, legend)


def _flame(folder: Path, one: dict[str, object]) -> FlameView:
    path = folder / str(one["file"])
    text = path.read_text(encoding="utf-8") if one["file"] and path.is_file() else ""
    root = call_tree.tree(text)
    return FlameView(
        service=str(one["service"]),
        unavailable=str(one["unavailable"]) or ("" if text else "its stacks are not kept"),
        file=str(one["file"]),
        samples=root.samples,
        seconds=float(str(one["seconds"])),
        cpu_s=float(str(one["cpu_s"])),
        p50_ms=float(str(one["p50_ms"])),
        chart=flame_chart(root) if root.samples else None,
        hottest=tuple(_hot(found, root.samples) for found in call_tree.hottest(text, HOTTEST)),
    )


def _hot(found: Function, samples: int) -> Hot:
    return Hot(found.name, tone(found.name), found.own / samples, found.within / samples)
