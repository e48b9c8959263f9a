"""The report of runs as large as they come, of parts of runs, and of hostile texts."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from whole_run import SUITES, profiled_run, whole_run

from harness import outputs, report, results
from harness.report import short_view
from harness.report.moved_view import MovedView
from harness.results import Case, Records
from harness.runs import RunFolder, RunRecord

LARGEST_BYTES = 300_000
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "x" * 5000,
    "‮مرحبا בעולם‬ 👩‍👩‍👧 \x00\x07\x1b[31m \ufffe",
    "{{ 7 * 7 }} {% raw %} ${7*7} | `code` <b>",
)

Made = tuple[RunFolder, RunRecord]

pytestmark = pytest.mark.xdist_group("report")


def page_of(made: Made) -> str:
    folder, run = made
    return report.render(folder.path, run, results.read(folder.path))


class Page(HTMLParser):
    """What a page is made of, and what of it is wrong."""

    VOID = frozenset({"meta", "br", "rect", "path", "circle", "line", "text"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.wrong: list[str] = []
        self._open: list[str] = []
        self._captions: list[bool] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if re.fullmatch(r"h\d", tag):
            self.headings.append(tag)
        if "id" in found:
            self.ids.append(str(found["id"]))
        if tag == "a":
            self.targets.append(str(found["href"]).removeprefix("#"))
        if tag == "th" and "scope" not in found:
            self.wrong.append("a head cell without scope")
        if tag == "svg" and not {"aria-label", "aria-labelledby"} & found.keys():
            self.wrong.append("a chart without a name")
        if tag == "table":
            self._captions.append(False)
        if tag == "caption":
            self._captions[-1] = True
        if "style" in found or ("hidden" in found and found.get("class") != "theme"):
            self.wrong.append(f"{tag} that a reader without script or style may not see")
        if tag == "img" or any(name.startswith("on") for name in found):
            self.wrong.append(f"{tag} with {sorted(found)}")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and not self._captions.pop():
            self.wrong.append("a table without a caption")


def test_all_there_can_be_fits_into_300_kb(whole: Made) -> None:
    text = page_of(whole)

    for part in ("moved", "relevance", "load", "contract", "resilience", "processes", "provenance"):
        assert f'id="{part}"' in text
    assert text.count("<h3>") >= 30
    assert len(text.encode()) <= LARGEST_BYTES


def test_another_process_with_another_hash_seed_gives_the_same_bytes(whole: Made) -> None:
    folder, _ = whole
    first = page_of(whole)
    script = (
        "import sys; from pathlib import Path; from harness import report, results; "
        "from harness.runs import RunFolder; folder = RunFolder(Path(sys.argv[1])); "
        "sys.stdout.buffer.write(report.render(folder.path, folder.load(), "
        "results.read(folder.path)).encode())"
    )

    again = page_of(whole)
    others = [
        subprocess.run(
            [sys.executable, "-c", script, str(folder.path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("4242",)
    ]

    assert again == first
    assert others == [first.encode()]


def test_it_reads_in_the_order_of_its_readers(whole: Made) -> None:
    text = page_of(whole)

    places = [text.index(f'id="{part}"') for part in ("main", "short", "moved", "gates")]
    places += [text.index(f'id="{part}"') for part in ("relevance", "load", "contract")]
    places += [text.index(f'id="{part}"') for part in ("resilience", "processes", "provenance")]
    assert places == sorted(places)
    short = text[text.index('id="short"') : text.index('id="moved"')]
    for words in (
        "fell</strong>",
        "To do:",
        "Search quality",
        "Room to grow",
        "were lost or wrong",
    ):
        assert words in short
    assert re.search(r"is below 0\.95, by 0\.\d+, 95 % interval 0\.\d+ to 0\.\d+", short)


@pytest.mark.parametrize("suites", [SUITES, *((one,) for one in SUITES), ()], ids=str)
def test_a_run_of_some_suites_is_whole_by_itself(suites: tuple[str, ...], tmp_path: Path) -> None:
    made = whole_run(tmp_path / "run", suites, fallen=False, only=["open", "ramp"])

    page = Page(page_of(made))

    assert page.wrong == []
    assert len(set(page.ids)) == len(page.ids)
    assert set(page.targets) <= set(page.ids)
    assert page.headings.count("h1") == 1
    levels = [int(heading[1]) for heading in page.headings]
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_a_pass_of_some_suites_does_not_let_the_release_go(tmp_path: Path) -> None:
    text = page_of(whole_run(tmp_path / "run", ["contract"], fallen=False))

    assert "<h1>PASS" in text
    assert "What was looked at holds" in text
    assert "Release may go" not in text
    assert "says nothing about relevance, load, resilience" in text


def test_a_profile_of_searches_has_no_gates_and_says_so(tmp_path: Path) -> None:
    text = page_of(profiled_run(tmp_path / "run"))

    assert "Measured, held against nothing" in text
    assert 'id="gates"' not in text
    assert "may it go out" not in text
    assert "Not looked at" not in text
    assert set(Page(text).targets) <= set(Page(text).ids)
    assert Page(text).wrong == []


def test_a_fault_that_was_never_recovered_from_is_reported(tmp_path: Path) -> None:
    folder, run = whole_run(tmp_path / "run", ["resilience"])

    text = page_of((folder, run))

    assert run.verdict is not None
    assert run.verdict.word == "FAIL"
    assert "after one fault it never was whole again" in text
    assert "postgres 4711" in text


def hostile(record: object, texts: Iterator[str]) -> object:
    """A record of JSON with every free text replaced; numbers, names of metrics and ids stay."""
    free = {"note", "message", "expected", "actual", "why", "text", "about", "processor"}
    if isinstance(record, dict):
        return {
            key: next(texts) if key in free and isinstance(value, str) else hostile(value, texts)
            for key, value in record.items()
        }
    if isinstance(record, list):
        return [hostile(one, texts) for one in record]
    return record


def endless() -> Iterator[str]:
    while True:
        yield from HOSTILE


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    folder, run = whole_run(tmp_path / "run", only=["open", "mixed"])
    texts = endless()
    for name in ("run.json", "resilience/faults.json", "load/histograms.json", "load/plans.json"):
        path = folder.path / name
        path.write_text(json.dumps(hostile(json.loads(path.read_text()), texts)))
    for name in ("relevance/queries.csv", "relevance/documents.csv", "load/statements.csv"):
        path = folder.path / name
        path.write_text(re.sub(r"where|garage", HOSTILE[0], path.read_text()))
    lines = (folder.path / "results.jsonl").read_text().splitlines()
    changed = [json.dumps(hostile(json.loads(line), texts)) for line in lines]
    (folder.path / "results.jsonl").write_text("\n".join(changed) + "\n")
    run = folder.load()

    outputs.write(folder, run)
    text = (folder.path / "report.html").read_text(encoding="utf-8")

    page = Page(text)
    assert page.wrong == []
    assert set(page.targets) <= set(page.ids)
    assert text.count("<script") == text.count("</script") == 1
    assert "<img" not in text
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)
    assert "x" * 1000 not in text
    ET.parse(folder.path / "junit.xml")  # noqa: S314 - our own file
    summary = (folder.path / "summary.md").read_text(encoding="utf-8")
    assert "<img" not in summary
    assert "\x00" not in summary


def test_the_summary_says_what_fell_what_is_open_and_the_figures(whole: Made) -> None:
    summary = (whole[0].path / "summary.md").read_text()

    assert summary.startswith("# FAIL: ")
    assert len(summary.encode()) < 60_000
    for words in (
        *("## In short", "**What is relevant is found, over all sets** fell", "To do:"),
        *("| ramp | ", "calls a second are served whole", "| hang memory |", "never"),
        *("## Queries that lost most", "medquad-liveqa / q"),
        "| tutorial (another server: postgres-recipe) | ",
        "\n- **Search quality**: ",
    ):
        assert words in summary
    assert "another server: postgres-recipe" in (whole[0].path / "report.html").read_text()


def test_questions_the_last_accepted_run_lacks_are_not_told_as_unmoved(whole: Made) -> None:
    folder, run = whole
    asked = next(
        one for one in results.read(folder.path).results if one.name == "relevance.ndcg@10"
    )
    records = Records((replace(asked, set="all", variant="hybrid", n=351),), (), ())
    still = MovedView("the baseline", True, 348, (), (), (0, 0), 0.0)

    (quality,) = [
        one for one in short_view.lines(run, records, still) if one.title == "Search quality"
    ]
    assert "Every question of the last accepted run scores as it did; 3 more" in quality.text
    (whole_set,) = [
        one
        for one in short_view.lines(run, records, replace(still, compared=351))
        if one.title == "Search quality"
    ]
    assert "Every question scores as in the last accepted run" in whole_set.text


def test_the_junit_file_is_what_readers_of_junit_expect(whole: Made) -> None:
    root = ET.parse(whole[0].path / "junit.xml").getroot()  # noqa: S314 - our own file

    suites = {suite.get("name"): suite for suite in root}
    assert root.tag == "testsuites"
    assert list(suites) == ["gates", *SUITES]
    for suite in root:
        assert suite.tag == "testsuite"
        cases = list(suite)
        assert {case.tag for case in cases} <= {"testcase"}
        assert suite.get("tests") == str(len(cases))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(count) == str(len(suite.findall(f"testcase/{tag}")))
        for case in cases:
            assert case.get("name")
            assert case.get("classname")
            assert len(case) <= 1
            assert all(child.get("message") for child in case)
        names = [case.get("name") for case in cases]
        assert len(set(names)) == len(names)
    assert len(suites["resilience"]) == 22
    assert suites["resilience"].get("failures") == "1"
    for total in ("tests", "failures", "errors"):
        assert root.get(total) == str(sum(int(str(suite.get(total))) for suite in root))


def test_a_case_without_a_word_of_why_still_has_a_message(whole: Made) -> None:
    _, run = whole
    case = Case(suite="contract", name="bare", outcome="error", expected="a", actual="b")

    root = ET.fromstring(outputs.junit(run, Records((), (case,), ())).encode())  # noqa: S314 - ours

    assert root.find(".//error[@message='bare']") is not None
