"""What a load run can send, by name; a new workload is a module here that has a `calls`.

A module's name, with hyphens, is its workload's name in profiles, records and the report.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.probes.load.asked import Asked
from loadtests.plans import Call


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of call: makes so many different ones; `writes` where they change what is stored."""

    name: str
    calls: Callable[[Asked, int], list[Call]]
    writes: bool


def _found() -> Mapping[str, Workload]:
    found = {}
    for module in pkgutil.iter_modules(__path__):
        name = module.name.replace("_", "-")
        made = importlib.import_module(f"{__name__}.{module.name}")
        found[name] = Workload(name, made.calls, getattr(made, "WRITES", False))
    return found


WORKLOADS: Mapping[str, Workload] = _found()
