"""The words and exit codes a run can end with; the only place that pairs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

Standing = Literal[
    "held", "fell", "waived", "inconclusive", "not-comparable", "missing", "not-applicable"
]
"""How a gate stands: `held` is a pass, and `waived`, which fell and was forgiven for a while;
`not-applicable` alone is left out of the count."""

SuiteState = Literal["measured", "empty", "failed", "interrupted"]


class Outcome(IntEnum):
    """The exit codes; 3, 4 and 5 are never a pass and never called a regression."""

    PASS = 0
    FAIL = 1
    USAGE = 2
    INCONCLUSIVE = 3
    BROKEN = 4
    EMPTY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a command ends with: one outcome, and one sentence that says why."""

    outcome: Outcome
    why: str

    @property
    def line(self) -> str:
        """The last line a command prints."""
        why = " ".join(self.why.split())
        return f"verdict: {self.outcome.name} (exit {self.outcome.value}): {why}"


def conclude(standings: dict[str, Standing], suites: dict[str, SuiteState]) -> Verdict:
    """The verdict of a run from how each gate stands and how each suite ended.

    A gate that fell is evidence, so it wins over what could not be measured; after that comes
    a suite that broke, a suite that had nothing to measure, a measurement that is missing, and
    last what could not be told apart from noise.
    """

    def gates(*wanted: Standing) -> list[str]:
        return [name for name, standing in standings.items() if standing in wanted]

    def ended(*wanted: SuiteState) -> list[str]:
        return [name for name, state in suites.items() if state in wanted]

    judged = len(standings) - len(gates("not-applicable"))
    if names := gates("fell"):
        return _verdict(Outcome.FAIL, f"{len(names)} of {judged} gates fell", names)
    if names := ended("interrupted"):
        return _verdict(Outcome.BROKEN, "interrupted", names)
    if names := ended("failed"):
        return _verdict(Outcome.BROKEN, "the suite failed", names)
    if names := ended("empty"):
        return _verdict(Outcome.EMPTY, "nothing was collected", names)
    if not suites:
        return _verdict(Outcome.EMPTY, "no suite ran", [])
    if names := gates("missing"):
        return _verdict(Outcome.BROKEN, f"{len(names)} of {judged} gates not measured", names)
    if names := gates("inconclusive", "not-comparable"):
        return _verdict(Outcome.INCONCLUSIVE, f"{len(names)} of {judged} gates open", names)
    if judged == 0:
        return _verdict(Outcome.INCONCLUSIVE, "no gate applies to what was measured", [])
    if names := gates("waived"):
        held = judged - len(names)
        fallen = f"{len(names)} fell and {'is' if len(names) == 1 else 'are'} waived"
        what = f"{held} of {judged} gates hold, {fallen}"
        return _verdict(Outcome.PASS, what, names)
    return _verdict(Outcome.PASS, f"all {judged} gates hold", [])


def _verdict(outcome: Outcome, what: str, names: Sequence[str]) -> Verdict:
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return Verdict(outcome=outcome, why=f"{what}: {listed}" if listed else what)
