"""The report in a real browser: the axe rules, its own policy, its buttons."""

from pathlib import Path

import pytest
from conftest import Ended, Harness
from pages import Browser, browser
from whole_run import profiled_run, whole_run

from harness import outputs
from harness.runs import RunFolder, RunRecord, SuiteRecord

DARK = 'document.documentElement.dataset.theme = "dark";'
OPEN = 'document.querySelectorAll("details").forEach(function (d) { d.open = true; });'
pytestmark = pytest.mark.xdist_group("report")

WIDE = """
var root = document.documentElement;
document.body.dataset.across = root.scrollWidth - root.clientWidth;
document.body.dataset.width = innerWidth;
"""
SQUEEZED = """
var heads = Array.from(document.querySelectorAll("thead th"));
document.body.dataset.squeezed = heads.filter(function (head) {
  return head.checkVisibility() && head.textContent.length > 5 && head.clientWidth < 40;
}).length;
"""
SORT = """
var button = document.querySelector("table th button");
button.focus(); button.click();
document.body.dataset.sorted = button.closest("th").getAttribute("aria-sort");
document.body.dataset.focused = document.activeElement === button ? "yes" : "no";
document.querySelector(".theme").click();
document.body.dataset.theme = document.documentElement.dataset.theme;
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of runs of one suite, of a profile, of runs that failed or were interrupted."""
    scratch = tmp_path_factory.mktemp("parts")
    made = {
        name: whole_run(scratch / name, [name], fallen=False) for name in ("resilience", "contract")
    }
    made["profile"] = profiled_run(scratch / "profile")
    failed_folder, failed = whole_run(scratch / "failed", [])
    failed.stack, failed.status, failed.gates = None, "failed", []
    failed.suites["the stack"] = SuiteRecord(state="failed", message="postgres did not start")
    made["failed"] = failed_folder, failed
    partial_folder, partial = whole_run(scratch / "partial", ["relevance"])
    partial.status, partial.verdict = "partial", None
    partial.suites["load"] = SuiteRecord(state="interrupted", message="interrupted")
    made["partial"] = partial_folder, partial
    for folder, run in made.values():
        outputs.write(folder, run)
    return {name: folder.path / "report.html" for name, (folder, _) in made.items()}


@pytest.fixture
def chromium(tmp_path: Path) -> Browser:
    """A headless browser with the axe rules."""
    return browser(tmp_path)


@pytest.mark.parametrize(
    ("look", "width"),
    [(OPEN, 1280), (DARK + OPEN, 1280), (DARK + OPEN, 400)],
    ids=["light", "dark", "dark and narrow"],
)
def test_no_accessibility_rule_is_broken_by_all_there_can_be(
    whole: tuple[RunFolder, RunRecord], chromium: Browser, look: str, width: int
) -> None:
    assert chromium.violations(whole[0].path / "report.html", look, width) == []


def test_on_a_small_screen_only_tables_scroll_sideways(
    whole: tuple[RunFolder, RunRecord], chromium: Browser
) -> None:
    loaded = chromium.acted(whole[0].path / "report.html", OPEN + WIDE, 500)

    assert 'data-width="500"' in loaded.document
    assert 'data-across="0"' in loaded.document


def test_on_a_small_screen_no_column_is_squeezed_to_a_letter_a_line(
    whole: tuple[RunFolder, RunRecord], chromium: Browser
) -> None:
    loaded = chromium.acted(whole[0].path / "report.html", OPEN + SQUEEZED, 500)

    assert 'data-squeezed="0"' in loaded.document


def test_a_measured_run_breaks_none_either(
    finished: tuple[Harness, Ended], chromium: Browser
) -> None:
    assert chromium.violations(finished[1].run / "report.html") == []


def test_reports_of_parts_of_a_run_break_none_without_their_script(
    parts: dict[str, Path], chromium: Browser
) -> None:
    found = chromium.violations_of_all(parts, OPEN)

    assert found == {name: [] for name in parts}


def test_a_page_that_breaks_the_rules_is_caught(chromium: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html lang='en'><head><title>x</title></head><body><main><h1>x</h1>"
        "<p style='color:#aaa;background:#fff'>pale</p><img src='data:,'><button></button>"
        "<table><tr><th>a</th></tr></table><a href='#x'>y</a></main></body></html>"
    )

    alone, among = chromium.violations(page), chromium.violations_of_all({"bad": page})["bad"]

    for found in (alone, among):
        assert {"color-contrast", "image-alt", "button-name"} <= {
            one.partition(":")[0] for one in found
        }


def test_its_own_policy_lets_its_script_run_and_nothing_else(
    finished: tuple[Harness, Ended], chromium: Browser, tmp_path: Path
) -> None:
    page = finished[1].run / "report.html"

    loaded = chromium.load(page)
    assert '<th scope="col"><button type="button">' in loaded.document
    assert "Content Security Policy" not in loaded.complaints

    other = tmp_path / "other.html"
    foreign = '<script>document.body.dataset.foreign = "ran"</script></body>'
    other.write_text(page.read_text().replace("</body>", foreign))
    refused = chromium.load(other)
    assert "data-foreign" not in refused.document
    assert "Content Security Policy" in refused.complaints


def test_buttons_sort_and_switch_the_theme_from_the_keyboard(
    finished: tuple[Harness, Ended], chromium: Browser
) -> None:
    loaded = chromium.acted(finished[1].run / "report.html", SORT)

    assert 'data-sorted="ascending"' in loaded.document
    assert 'data-focused="yes"' in loaded.document
    assert 'data-theme="dark"' in loaded.document
