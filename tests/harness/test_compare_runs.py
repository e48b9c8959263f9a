"""`compare RUN RUN`: what is comparable is judged, what is not is named, speed is only shown."""

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from conftest import Ended, Harness
from pages import browser

from harness import gates_file
from harness.comparing.relevance import about_what_was
from harness.comparisons import ChangeRecord, CompareRecord, KeyPart, SideRecord
from harness.measures.pairs import Limits
from harness.measures.plans import File, Plans, gathered
from harness.report import compare_view
from harness.verdicts import Outcome, Verdict

Finished = tuple[Harness, Ended]
Change = Callable[..., None]


def compare(made: Harness, base: Path, candidate: Path) -> tuple[Ended, dict]:
    """The command's end, and the JSON it left, if any; code, line and JSON agree."""
    out = made.folder / "comparisons"
    ended = made(
        "compare", str(base), str(candidate), "--evals", str(made.evals), "--out", str(out)
    )
    if not out.exists():
        return ended, {}
    (folder,) = out.iterdir()
    kept = json.loads((folder / "compare.json").read_text())
    assert (kept["verdict"]["exit_code"], kept["verdict"]["line"]) == (ended.code, ended.verdict)
    return ended, kept


@pytest.fixture
def pair(finished: Finished) -> tuple[Harness, Path, Path]:
    """A good run of a stack whose database is known, and a copy of it to change."""
    made, ended = finished
    set_in(ended.run, ("stack", "versions"), {"postgres": "17", "pgvector": "0.8"})
    set_in(ended.run, ("stack", "settings"), {"shared_buffers": "128MB"})
    other = made.folder / "other" / ended.run.name
    shutil.copytree(ended.run, other)
    return made, ended.run, other


def worsen(run: Path, by: float) -> None:
    """Take something of every score."""
    path = run / "relevance" / "scores.csv"
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        row["ndcg@10"] = f"{max(0.0, float(row['ndcg@10']) - by):.6f}"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def test_a_run_beside_itself_lost_nothing_and_its_speed_is_shown_not_judged(
    pair: tuple[Harness, Path, Path],
) -> None:
    made, base, candidate = pair

    ended, kept = compare(made, base, candidate)

    assert ended.code == 0, ended.output
    assert "as relevant: nDCG@10 +0.0000" in ended.verdict
    assert {one["kind"] for one in kept["changes"]} == {"shown"}
    assert {one["standing"] for one in kept["changes"]} == {"not-applicable"}
    assert "closed: p50" in {one["series"] for one in kept["changes"]}
    assert any("shown, not judged" in note for note in kept["notes"])
    assert all(part["same"] for part in kept["key"])


def test_a_run_that_lost_relevance_fails_and_names_the_queries_with_texts(
    pair: tuple[Harness, Path, Path],
) -> None:
    made, base, candidate = pair
    worsen(candidate, 0.2)

    ended, kept = compare(made, base, candidate)

    assert ended.code == 1, ended.output
    assert "less relevant: " in ended.verdict
    assert kept["losses"][0]["text"]
    assert kept["losses"][0]["was"] - kept["losses"][0]["now"] == pytest.approx(0.2)
    won, _ = compare_again(made, candidate, base)
    assert won.code == 0


def compare_again(made: Harness, base: Path, candidate: Path) -> tuple[Ended, dict]:
    shutil.rmtree(made.folder / "comparisons")
    return compare(made, base, candidate)


@pytest.mark.parametrize(
    ("path", "value", "part"),
    [
        (("data", "kitchen", "fingerprint"), "other", "data of kitchen"),
        (("stack", "model"), "another-model@2", "model"),
        (("stack", "indexes"), {"i": "CREATE INDEX i ON v USING hnsw (m='8')"}, "index parameters"),
        (("profile",), "full", "profile"),
        (("status",), "partial", "status"),
        (("packages", "ir-measures"), "0.1", "metrics library"),
    ],
)
def test_runs_of_other_things_are_not_comparable_and_the_part_is_named(
    pair: tuple[Harness, Path, Path], path: tuple[str, ...], value: object, part: str
) -> None:
    made, base, candidate = pair
    set_in(candidate, path, value)

    ended, kept = compare(made, base, candidate)

    assert ended.code == 3, ended.output
    assert f"not comparable: {part} differ" in ended.verdict
    assert kept["gates"] == []


def set_in(run: Path, path: tuple[str, ...], value: object) -> None:
    kept = json.loads((run / "run.json").read_text())
    inner = kept
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (run / "run.json").write_text(json.dumps(kept))


@pytest.mark.parametrize(
    ("path", "value", "part"),
    [
        (("machine", "processor"), "another processor", "machine"),
        (("load_profiles", "closed"), "other", "load profiles"),
    ],
)
def test_relevance_is_comparable_where_speed_is_not(
    pair: tuple[Harness, Path, Path], path: tuple[str, ...], value: object, part: str
) -> None:
    made, base, candidate = pair
    set_in(candidate, path, value)

    ended, kept = compare(made, base, candidate)

    assert ended.code == 0, ended.output
    assert kept["changes"] == []
    assert kept["notes"] == [f"speed is not shown: {part} differ"]
    assert kept["gates"]


def test_two_runs_without_relevance_decide_nothing(pair: tuple[Harness, Path, Path]) -> None:
    made, base, candidate = pair
    for run in (base, candidate):
        shutil.rmtree(run / "relevance")

    ended, kept = compare(made, base, candidate)

    assert ended.code == 3
    assert "no relevance in both runs" in ended.verdict
    assert kept["changes"]


def test_folders_that_are_no_runs_are_named(
    pair: tuple[Harness, Path, Path], change_run: Change, tmp_path: Path
) -> None:
    made, base, candidate = pair
    change_run(candidate, schema="cortex.run/2")

    newer, _ = compare(made, base, candidate)
    none, _ = compare(made, base, tmp_path / "nowhere")
    alone = made("compare", str(base))

    assert newer.code == none.code == alone.code == 2
    assert "schema is 'cortex.run/2'; this harness reads cortex.run/1" in newer.verdict
    assert "is not a run folder; it has no run.json" in none.verdict
    assert "give two run folders, or --base REF" in alone.verdict


def test_a_comparison_is_not_taken_for_a_run(pair: tuple[Harness, Path, Path]) -> None:
    made, base, candidate = pair
    compare(made, base, candidate)
    (folder,) = (made.folder / "comparisons").iterdir()

    ended = made("compare", str(base), str(folder), "--evals", str(made.evals))

    assert ended.code == 2
    assert "is a comparison, not a run folder" in ended.verdict


def test_what_neither_run_recorded_is_not_the_same_speed(pair: tuple[Harness, Path, Path]) -> None:
    made, base, candidate = pair
    for run in (base, candidate):
        set_in(run, ("stack", "settings"), {})

    ended, kept = compare(made, base, candidate)

    assert ended.code == 0, ended.output
    assert kept["changes"] == []
    assert kept["notes"] == ["speed is not shown: Postgres settings not recorded"]


def test_a_set_that_only_the_base_scored_is_no_pass(pair: tuple[Harness, Path, Path]) -> None:
    made, base, candidate = pair
    path = candidate / "relevance" / "scores.csv"
    head, *rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join([head, *(row for row in rows if "garage" not in row)]))

    ended, kept = compare(made, base, candidate)

    assert ended.code == 3, ended.output
    assert "not comparable: sets with scores differ" in ended.verdict
    assert kept["gates"] == []


def test_a_set_that_one_run_did_not_load_is_no_pass(pair: tuple[Harness, Path, Path]) -> None:
    made, base, candidate = pair
    data = json.loads((candidate / "run.json").read_text())["data"]
    set_in(candidate, ("data",), {name: one for name, one in data.items() if name != "garage"})

    ended, _ = compare(made, base, candidate)
    other, _ = compare_again(made, candidate, base)

    assert ended.code == other.code == 3
    assert "not comparable: eval sets" in ended.verdict


def test_a_statement_planned_otherwise_is_named(pair: tuple[Harness, Path, Path]) -> None:
    made, base, candidate = pair
    for run, node in ((base, "Index Scan"), (candidate, "Seq Scan")):
        (run / "load").mkdir(exist_ok=True)
        tree = {"Node Type": node, "Relation Name": "vectors"}
        statements = gathered([(1, "SELECT 1", 2.0, tree)], {})
        plans = File(profiles={"closed": Plans(calls=1, statements=statements)})
        (run / "load" / "plans.json").write_text(plans.model_dump_json(by_alias=True))

    ended, kept = compare(made, base, candidate)

    told = "plan flip, closed: SELECT 1: Index Scan on vectors → Seq Scan on vectors"
    assert ended.code == 0
    assert told in kept["notes"]
    (folder,) = (made.folder / "comparisons").iterdir()
    assert told in (folder / "summary.md").read_text()
    assert told in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    "more",
    [
        ["--pairs", "20"],
        ["--candidate", "main"],
        ["--repository", "/"],
        ["--eval-set", "kitchen"],
        ["--eval-sets", "/"],
        ["--seed", "3"],
        ["--cortex", "x"],
        ["--environments", "/"],
    ],
)
def test_options_of_builds_are_refused_with_two_runs(
    pair: tuple[Harness, Path, Path], more: list[str]
) -> None:
    made, base, candidate = pair

    ended = made("compare", str(base), str(candidate), *more)

    assert ended.code == 2, ended.output
    assert f"{more[0]}: only with --base" in ended.verdict


def test_waivers_count_between_two_runs(pair: tuple[Harness, Path, Path]) -> None:
    made, base, candidate = pair
    worsen(candidate, 0.2)
    regressions = about_what_was(gates_file.read(made.evals / "gates.toml").gates)
    (made.evals / "waivers.toml").write_text(
        "".join(
            f'[[waiver]]\ngate = "{one.id}"\nreason = "r"\nuntil = 2999-01-01\nby = "ann"\n'
            for one in regressions
        )
    )

    ended, kept = compare(made, base, candidate)

    assert ended.code == 0, ended.output
    assert "waived" in {gate["standing"] for gate in kept["gates"]}
    assert "waived" in ended.verdict


@pytest.mark.parametrize("look", ["", 'document.documentElement.dataset.theme = "dark";'])
def test_the_page_of_a_comparison_breaks_no_accessibility_rule(
    pair: tuple[Harness, Path, Path], tmp_path: Path, look: str
) -> None:
    made, base, candidate = pair
    worsen(candidate, 0.2)
    compare(made, base, candidate)
    (folder,) = (made.folder / "comparisons").iterdir()

    assert browser(tmp_path).violations(folder / "report.html", look) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_of_two_builds_breaks_none_either(tmp_path: Path, width: int) -> None:
    def told(series: str, kind: str, standing: str, ratio: float | None) -> ChangeRecord:
        return ChangeRecord(
            series=series,
            kind=kind,
            n=60,
            base_ms=3.0,
            candidate_ms=None if ratio is None else 3.0 * ratio,
            ratio=ratio,
            ratio_low=ratio and ratio - 0.03,
            ratio_high=ratio and ratio + 0.03,
            difference_ms=ratio and 3 * ratio - 3,
            standing=standing,
            why="stage gone: the base tells it, the candidate does not",
        )

    side = SideRecord(name="main", revision="abc", dirty=False)
    record = CompareRecord(
        id="c",
        kind="builds",
        status="complete",
        started_at="2027-01-01T00:00:00Z",
        base=side,
        candidate=side,
        limits=asdict(Limits()),
        changes=[
            told("base against itself", "control", "held", 1.0),
            told("response", "whole", "held", 1.01),
            told("embed", "stage", "fell", 1.3),
            told("text", "stage", "not-comparable", None),
        ],
        blamed="embed",
        key=[KeyPart(part="model", about="noted", base="a", candidate="b", same=False)],
        notes=["the builds differ in: model"],
    )
    record.conclude(Verdict(outcome=Outcome.FAIL, why="slower: embed"))
    page = tmp_path / "report.html"
    page.write_text(compare_view.render(record), encoding="utf-8")

    assert browser(tmp_path).violations(page, width=width) == []
