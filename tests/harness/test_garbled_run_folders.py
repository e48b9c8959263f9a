"""A kept run folder that was cut short or changed: said by file, with exit code 2, nothing lost."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Ended, Harness

from harness import cli

Garble = Callable[[Path], object]
KEPT = ("*.json", "*.jsonl", "*.csv")

GARBLINGS: dict[str, Garble] = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 1]),
    "not text": lambda path: path.write_bytes(bytes(range(256)) * 9),
    "words for numbers": lambda path: path.write_text(
        "".join(c if not c.isdigit() else "x" for c in path.read_text())
    ),
}


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """A command of this process: dozens of them in a second."""
    sys.argv = ["cortex-harness", *words]
    with pytest.raises(SystemExit) as end:
        cli.main()
    told = capsys.readouterr()
    assert isinstance(end.value.code, int)
    return end.value.code, told.out + told.err


@pytest.fixture
def argv() -> Iterator[None]:
    before = sys.argv
    yield
    sys.argv = before


@pytest.mark.parametrize("how", GARBLINGS)
def test_a_garbled_file_of_a_kept_run_is_named_and_nothing_is_lost(
    finished: tuple[Harness, Ended], capsys: pytest.CaptureFixture[str], argv: None, how: str
) -> None:
    made, run = finished[0], finished[1].run
    files = [path for kind in KEPT for path in sorted(run.rglob(kind))]
    whole = made.folder / "whole"
    shutil.copytree(run, whole)
    told = 0
    for path in files:
        GARBLINGS[how](path)
        before = (run / "report.html").read_bytes()
        for words in _commands(path, whole, run, made):
            code, output = ended(capsys, *words)
            last = output.rstrip("\n").splitlines()[-1]
            assert "Traceback" not in output, (how, path, words, output)
            assert last.startswith("verdict: "), (how, path, words, output)
            # A file the command does not read, or that still says something, is no mistake.
            assert code in (0, 2, 3) or path.name == "results.jsonl", (how, path, words, output)
            if code == 2:
                told += 1
                assert str(run) in last
                if words[0] != "compare":
                    assert (run / "report.html").read_bytes() == before
        shutil.rmtree(run)
        shutil.copytree(whole, run)
    assert told >= len(files) / 3, how


def _commands(path: Path, whole: Path, run: Path, made: Harness) -> Iterator[list[str]]:
    """What reads it: most of it is read by all, so that one file is enough to try them."""
    yield ["gate", str(run), "--evals", str(made.evals)]
    if path.name in ("scores.csv", "run.json"):
        yield ["report", str(run)]
        out = str(made.folder / "compared")
        yield ["compare", str(whole), str(run), "--evals", str(made.evals), "--out", out]


def test_a_file_cut_short_is_told_with_its_line(
    finished: tuple[Harness, Ended], capsys: pytest.CaptureFixture[str], argv: None
) -> None:
    made, good = finished
    scores = good.run / "relevance" / "scores.csv"
    lines = scores.read_text().splitlines(keepends=True)
    scores.write_text("".join(lines[:9]) + lines[9][:20])
    kept = (good.run / "run.json").read_bytes()

    code, output = ended(capsys, "gate", str(good.run), "--evals", str(made.evals))

    assert code == 2
    assert f"{scores}:10: has " in output.splitlines()[-1]
    assert (good.run / "run.json").read_bytes() == kept


def test_a_garbled_baseline_is_told_before_anything_is_measured(harness: Harness) -> None:
    baseline = harness.evals / "baselines" / "quick.json"
    baseline.parent.mkdir(exist_ok=True)
    baseline.write_text('{"schema": "cortex.baseline/1", "profile"')

    done = harness.run("relevance")

    assert done.code == 2
    assert str(baseline) in done.verdict
    assert not harness.runs.exists()


def test_a_baseline_without_the_scores_it_is_for_is_refused_by_name(accepted: Harness) -> None:
    baseline = accepted.evals / "baselines" / "quick.json"
    kept = json.loads(baseline.read_text())
    del kept["sets"]["garage"]["scores"]["ndcg@10"]
    baseline.write_text(json.dumps(kept))
    run = max(accepted.runs.iterdir())

    done = accepted("gate", str(run), "--evals", str(accepted.evals))

    assert done.code == 2, done.output
    assert f"{baseline}: sets.garage: has no ndcg@10" in done.verdict
