"""Alternates the systems in short blocks of one sitting, and sums up what each of them did."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.probes.search_peers.clients import TOLD_BEFORE_S, Clients, Window
from harness.probes.search_peers.processor_time import ProcessorTime, Seconds
from harness.probes.search_peers.systems import System


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One system in one window."""

    seconds: float
    took_s: list[float]
    stages_ms: list[dict[str, float]]
    processor_s: Seconds

    @property
    def per_second(self) -> float:
        """Searches that ended in the window, a second."""
        return len(self.took_s) / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a block warms up, and how long it counts."""

    warm_up_s: float
    timed_s: float
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One system over all its blocks; times in ms, processor time a search by group."""

    name: str
    searches: int
    per_second: float
    blocks_per_second: list[float]
    p50_ms: float
    p95_ms: float
    processor_ms: dict[str, float]
    stages_ms: dict[str, float]
    ndcg: float = 0.0
    ratio: float = field(default=1.0)
    """Our searches a second over this system's, median of the rounds."""


def compare(
    clients: Clients,
    systems: Sequence[System],
    timing: Timing,
    used: ProcessorTime,
    say: Callable[[str], None],
) -> list[list[Block]]:
    """The blocks of each system; a round asks every system once, each round another one first."""
    blocks: list[list[Block]] = [[] for _ in systems]
    for number in range(timing.rounds):
        for turn in range(len(systems)):
            place = (number + turn) % len(systems)
            block = _block(clients, place, timing, used)
            blocks[place].append(block)
            say(f"round {number + 1}: {systems[place].name}: {block.per_second:.0f} a second")
    return blocks


def _block(clients: Clients, place: int, timing: Timing, used: ProcessorTime) -> Block:
    starts = time.monotonic() + TOLD_BEFORE_S
    timed_from = starts + timing.warm_up_s
    ends = timed_from + timing.timed_s
    clients.tell(Window(system=place, starts=starts, timed_from=timed_from, ends=ends))
    _until(timed_from)
    before = used.now()
    _until(ends)
    after = used.now()
    searched = clients.searched()
    return Block(
        seconds=timing.timed_s,
        took_s=[took for one in searched for took in one.took_s],
        stages_ms=[stages for one in searched for stages in one.stages_ms],
        processor_s={name: after[name] - before[name] for name in after},
    )


def _until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def summed(name: str, blocks: Sequence[Block], ours: Sequence[Block], ndcg: float) -> Figures:
    """A system's figures, with its ratio to `ours`, round by round."""
    took_ms = sorted(1000 * took for block in blocks for took in block.took_s)
    count = max(1, len(took_ms))
    rates = [block.per_second for block in blocks]
    ratios = [one.per_second / max(other, 1e-9) for one, other in zip(ours, rates, strict=True)]
    return Figures(
        name=name,
        searches=len(took_ms),
        per_second=statistics.median(rates),
        blocks_per_second=rates,
        p50_ms=took_ms[len(took_ms) // 2] if took_ms else float("nan"),
        p95_ms=took_ms[int(0.95 * len(took_ms))] if took_ms else float("nan"),
        processor_ms={
            group: 1000 * sum(block.processor_s[group] for block in blocks) / count
            for group in blocks[0].processor_s
        },
        stages_ms=_medians([stages for block in blocks for stages in block.stages_ms]),
        ndcg=ndcg,
        ratio=statistics.median(ratios),
    )


def _medians(stages: Sequence[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for one in stages for name in one)
    return {name: statistics.median(one.get(name, 0.0) for one in stages) for name in names}


def broken(ours: Figures, peers: Sequence[Figures]) -> list[str]:
    """Which peers are not slower than ours, in words."""
    return [
        f"{peer.name}: {peer.per_second:.0f} searches a second, ours {ours.per_second:.0f} "
        f"({peer.ratio:.2f} times); more than 1 is wanted"
        for peer in peers
        if not peer.ratio > 1.0
    ]


def table(figures: Sequence[Figures]) -> str:
    """Every system's figures, a line each."""
    groups = list(figures[0].processor_ms)
    head = ["system", "searches/s", "ours/it", "p50 ms", "p95 ms", "nDCG@10", "CPU ms", *groups]
    lines = [head]
    for one in figures:
        times = [one.processor_ms[group] for group in groups]
        lines.append(
            [
                one.name,
                f"{one.per_second:.0f}",
                f"{one.ratio:.2f}",
                f"{one.p50_ms:.1f}",
                f"{one.p95_ms:.1f}",
                f"{one.ndcg:.3f}",
                *(f"{value:.1f}" for value in [sum(times), *times]),
            ]
        )
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if place == 0 else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
