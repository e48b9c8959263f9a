"""Texts that attack whoever reads them: in no page, table, annotation or terminal are they more."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from whole_run import whole_run

from harness import annotations, outputs
from harness.runs import RunFolder, RunRecord

EVIL = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>]]></style>\u202e\x07\x1b[2J\ufffe\n'
    "::error::pwned\n| a | b |\n# pwned\n[x](javascript:alert(1)) `code` {{ 7 * 7 }}"
)
"""Markup, a turn of direction, control characters, commands of a runner, Markdown, a template."""

OURS = {"schema", "status", "profile", "state", "standing", "rule", "word", "metric", "variant"}
TEXTS = ("note", "message", "query", "expected", "actual", "part")


def spoilt(value: object) -> object:
    """Every text of a record with the attack behind it, but those that are words of ours."""
    if isinstance(value, dict):
        return {key: one if key in OURS else spoilt(one) for key, one in value.items()}
    if isinstance(value, list):
        return [spoilt(one) for one in value]
    return value + EVIL if isinstance(value, str) and value else value


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunRecord]:
    folder, run = whole_run(tmp_path_factory.mktemp("attacked") / "run")
    lines = [json.loads(line) for line in (folder.path / "results.jsonl").read_text().splitlines()]
    for line in lines:
        line |= {key: line[key] + EVIL for key in TEXTS if line.get(key)}
        if line["record"] == "case":
            line["name"] += EVIL
    folder.write("results.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    bad = RunRecord.model_validate(spoilt(run.model_dump(by_alias=True)))
    outputs.write(RunFolder(folder.path), bad)
    return folder.path, bad


def test_the_report_shows_hostile_texts_and_runs_none(attacked: tuple[Path, RunRecord]) -> None:
    page = (attacked[0] / "report.html").read_text()

    assert "&lt;img src=x" in page
    assert len(re.findall("<script", page)) == 1
    assert not re.search(r"<img|<[^>]*\sonerror|\u202e|[\x00-\x08\x0b\x0c\x0e-\x1f]", page)
    assert "{{ 7 * 7 }}" in page


def test_the_summary_keeps_hostile_texts_within_their_line(
    attacked: tuple[Path, RunRecord],
) -> None:
    summary = (attacked[0] / "summary.md").read_text()

    assert not re.search(r"<script|<img|\u202e|[\x00-\x08\x0b-\x1f]|\]\(javascript", summary)
    assert not [
        line for line in summary.splitlines() if line.startswith(("::", "# pwned", "| a |"))
    ]


def test_junit_is_well_formed_whatever_it_quotes(attacked: tuple[Path, RunRecord]) -> None:
    text = (attacked[0] / "junit.xml").read_text()

    assert ET.fromstring(text).tag == "testsuites"  # noqa: S314 - our own page
    assert "\u202e" not in text


def test_an_annotation_is_one_command_whatever_it_quotes(attacked: tuple[Path, RunRecord]) -> None:
    lines = list(annotations.lines(attacked[1].gates))

    assert lines
    for line in lines:
        assert len(line.splitlines()) == 1
        assert not re.search(r"[\x00-\x1f\u202e]", line)
