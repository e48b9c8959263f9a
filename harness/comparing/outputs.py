"""What a comparison is read by: `summary.md` for CI, `report.html` for people."""

from harness.comparisons import ChangeRecord, CompareRecord
from harness.outputs import LISTED, MARKS, SUMMARY_BYTES
from harness.report import compare_view
from harness.report.gate_view import WORST_FIRST
from harness.report.markdown import cell, code
from harness.runs import RunFolder

MOVED = 20


def write(folder: RunFolder, record: CompareRecord) -> None:
    """Write both."""
    folder.write("summary.md", summary(record))
    folder.write("report.html", compare_view.render(record))


def summary(record: CompareRecord) -> str:
    """The verdict, the changes, the gates, the queries that moved most, as Markdown."""
    verdict = record.concluded()
    lines = [
        f"# {verdict.outcome.name}: {cell(verdict.why)}",
        "",
        f"Comparison {code(record.id)}: {code(record.candidate.name)} "
        f"({code(record.candidate.revision)}) "
        f"against {code(record.base.name)} ({code(record.base.revision)}), status {record.status}.",
        "",
        *[f"- {cell(note)}" for note in record.notes],
    ]
    if record.key:
        lines += [
            "",
            "| what must be the same | for | base | candidate | |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {one.part} | {one.about} | {cell(one.base)} | {cell(one.candidate)} | "
            f"{'same' if one.same else f'**{one.word}**'} |"
            for one in record.key
        ]
    if record.changes:
        lines += ["", "| time | stands | base ms | candidate ms | ratio | interval | p |"]
        lines += ["|---|---|---|---|---|---|---|"]
        lines += [_change_row(one) for one in record.changes]
    if record.gates:
        lines += ["", "| gate | stands | why |", "|---|---|---|"]
        worst = sorted(record.gates, key=lambda gate: WORST_FIRST.index(gate.standing))
        lines += [
            f"| {cell(one.title)} {code(one.id)} | {MARKS[one.standing]} | {cell(one.why)} |"
            for one in worst[:LISTED]
        ]
    for title, moved in (("lost", record.losses), ("won", record.wins)):
        if moved:
            lines += ["", f"| {title} | was | now |", "|---|---|---|"]
            lines += [
                f"| {code(one.query)} {cell(one.text)} | {one.was:.3f} | {one.now:.3f} |"
                for one in moved[:MOVED]
            ]
    text = "\n".join(lines) + "\n"
    return text.encode()[:SUMMARY_BYTES].decode(errors="ignore")


def _change_row(one: ChangeRecord) -> str:
    interval = "" if one.ratio_low is None else f"{one.ratio_low:.3f} to {one.ratio_high:.3f}"
    p = "" if one.p_corrected is None else f"{one.p_corrected:.2g}"
    base, candidate, ratio = map(_number, (one.base_ms, one.candidate_ms, one.ratio))
    return (
        f"| {one.series} | {MARKS[one.standing]} | {base} | {candidate} | {ratio} | "
        f"{interval} | {p} |"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
