"""The proof's own parts: a ranking is worsened by what was asked, a page never claims too much."""

import random
import subprocess
from pathlib import Path

import pytest

from harness.comparing.running import scored
from harness.environment import ROOT
from harness.evalsets import beir
from harness.proofs import comparing, revision
from harness.proofs.page import page
from harness.proofs.relevance_loss import NDCG, worsened

FOUND = beir.read(ROOT / "evals" / "relevance" / "memory-notes")


def rankings() -> dict[str, tuple[str, ...]]:
    """What is relevant first, and then some that is not."""
    chance = random.Random(1)
    documents = [document.id for document in FOUND.documents]
    made = {}
    for query, grades in FOUND.judgments.items():
        best = sorted(grades, key=lambda id_: (-grades[id_], id_))[:5]
        rest = [id_ for id_ in chance.sample(documents, 20) if id_ not in best]
        made[query] = (*best, *rest)
    return made


@pytest.mark.parametrize(("loss", "shape"), [(0.02, "few"), (0.02, "many"), (0.001, "many")])
def test_a_ranking_is_worsened_by_the_loss_asked(loss: float, shape: str) -> None:
    was = rankings()

    worse = worsened(FOUND, was, loss, shape, seed=1)

    before, after = (scored(FOUND, one).scores[NDCG] for one in (was, worse))
    lost = (sum(before.values()) - sum(after.values())) / len(before)
    assert lost == pytest.approx(loss, rel=0.05)
    assert all(sorted(was[query]) == sorted(worse[query]) for query in was)


def test_a_page_of_what_was_not_measured_does_not_hold() -> None:
    text, holds = page([], "abc", {"alpha": 0.01}, 20)

    assert not holds
    assert "is not whole yet" in text


def row(part: str, number: int, stage: str = "", blamed: str = "") -> dict:
    return {
        "part": part,
        "number": number,
        "stage": stage,
        "blamed": blamed,
        "open": [],
        "pairs": 60,
        "changes": [],
    }


def loss(number: int, size: float, *fell: str) -> dict:
    return {
        "part": "relevance",
        "number": number,
        "loss": size,
        "shape": "few",
        "lost": size,
        "fell": list(fell),
    }


def test_a_page_holds_when_every_promise_does_and_not_when_one_does_not() -> None:
    same = [row("same", n) for n in range(20)]
    slower = [row("slower", n, "embed", "embed" if n > 1 else "") for n in range(20)]
    losses = [loss(n, 0.02, "ndcg") for n in range(1, 21)]
    losses = [loss(0, 0.0), *losses, *(loss(n, 0.001) for n in range(21, 41))]

    assert page([*same, *slower, *losses], "abc", {}, 20)[1]
    assert not page([*same[1:], row("same", 0, blamed="text"), *slower, *losses], "abc", {}, 20)[1]
    wrong = [*slower[:-1], row("slower", 19, "embed", "vector")]
    assert not page([*same, *wrong, *losses], "abc", {}, 20)[1]
    assert not page([*same, *slower, *losses[:-1], loss(40, 0.001, "ndcg")], "abc", {}, 20)[1]
    assert not page([*same, *slower, *losses[:1], *losses[2:], loss(1, 0.02)], "abc", {}, 20)[1]

    assert not page([*same, *slower, *losses[1:]], "abc", {}, 20)[1], "the rankings as they are"
    assert not page([*same, *slower, *losses[:-1]], "abc", {}, 20)[1], "too few small losses"
    undecided = [{**one, "open": ["embed"]} for one in same]
    assert page([*undecided[:5], *same[5:], *slower, *losses], "abc", {}, 20)[1]
    assert not page([*undecided[:6], *same[6:], *slower, *losses], "abc", {}, 20)[1]


def test_a_proof_of_one_still_asks_for_one_found() -> None:
    losses = [loss(0, 0.0), loss(1, 0.02, "ndcg"), loss(2, 0.001)]

    assert not page([row("same", 0), row("slower", 0, "embed"), *losses], "abc", {}, 1)[1]
    assert page([row("same", 0), row("slower", 0, "embed", "embed"), *losses], "abc", {}, 1)[1]


def test_a_row_that_was_torn_is_measured_again_and_the_others_are_kept(tmp_path: Path) -> None:
    kept = tmp_path / "comparing.jsonl"
    comparing._keep(kept, "abc", {"number": 0})
    with kept.open("a") as lines:
        lines.write('{"number": 1, "revi')

    assert [one["number"] for one in comparing._rows(kept, "abc")] == [0]
    comparing._keep(kept, "abc", {"number": 2})
    assert [one["number"] for one in comparing._rows(kept, "abc")] == [0, 2]


def test_what_is_not_committed_is_marked_in_the_revision(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True)

    git("init", "--quiet")
    (tmp_path / "stack").mkdir()
    (tmp_path / "stack" / "a").write_text("1")
    git("add", "-A")
    git("commit", "--quiet", "-m", "a")

    clean = revision(tmp_path)
    (tmp_path / "README").write_text("no part of what is proved")
    assert revision(tmp_path) == clean
    (tmp_path / "stack" / "a").write_text("2")
    assert revision(tmp_path) == f"{clean}-dirty"


def test_the_file_that_slows_a_stage_is_text_to_the_harness() -> None:
    slowed = ROOT / "harness" / "proofs" / "slowed"

    assert [path.name for path in Path(slowed).glob("*.py")] == ["sitecustomize.py"]
    assert not (slowed / "__init__.py").exists()
