"""Gates as annotations of a CI job: lines that GitHub shows beside the change."""

from collections.abc import Iterator, Sequence

from harness.plain_text import UNSHOWN
from harness.runs import GateRecord

LISTED = 10
"""GitHub shows ten of each kind a step; the rest is in the summary."""
_KINDS = {
    "fell": "error",
    "missing": "error",
    "inconclusive": "warning",
    "not-comparable": "warning",
}


def lines(gates: Sequence[GateRecord]) -> Iterator[str]:
    """A workflow command for each gate that does not hold, the worst first, ten of a kind."""
    for kind in ("error", "warning"):
        found = [gate for gate in gates if _KINDS.get(gate.standing) == kind]
        for gate in found[:LISTED]:
            title = f"{gate.title} ({gate.standing})"
            yield f"::{kind} title={_property(title)}::{_data(f'{gate.id}: {gate.why}')}"


def _data(text: str) -> str:
    text = text.translate(UNSHOWN)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
