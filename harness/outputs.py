"""What a run is read by: `junit.xml` and `summary.md` for CI, `report.html` for people."""

import xml.etree.ElementTree as ET

from harness import report, results
from harness.plain_text import UNSHOWN
from harness.report import markdown, moved_view
from harness.report.gate_view import WORST_FIRST
from harness.report.markdown import cell, code
from harness.report.moved_view import MovedView
from harness.results import Records
from harness.runs import GateRecord, RunFolder, RunRecord

SUMMARY_BYTES = 2**20 - 1024
"""CI services refuse a summary of 1 MiB."""
LISTED = 200
MARKS = {
    "held": "✓ held",
    "fell": "✗ fell",
    "waived": "~ waived",
    "inconclusive": "? open",
    "not-comparable": "? not comparable",
    "missing": "! missing",
    "not-applicable": "– not applicable",
}


def write(folder: RunFolder, run: RunRecord) -> None:
    """Write all three, or none where one of them cannot be made."""
    records = results.read(folder.path)
    moved = moved_view.view(folder.path, run)
    pages = {
        "junit.xml": junit(run, records),
        "summary.md": summary(run, records, moved),
        "report.html": report.render(folder.path, run, records),
    }
    for name, text in pages.items():
        folder.write(name, text)


def junit(run: RunRecord, records: Records) -> str:
    """One test case a gate and a contract case; what is open counts as an error, never a pass."""
    suites = ET.Element("testsuites", name=f"cortex-harness {run.id}")
    gates = ET.SubElement(suites, "testsuite", name="gates")
    for gate in run.gates:
        case = ET.SubElement(gates, "testcase", classname="gates", name=gate.id)
        if gate.standing == "fell":
            ET.SubElement(case, "failure", message=gate.why)
        elif gate.standing in ("not-applicable", "waived"):
            ET.SubElement(case, "skipped", message=gate.why)
        elif gate.standing != "held":
            ET.SubElement(case, "error", message=f"{gate.standing}: {gate.why}")
    for name, suite in run.suites.items():
        element = ET.SubElement(suites, "testsuite", name=name, time=f"{suite.took_s}")
        if suite.state != "measured":
            case = ET.SubElement(element, "testcase", classname=name, name="the suite itself")
            ET.SubElement(case, "error", message=f"{suite.state}: {suite.message}")
        for one in records.cases:
            if one.suite == name:
                _case(element, one)
    for element in suites:
        _count(element)
    for total in ("tests", "failures", "errors"):
        suites.set(total, str(sum(int(element.get(total, "0")) for element in suites)))
    for element in suites.iter():
        element.attrib.update({name: _xml(value) for name, value in element.attrib.items()})
        element.text = _xml(element.text) if element.text else None
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _case(parent: ET.Element, one: results.Case) -> None:
    case = ET.SubElement(parent, "testcase", classname=one.suite, name=one.name)
    case.set("time", f"{one.took_s:.3f}")
    if one.outcome == "skipped":
        ET.SubElement(case, "skipped", message=one.note or one.name)
    elif one.outcome != "passed":
        tag = "failure" if one.outcome == "failed" else "error"
        found = ET.SubElement(case, tag, message=one.note or one.name)
        found.text = f"expected: {one.expected}\nactual:   {one.actual}"


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite)))
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))


def _xml(text: str) -> str:
    """Characters XML has no way to write become a replacement."""
    return "".join(
        "�" if "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff" else c
        for c in text.translate(UNSHOWN)
    )


def summary(run: RunRecord, records: Records, moved: MovedView | None = None) -> str:
    """The verdict, the gates and the figures as Markdown, small enough for a CI job's page."""
    verdict = run.concluded()
    lines = [
        f"# {verdict.outcome.name}: {cell(verdict.why)}",
        "",
        f"Run {code(run.id)}, {run.profile} profile, revision {code(run.revision)}"
        f"{' with uncommitted changes' if run.dirty else ''}, status {run.status}.",
        "",
        *markdown.in_short(run, records, moved),
        *markdown.lost(moved),
        *markdown.figures(records),
        "## Gates",
        "",
        "| gate | stands | why |",
        "|---|---|---|",
        *(_gate_row(gate) for gate in sorted(run.gates, key=_worst_first)[:LISTED]),
        "",
    ]
    if run.waivers:
        lines += ["| waiver of | until | by | state | reason |", "|---|---|---|---|---|"]
        lines += [
            f"| {code(one.gate)} {cell(one.set)} | {cell(one.until)} | {cell(one.by)} | "
            f"{one.state} | {cell(one.reason)} |"
            for one in run.waivers
        ]
        lines.append("")
    lines += markdown.failed_cases(records, LISTED)
    text = "\n".join(lines) + "\n"
    return text.encode()[:SUMMARY_BYTES].decode(errors="ignore")


def _gate_row(gate: GateRecord) -> str:
    return f"| {cell(gate.title)} {code(gate.id)} | {MARKS[gate.standing]} | {cell(gate.why)} |"


def _worst_first(gate: GateRecord) -> int:
    return WORST_FIRST.index(gate.standing)
