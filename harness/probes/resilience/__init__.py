"""The resilience suite: faults under load, on stacks of this run only.

Every stack has the settings of production: a fast one may lose what it acknowledged when the
machine goes down, and its figures would say nothing. What was acknowledged is looked at after each
fault and, since a later crash may lose an earlier write, once more when a stack's last fault is
over.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness import progress
from harness.probes.resilience import faults, outcomes
from harness.probes.resilience.disks import CannotMount
from harness.probes.resilience.sequence import inflicted
from harness.probes.resilience.stacks import Maker
from harness.probes.resilience.suffering import Suffered
from harness.results import Case, Record

if TYPE_CHECKING:
    from harness.suites import Context


def measure(context: "Context") -> Iterator[Record]:
    """Inflict the faults of the profile; a case a fault, and what all of them come to."""
    maker = Maker(runtime=context.runtime, cortex=context.cortex, logs=context.folder.path / "logs")
    wanted = faults.chosen(context.profile)
    done: list[Suffered] = []
    not_done: list[Case] = []
    for where in faults.PLACES:
        some = [fault for fault in wanted if fault.where == where]
        try:
            for one in inflicted(maker, some, context.seed):
                if isinstance(one, Suffered):
                    done.append(one)
                    progress.say(f"  {outcomes.line(one)}")
                    outcomes.write(context.folder, done)
                    yield from outcomes.records(one)
                else:
                    not_done.append(outcomes.crashed(one))
                    progress.say(f"  {one.fault.id}: crashed: {one.why}")
                    yield not_done[-1]
        except CannotMount as err:
            away = [outcomes.left_out(fault, str(err), context.require_all) for fault in some]
            not_done += away
            yield from away
    yield from outcomes.totals(done, not_done)
