"""The report: the same bytes every time, small, no network, readable without JavaScript."""

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from conftest import Ended, Harness

from harness import report, results
from harness.report.charts import Series, curves, scatter
from harness.results import Case, Failure, Records
from harness.runs import RunFolder

LARGEST_BYTES = 300 * 1024


def page(ended: Ended) -> str:
    return (ended.run / "report.html").read_text()


def test_the_same_data_gives_the_same_bytes(finished: tuple[Harness, Ended]) -> None:
    made, ended = finished
    before = page(ended)

    again = made("report", str(ended.run))

    assert again.code == 0
    assert page(ended) == before


def test_it_is_small_and_asks_the_network_for_nothing(finished: tuple[Harness, Ended]) -> None:
    text = page(finished[1])

    assert len(text.encode()) < LARGEST_BYTES
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", text)
    assert "@import" not in text
    assert "url(" not in text
    assert "default-src 'none'" in text
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'", text)
    assert text.count("<script") == 1


class Outline(HTMLParser):
    """What the page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.tables_without_head = self.unnamed_svgs = 0
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        if tag == "th" and "scope" not in found:
            self.tables_without_head += 1
        if tag == "svg" and not ({"aria-label", "aria-labelledby"} & found.keys()):
            self.unnamed_svgs += 1
        if found.get("id"):
            self.ids.append(str(found["id"]))


def test_every_table_and_chart_says_what_it_is(finished: tuple[Harness, Ended]) -> None:
    outline = Outline()
    outline.feed(page(finished[1]))

    assert outline.tags.count("h1") == 1
    assert outline.tags.count("table") > 8
    assert outline.tags.count("svg") > 4
    assert outline.tables_without_head == outline.unnamed_svgs == 0
    assert len(set(outline.ids)) == len(outline.ids)


def test_the_verdict_comes_first_as_a_word(finished: tuple[Harness, Ended]) -> None:
    text = page(finished[1])

    assert "<title>PASS" in text
    assert text.index("<h1>PASS") < text.index("<table")


def test_failed_cases_and_failures_are_shown_and_escaped(
    finished: tuple[Harness, Ended],
) -> None:
    folder = RunFolder(finished[1].run)
    nasty = "</script><script>alert('x')</script>"
    case = Case(
        suite="contract", name="a case", outcome="failed", expected=nasty, actual="b", note="c"
    )
    lost = Failure(suite="relevance", name="query", message=nasty, set="garage", query="w1")
    known = results.read(folder.path)
    records = Records.of([*known.results, case, lost])

    text = report.render(folder.path, folder.load(), records)

    assert nasty not in text
    assert "&lt;/script&gt;" in text
    assert text.count("<script") == 1
    assert "a case" in text


def test_a_run_without_any_measurement_still_has_a_report(
    finished: tuple[Harness, Ended], change_run: Callable[..., None]
) -> None:
    folder = RunFolder(finished[1].run)
    for path in [*(folder.path / "relevance").iterdir(), *(folder.path / "load").iterdir()]:
        path.unlink()
    change_run(folder.path, gates=[], stack=None, verdict=None, status="partial")

    text = report.render(folder.path, folder.load(), Records((), (), ()))

    assert "the run did not reach a verdict" in text
    assert "This run is partial" in text


def test_a_summary_and_a_junit_file_say_the_same(finished: tuple[Harness, Ended]) -> None:
    run = finished[1].run
    summary, junit = (run / "summary.md").read_text(), (run / "junit.xml").read_text()

    assert summary.startswith("# PASS: all ")
    assert len(summary.encode()) < 2**20
    gates = len(finished[1].json["gates"])
    assert f'<testsuite name="gates" tests="{gates}" failures="0" errors="0"' in junit


@pytest.mark.parametrize("slowest_ms", [0.5, 30.0, 90_000.0])
def test_curves_stay_on_the_paper(slowest_ms: float) -> None:
    curve = [(share / 100, 0.4 + (slowest_ms - 0.4) * (share / 100) ** 4) for share in range(100)]

    made = curves([Series("a", "s0", curve), Series("b", "s1", curve)])

    for line in made.lines:
        assert all(made.left <= x <= made.right and 0 <= y <= made.bottom for x, y in line.points)
    assert abs(made.lines[0].label_y - made.lines[1].label_y) >= 14
    assert made.ys


def test_of_many_samples_the_slowest_stay_visible() -> None:
    samples = [(n / 100, 5.0, True) for n in range(50_000)] + [(250.0, 900.0, True)]

    made = scatter(samples)

    assert len(made.good) < 1_000
    assert min(y for _, y in made.good) < 60
