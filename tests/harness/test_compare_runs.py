"""`compare RUN RUN`: what is comparable is judged, what is not is named, speed is only shown."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, Harness

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
    """A good run, and a copy of it to change."""
    made, ended = finished
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
