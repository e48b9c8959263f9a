"""The page of a long proof: a row a fault, and what they come to."""

from collections.abc import Iterator
from statistics import median

from harness import environment
from harness.probes.resilience.repeated import Repeated
from harness.probes.resilience.suffering import WHOLE_WITHIN_S, Suffered

_COLUMNS = (
    "fault",
    "what is done",
    "acknowledged",
    "refused",
    "unanswered",
    "unreported",
    "items",
    "lost",
    "longest call, s",
    "whole after, s",
)


def page(made: Repeated) -> str:
    """All outcomes as Markdown."""
    return "\n".join(_lines(made)) + "\n"


def _lines(made: Repeated) -> Iterator[str]:
    done = made.done
    recoveries = [one.recovery_s for one in done if one.recovery_s is not None]
    machine = environment.machine()
    yield "# Faults under load"
    yield ""
    yield (
        f"Revision `{made.revision}`: {len(done)} of {made.asked} faults under a mixed load of "
        "writes and searches, on stacks set as in production; "
        f"{sum(one.writes for one in done)} acknowledged writes, "
        f"{sum(one.items for one in done)} items looked at by id and whole content."
    )
    yield ""
    yield f"- acknowledged writes lost or wrong: {sum(len(one.lost) for one in done)}"
    yield f"- failures that were not reported: {sum(len(one.unreported) for one in done)}"
    yield f"- processes left behind: {sum(len(one.strays) for one in done)}"
    yield f"- stacks that did not become whole: {len(done) - len(recoveries)}"
    if recoveries:
        yield (
            f"- whole again after: {median(recoveries):.1f} s (median), {max(recoveries):.1f} s "
            f"(longest; the limit is {WHOLE_WITHIN_S:.0f} s)"
        )
    yield from (f"- not inflicted: {one}" for one in made.not_done)
    yield f"- machine: {', '.join(f'{name} {value}' for name, value in sorted(machine.items()))}"
    yield ""
    yield (
        "*Refused* is an answer that says it failed; *unanswered* a connection that broke, which "
        "the caller sees; *unreported* what looks like success and is none, or never ends. "
        "*Whole* is the first moment from which every service is well and writes and searches "
        "succeed, counted from the fault's end. "
        f"Made anew by `python -m harness.probes.resilience --faults {made.asked} --out FILE "
        "--page PAGE`."
    )
    yield ""
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{'---|' * len(_COLUMNS)}"
    for one in done:
        yield f"| {' | '.join(_row(one))} |"


def _row(one: Suffered) -> list[str]:
    names = ("acknowledged", "refused", "unanswered", "unreported")
    counts = [str(one.outcomes.get(name, 0)) for name in names]
    whole = "never" if one.recovery_s is None else f"{one.recovery_s:.1f}"
    return [
        one.id,
        one.about,
        *counts,
        str(one.items),
        str(len(one.lost)),
        f"{one.longest_s:.1f}",
        whole,
    ]
