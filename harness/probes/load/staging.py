"""The stages of a load run's calls, by workload: records, and `load/stages.csv`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.measures.latency import Latencies
from harness.measures.stages import RESTS, UNATTRIBUTED
from harness.probes.load.judging import Measured
from harness.probes.load.locust import Recorded
from harness.results import stage_part

HEADER = ["profile", "workload", "stage", "n", "mean_ms", "p50_ms", "p95_ms", "waited_ms"]


@dataclass(frozen=True, slots=True)
class StageTimes:
    """One stage of one workload; `waited_ms` is the mean over all its calls (of a rest: the same).

    The `waited_ms` of a workload's stages and rests (the excess less) are its mean service time.
    """

    workload: str
    name: str
    part: str
    times: Latencies
    waited_ms: float


def stages_of(recorded: Recorded) -> list[StageTimes]:
    """Every stage of every workload, in the order the server names them."""
    found = []
    workloads = {key.partition("/")[0] for key in recorded.stages}
    for key, encoded in sorted(recorded.stages.items(), key=_place):
        workload, _, name = key.partition("/")
        calls = Latencies(recorded.stages[f"{workload}/{UNATTRIBUTED}"]).n
        times = Latencies(encoded)
        counted = times if name in RESTS else Latencies(recorded.waited.get(key))
        waited_ms = counted.mean_ms * counted.n / calls
        part = stage_part(workload, name, len(workloads))
        found.append(StageTimes(workload, name, part, times, waited_ms))
    return found


def _place(stage: tuple[str, str]) -> tuple[str, bool]:
    """By workload, the rests last; else as the server names them."""
    workload, _, name = stage[0].partition("/")
    return workload, name in RESTS


def rows(done: Sequence[Measured]) -> Iterator[list[object]]:
    """The rows of `load/stages.csv`."""
    for one in done:
        for stage in stages_of(one.recorded):
            times = stage.times
            figures = (
                times.mean_ms,
                times.quantile(0.5).value_ms,
                times.quantile(0.95).value_ms,
                stage.waited_ms,
            )
            yield [
                one.profile.name,
                stage.workload,
                stage.name,
                times.n,
                *(f"{figure:.3f}" for figure in figures),
            ]
