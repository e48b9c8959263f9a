"""What may become the baseline, and what a run is worth against it."""

import json
from collections.abc import Callable

import pytest
from conftest import Ended, Harness

Change = Callable[..., None]


def accept(made: Harness, ended: Ended, reason: str = "because") -> Ended:
    words = ["baseline", "accept", str(ended.run), "--evals", str(made.evals), "--reason", reason]
    return made(*words)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"dirty": True}, "uncommitted changes"),
        ({"dirty": False, "status": "partial"}, "is partial; only a complete run"),
        ({"dirty": False, "adapter": "theirs.py:Words"}, "is of the adapter theirs.py:Words"),
        ({"dirty": False, "status": "failed"}, "is failed; only a complete run"),
    ],
)
def test_a_dirty_partial_or_failed_run_or_another_server_is_refused(
    finished: tuple[Harness, Ended], change_run: Change, keys: dict, says: str
) -> None:
    made, ended = finished
    change_run(ended.run, **keys)

    refused = accept(made, ended)

    assert refused.code == 2
    assert says in refused.verdict
    assert not (made.evals / "baselines").exists()


def test_a_run_with_a_fallen_floor_is_refused(
    finished: tuple[Harness, Ended], change_run: Change
) -> None:
    made, ended = finished
    gates = ended.json["gates"]
    gates[0]["standing"] = "fell"
    change_run(ended.run, dirty=False, gates=gates)

    refused = accept(made, ended)

    assert refused.code == 2
    assert "does not hold by itself" in refused.verdict


def test_a_reason_is_needed(finished: tuple[Harness, Ended]) -> None:
    assert accept(*finished, reason=" ").code == 2


def test_an_accepted_run_holds_against_itself(accepted: Harness) -> None:
    kept = json.loads((accepted.evals / "baselines" / "quick.json").read_text())
    run = Ended(0, "", accepted.runs).run

    again = accepted("gate", str(run), "--evals", str(accepted.evals))

    assert kept["reason"] == "first"
    assert kept["model"] == "fake-trigrams@1"
    assert len(kept["sets"]["kitchen"]["scores"]["ndcg@10"]) == 20
    assert again.code == 0
    assert "ndcg/all/max-drop: +0.0000 [+0.0000, +0.0000]" in again.output


def test_a_build_without_its_vector_arm_fails_and_names_sets_and_queries(accepted: Harness) -> None:
    ended = accepted.run("relevance", CORTEX_FAKE_FAULT="vector-off")

    assert ended.code == 1, ended.output
    fallen = {gate["id"]: gate for gate in ended.json["gates"] if gate["standing"] == "fell"}
    assert {"ndcg/all/max-drop", "ndcg-of-set/garage/no-drop", "ndcg-of-set/kitchen/no-drop"} <= (
        fallen.keys()
    )
    report = (ended.run / "report.html").read_text()
    lost = fallen["ndcg-of-set/kitchen/no-drop"]["losses"][0]
    assert lost["set"] == "kitchen"
    assert f"<code>{lost['query']}</code>" in report
    assert "FAIL" in report


def test_a_server_that_finds_nothing_fails_by_lost_queries(accepted: Harness) -> None:
    ended = accepted.run("relevance", CORTEX_FAKE_FAULT="no-hits")

    assert ended.code == 1
    assert "queries lost all their hits" in ended.output


def test_a_baseline_of_other_data_ends_with_3(accepted: Harness) -> None:
    corpus = accepted.evals / "relevance" / "kitchen" / "corpus.jsonl"
    with corpus.open("a") as lines:
        lines.write('{"_id": "new", "text": "A new thing for the kitchen."}\n')

    ended = accepted.run("relevance")

    assert ended.code == 3, ended.output
    assert "the baseline was measured on other data of kitchen" in ended.output


def test_a_baseline_of_another_model_ends_with_3(accepted: Harness) -> None:
    ended = accepted.run("relevance", CORTEX_FAKE_MODEL="another")

    assert ended.code == 3, ended.output
    assert "baseline is of model fake-trigrams@1, this run of another@1" in ended.output


def test_a_baseline_that_cannot_be_read_ends_with_2(accepted: Harness) -> None:
    path = accepted.evals / "baselines" / "quick.json"
    path.write_text(path.read_text().replace('"fingerprint"', '"fingerprnt"', 1))

    ended = accepted("gate", str(Ended(0, "", accepted.runs).run), "--evals", str(accepted.evals))

    assert ended.code == 2
    assert "quick.json: sets." in ended.verdict


def test_a_run_that_lacks_a_set_of_the_baseline_does_not_replace_it(
    accepted: Harness, change_run: Change
) -> None:
    path = accepted.evals / "baselines" / "quick.json"
    kept = json.loads(path.read_text())
    kept["sets"]["third"] = kept["sets"]["kitchen"]
    path.write_text(json.dumps(kept))

    refused = accept(accepted, Ended(0, "", accepted.runs))

    assert refused.code == 2
    assert "lacks third" in refused.verdict
