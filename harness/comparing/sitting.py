"""Both builds up and loaded with the same eval set, for as long as they are compared."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.comparing.blocks import Side
from harness.comparing.builds import Build, running
from harness.evalsets.records import EvalSet
from harness.probes import databases
from harness.probes.workbench import Workbench


@contextlib.contextmanager
def sitting(
    builds: Sequence[Build], found: EvalSet, folder: Path, cortex: Sequence[str] = ()
) -> Iterator[list[Side]]:
    """Each build's stack, loaded through its own write path; all of them gone afterwards."""
    with contextlib.ExitStack() as open_:
        sides = []
        for build in builds:
            targets = open_.enter_context(running(build, folder / "logs", cortex))
            # Not "owned": no server is started beside the build's own, and no cache is used.
            bench = Workbench(targets, False, folder / build.role, folder / "unused.sqlite")
            open_.enter_context(bench.closing())
            sides.append(Side(build.role, targets, bench.load(found)))
            if targets.services.postgres is not None:
                # Else one build's plans may rest on statistics that the other does not have yet.
                databases.settle(targets.services.postgres.url)
        yield sides
