"""The suites by name, and what each one gets to work with.

A suite is a function that takes a `Context` and yields records as it learns them; each is on disk
before the next is asked for, so that an interrupted run keeps what it had. A new suite adds a row
to `SUITES`: a module of `harness.probes` that has a function `measure`.
"""

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import NothingCollected
from harness.evalsets.collect import Profile
from harness.evalsets.records import EvalSet
from harness.probes.workbench import Workbench
from harness.results import Record
from harness.runs import RunFolder
from harness.targets import Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a suite may use: the stack, where to write, the eval sets, a seed.

    `owned` is False on a stack the run did not start: faults are refused there, and what a suite
    writes stays. Databases, server variants and cached embeddings come from `bench`.
    """

    targets: Targets
    owned: bool
    profile: Profile
    folder: RunFolder
    sets: tuple[EvalSet, ...]
    seed: int
    bench: Workbench
    load_profiles: Path
    require_all: bool


Measure = Callable[[Context], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite's module, whether it writes to the stack, whether it searches in eval sets.

    `for_any_server`: whether it asks only what an adapter can do.
    """

    module: str
    writes: bool = True
    needs_sets: bool = True
    for_any_server: bool = False

    def measure(self, context: Context) -> Iterator[Record]:
        """Run it; a suite whose module is not installed collects nothing."""
        try:
            module = importlib.import_module(self.module)
        except ModuleNotFoundError as err:
            if err.name is None or not self.module.startswith(err.name):
                raise
            raise NothingCollected(f"{self.module} is not part of this installation") from err
        measure: Measure = module.measure
        return measure(context)


SUITES: dict[str, Suite] = {
    "contract": Suite("harness.probes.contract", needs_sets=False),
    "relevance": Suite("harness.probes.relevance", for_any_server=True),
    "load": Suite("harness.probes.load", for_any_server=True),
}
