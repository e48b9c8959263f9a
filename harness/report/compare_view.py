"""The page of a comparison: verdict, ratios with intervals, relevance, what was the same."""

from harness.comparisons import ChangeRecord, CompareRecord
from harness.measures.pairs import Limits
from harness.report import gate_view
from harness.report.forest import Forest, forest
from harness.report.render import LISTED, SIGNS, TONES, WORDS, hash_of, templates
from harness.verdicts import Outcome

HEADLINES = {
    Outcome.PASS: "Nothing is worse",
    Outcome.FAIL: "Worse than its base",
    Outcome.INCONCLUSIVE: "Not decided",
}
FEWEST_MS = 0.01
"""Ratios of shorter stages are in the table alone: they are the clock's."""


def render(record: CompareRecord) -> str:
    """A comparison as one page of HTML."""
    environment = templates()
    script = environment.get_template("report.js").render()
    verdict = record.concluded()
    sign, tone, headline = WORDS[verdict.outcome]
    return environment.get_template("compare.html.j2").render(
        record=record,
        verdict=verdict,
        sign=sign,
        tone=tone,
        headline=HEADLINES.get(verdict.outcome, headline),
        chart=_chart(record),
        groups=gate_view.groups(record.gates),
        signs=SIGNS,
        tones=TONES,
        listed=LISTED,
        level=_level(record),
        script_hash=hash_of(script),
    )


def _level(record: CompareRecord) -> str:
    """The confidence of the intervals in percent; two kept runs have their own and no chart."""
    if "alpha" not in record.limits:
        return ""
    return f"{100 * (1 - Limits(alpha=record.limits['alpha']).alpha_of_a_look):g} %"


def _chart(record: CompareRecord) -> Forest | None:
    rows = [
        (one.series, _tone(one), one.ratio, one.ratio_low, one.ratio_high)
        for one in record.changes
        if one.ratio is not None
        and one.ratio_low is not None
        and one.ratio_high is not None
        and max(one.base_ms or 0.0, one.candidate_ms or 0.0) >= FEWEST_MS
    ]
    return forest(rows, 1 + record.limits.get("relative", 0.1)) if rows else None


def _tone(one: ChangeRecord) -> str:
    if one.standing == "fell":
        return "s1"
    return {"whole": "s0", "stage": "s2"}.get(one.kind, "s6")
