"""Fills the templates; the one script is inline and named by its hash in the page's own policy."""

import base64
import hashlib
from pathlib import Path

import jinja2

from harness.plain_text import UNSHOWN
from harness.report import (
    flame_view,
    gate_view,
    load_view,
    moved_view,
    processes_view,
    relevance_view,
    resilience_view,
    short_view,
)
from harness.report.paths import dots, path
from harness.results import Records
from harness.runs import RunRecord
from harness.verdicts import Outcome, Standing

TEMPLATES = Path(__file__).parent / "templates"
LISTED = 60
DETAILED = 8
CUT_CHARS = 700

SIGNS: dict[Standing, tuple[str, str]] = {
    "held": ("✓", "held"),
    "fell": ("✗", "fell"),
    "waived": ("~", "waived"),
    "inconclusive": ("?", "open"),
    "not-comparable": ("?", "not comparable"),
    "missing": ("!", "missing"),
    "not-applicable": ("–", "not applicable"),
}
TONES: dict[Standing, str] = {
    "held": "good",
    "fell": "bad",
    "waived": "open",
    "inconclusive": "open",
    "not-comparable": "open",
    "missing": "bad",
    "not-applicable": "off",
}
WORDS = {
    Outcome.PASS: ("✓", "good", "Release may go"),
    Outcome.FAIL: ("✗", "bad", "Release is held back"),
    Outcome.USAGE: ("!", "bad", "Not measured"),
    Outcome.INCONCLUSIVE: ("?", "open", "Not decided"),
    Outcome.BROKEN: ("!", "bad", "Not measured"),
    Outcome.EMPTY: ("!", "bad", "Nothing measured"),
}


def render(run_folder: Path, run: RunRecord, records: Records) -> str:
    """The report of a run as one page of HTML."""
    environment = templates()
    script = environment.get_template("report.js").render()
    verdict = run.concluded()
    contract = [case for case in records.cases if case.suite == "contract"]
    sign, tone, headline = WORDS[verdict.outcome]
    profile = flame_view.view(run_folder)
    if profile is not None and verdict.outcome is Outcome.PASS:
        headline = "Measured, held against nothing"
    elif verdict.outcome is Outcome.PASS and short_view.left_out(run):
        headline = "What was looked at holds"
    moved = moved_view.view(run_folder, run)
    page = environment.get_template("report.html.j2").render(
        run=run,
        verdict=verdict,
        sign=sign,
        tone=tone,
        headline=headline,
        groups=gate_view.groups(run.gates),
        fallen=[gate for gate in run.gates if gate.standing in ("fell", "waived")],
        signs=SIGNS,
        tones=TONES,
        script_hash=hash_of(script),
        relevance=relevance_view.view(run_folder, run, records),
        moved=moved,
        short=short_view.lines(run, records, moved),
        load=load_view.view(run_folder, records),
        processes=processes_view.view(run_folder),
        profile=profile,
        resilience=resilience_view.view(run_folder, records),
        cases=contract,
        failed_cases=[case for case in contract if case.outcome in ("failed", "error")],
        skipped_cases=[case for case in contract if case.outcome == "skipped"],
        failures=records.failures,
        listed=LISTED,
        detailed=DETAILED,
    )
    return page.translate(UNSHOWN).encode("utf-8", "replace").decode("utf-8")


def templates() -> jinja2.Environment:
    """The templates with their filters; a name that is not given is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cut"] = _cut
    environment.filters["short"] = _short
    environment.filters["path"] = path
    environment.filters["dots"] = dots
    environment.filters["ms"] = _ms
    return environment


def hash_of(script: str) -> str:
    """A script's hash, as a page's own policy names it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _cut(text: str, length: int = CUT_CHARS) -> str:
    return text if len(text) <= length else f"{text[:length]} … ({len(text)} characters)"


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length].rstrip()} …"


def _ms(value: float | None) -> str:
    """A duration in ms with as many digits as it deserves."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
