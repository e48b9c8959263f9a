"""The report in a real browser: the axe rules, its own policy, its buttons."""

from pathlib import Path

import pytest
from conftest import Ended, Harness
from pages import Browser, browser

DARK = 'document.documentElement.dataset.theme = "dark";'
OPEN = 'document.querySelectorAll("details").forEach(function (d) { d.open = true; });'
SORT = """
var button = document.querySelector("table.sortable th button");
button.focus(); button.click();
document.body.dataset.sorted = button.closest("th").getAttribute("aria-sort");
document.body.dataset.focused = document.activeElement === button ? "yes" : "no";
document.querySelector(".theme").click();
document.body.dataset.theme = document.documentElement.dataset.theme;
"""


@pytest.fixture
def chromium(tmp_path: Path) -> Browser:
    """A headless browser with the axe rules."""
    return browser(tmp_path)


@pytest.mark.parametrize(
    ("look", "width"),
    [("", 1280), (DARK, 1280), (OPEN, 1280), (DARK + OPEN, 400)],
    ids=["light", "dark", "all open", "dark and narrow"],
)
def test_no_accessibility_rule_is_broken(
    finished: tuple[Harness, Ended], chromium: Browser, look: str, width: int
) -> None:
    page = finished[1].run / "report.html"

    assert chromium.violations(page, look, width) == []


def test_a_report_of_a_run_that_fell_breaks_none_either(
    harness: Harness, chromium: Browser
) -> None:
    gates = harness.evals / "gates.toml"
    gates.write_text(gates.read_text().replace("floor = 0.5", "floor = 1.0"))
    ended = harness.run("relevance")
    assert ended.code == 1

    assert chromium.violations(ended.run / "report.html", OPEN) == []


def test_a_page_that_breaks_the_rules_is_caught(chromium: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html lang='en'><head><title>x</title></head><body><main><h1>x</h1>"
        "<p style='color:#aaa;background:#fff'>pale</p><img src='data:,'><button></button>"
        "<table><tr><th>a</th></tr></table><a href='#x'>y</a></main></body></html>"
    )

    found = chromium.violations(page)

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
