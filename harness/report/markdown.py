"""Parts of `summary.md`: the page's first sentences, the queries that lost, tables of figures."""

from collections.abc import Iterator, Sequence

from harness.plain_text import UNSHOWN
from harness.report import short_view
from harness.report.moved_view import MovedView
from harness.results import Case, Records
from harness.runs import RunRecord

SHOWN_FAULTS = 60
LONGEST_CELL = 500
MACRO = "all"


def cell(text: str) -> str:
    """A text in one line that stays text in a cell of a Markdown table."""
    line = " ".join(text.split())[:LONGEST_CELL].translate(UNSHOWN)
    return line.replace("|", "\\|").replace("<", "&lt;").replace("](", "]\\(")


def code(text: str) -> str:
    """A text in one line that stays text, and in a cell, as code."""
    return f"`{cell(text).replace('`', chr(39))}`"


def in_short(run: RunRecord, records: Records, moved: MovedView | None) -> list[str]:
    """What the page begins with."""
    found = short_view.lines(run, records, moved)
    if not found:
        return []
    return ["## In short", "", *map(_line, found), ""]


def _line(line: short_view.Line) -> str:
    word = f" {line.word}" if line.word else ""
    todo = f" *To do:* {line.advice}" if line.advice else ""
    sign = "" if line.tone == "fact" else f"{line.sign} "  # the list has its own bullets
    return f"- {sign}**{cell(line.title)}**{word}: {cell(line.text)}{todo}"


def lost(moved: MovedView | None) -> list[str]:
    """The queries that lost most against the baseline, with their texts."""
    if moved is None or not moved.is_baseline or not moved.losses:
        return []
    rows = [
        f"| {cell(one.set)} / {cell(one.query)} | {cell(one.text)} | "
        f"{cell(one.first[0][0]) if one.first else 'no hit'} | {one.was:.3f} | {one.now:.3f} |"
        for one in moved.losses
    ]
    head = ["| query | text | first hit now | was | now |", "|---|---|---|---:|---:|"]
    title = f"## Queries that lost most ({moved.counts[0]} lost, {moved.counts[1]} won)"
    return [title, "", *head, *rows, ""]


def figures(records: Records) -> list[str]:
    """Search quality by strategy, load by profile, faults: a table of each that was measured."""
    return [*_quality(records), *_load(records), *_faults(records)]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    marks = "|".join(["---", *["---:"] * (len(head) - 1)])
    lines = [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    return [f"## {title}", "", f"| {' | '.join(head)} |", f"|{marks}|", *lines, ""]


def _quality(records: Records) -> list[str]:
    rows = []
    for one in records.results:
        if one.name == "relevance.ndcg@10" and one.set == MACRO:
            interval = "" if one.low is None else f"{one.low:.3f} to {one.high:.3f}"
            recall = _value(records, "relevance.recall@100", one.variant, ".3f", MACRO)
            rows.append([one.variant, f"{one.value:.3f}", interval, recall, str(one.n or "")])
    head = ["strategy, over all sets", "nDCG@10", "95 % interval", "recall@100", "n"]
    return _table("Search quality", head, rows)


def _load(records: Records) -> list[str]:
    rows = []
    for one in records.results:
        if one.name != "load.invalid":
            continue
        name = one.variant
        rate = records.find("load.throughput", "", name)
        server = f" ({rate.note})" if rate and rate.note else ""
        columns = [
            _value(records, f"load.{metric}", name, form)
            for metric, form in (
                *(("throughput", ".1f"), ("response.p50", ".1f"), ("response.p95", ".1f")),
                *(("response.p99", ".1f"), ("errors", ".0f"), ("dropped", ".0f"), ("knee", ".1f")),
            )
        ]
        rows.append([name + server, *columns, "no" if one.value else "yes"])
    head = ["load profile", "calls a second", "p50 ms", "p95 ms", "p99 ms", "failed", "dropped"]
    return _table("Load: response times", [*head, "knee, 1/s", "counts"], rows)


def _value(records: Records, name: str, variant: str, form: str, set_: str = "") -> str:
    found = records.find(name, set_, variant)
    return "" if found is None else format(found.value, form)


def _faults(records: Records) -> list[str]:
    cases = [case for case in records.cases if case.suite == "resilience"]
    rows = [_fault(case, records) for case in sorted(cases, key=_worst_first)[:SHOWN_FAULTS]]
    head = ["fault", "writes", "lost", "unreported", "whole after s", "strays", "stands"]
    return _table("Faults and recovery", head, rows)


def _worst_first(case: Case) -> int:
    return ("failed", "error", "skipped", "passed").index(case.outcome)


def _fault(case: Case, records: Records) -> list[str]:
    fault = case.name.removesuffix(case.service).rstrip()

    def of(name: str, form: str = ".0f") -> str:
        found = records.find(f"resilience.{name}", "", fault, case.service)
        return "" if found is None else format(found.value, form)

    inflicted = case.outcome in ("passed", "failed")
    whole = of("recovery", ".1f") or ("never" if inflicted else "")
    counts = [of("writes"), of("lost-writes"), of("unreported")]
    return [case.name, *counts, whole, of("strays"), case.outcome]


def failed_cases(records: Records, listed: int) -> Iterator[str]:
    """The cases that failed, in a line each; of more, how many."""
    failed = [case for case in records.cases if case.outcome in ("failed", "error")]
    if not failed:
        return
    yield from ("## Cases that failed", "")
    for case in failed[:listed]:
        yield f"- {cell(case.name)}: {cell(case.note)}"
    if len(failed) > listed:
        yield f"- and {len(failed) - listed} more, in results.jsonl"
    yield ""
