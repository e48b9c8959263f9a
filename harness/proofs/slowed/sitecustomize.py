"""Put on the path of one build, makes one stage take longer: `SLOWED_STAGE`, `SLOWED_BY` (1.2).

Python imports a module of this name as it starts. It waits until the build imports its own module
of stages, and lets each measured stretch of the one stage last so many times as long as it did.
"""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import time
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

MODULE = "cortex.shared.stages"
STAGE = os.environ.get("SLOWED_STAGE", "")  # noqa: TID251 - there is nobody else to hand it in
FACTOR = float(os.environ.get("SLOWED_BY", "1"))  # noqa: TID251


def slow_down(module: ModuleType) -> None:
    """Wrap `Stages.measured`."""
    stages: Any = module.Stages
    measured = stages.measured

    @contextlib.contextmanager
    def slowed(self: Any, name: str) -> Iterator[None]:
        with measured(self, name):
            started = time.perf_counter()
            yield
            now = time.perf_counter()
            until = now + (now - started) * (FACTOR - 1)
            # Not a sleep: that would be late by what is a tenth of a short stage.
            while name == STAGE and now < until:
                now = time.perf_counter()

    stages.measured = slowed


class _Waiting(importlib.abc.MetaPathFinder):
    """Finds the one module as anybody would, and changes it once it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        if found is not None and found.loader is not None:
            load = found.loader.exec_module

            def loaded(module: ModuleType) -> None:
                load(module)
                slow_down(module)

            found.loader.exec_module = loaded  # type: ignore[method-assign]
        return found


if STAGE:
    sys.meta_path.insert(0, _Waiting())
