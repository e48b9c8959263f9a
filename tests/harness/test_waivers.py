"""Waivers: a gate that fell passes until a day, is shown all the same, and falls again after it."""

import datetime as dt
from pathlib import Path

import pytest
from conftest import Ended, Harness

from harness.gates import Gate, Judgement
from harness.verdicts import Outcome, Standing, conclude
from harness.waivers import Waiver, waive

TODAY = dt.date(2027, 1, 31)
GATE = Gate(id="ndcg", title="t", metric="relevance.ndcg@10")


def judgement(standing: Standing, set_: str = "all") -> Judgement:
    return Judgement(gate=GATE, rule="floor", set=set_, standing=standing, why="0.7 is below 0.8")


def waiver(until: dt.date = TODAY, set_: str = "") -> Waiver:
    return Waiver("ndcg", set_, "a new model comes next week", until, "ann")


def test_a_gate_that_fell_is_waived_up_to_the_last_day_and_with_it() -> None:
    (found,), states = waive([judgement("fell")], [waiver()], TODAY)

    assert found.standing == "waived"
    assert "waived by ann until 2027-01-31: a new model comes next week" in found.why
    assert states == ["used"]


def test_after_its_last_day_the_gate_falls_and_the_waiver_is_named() -> None:
    (found,), states = waive([judgement("fell")], [waiver()], TODAY + dt.timedelta(days=1))

    assert found.standing == "fell"
    assert "the waiver of ann ended on 2027-01-31" in found.why
    assert states == ["ended"]


@pytest.mark.parametrize(
    "standing", ["held", "missing", "inconclusive", "not-comparable", "not-applicable"]
)
def test_nothing_but_a_fall_is_waived(standing: Standing) -> None:
    (found,), states = waive([judgement(standing)], [waiver()], TODAY)

    assert found.standing == standing
    assert states == ["not needed"]


def test_a_waiver_of_one_set_leaves_the_others() -> None:
    found, _ = waive([judgement("fell", "a"), judgement("fell", "b")], [waiver(set_="a")], TODAY)

    assert [one.standing for one in found] == ["waived", "fell"]


def test_waived_gates_pass_and_are_counted_by_themselves() -> None:
    verdict = conclude({"a": "held", "b": "waived"}, {"relevance": "measured"})

    assert verdict.outcome is Outcome.PASS
    assert verdict.why == "1 of 2 gates hold, 1 fell and is waived: b"
    still = conclude({"a": "fell", "b": "waived"}, {"relevance": "measured"})
    assert still.outcome is Outcome.FAIL


def fallen(harness: Harness, waivers: str) -> None:
    gates = harness.evals / "gates.toml"
    gates.write_text(gates.read_text().replace("floor = 0.5", "floor = 0.99"))
    (harness.evals / "waivers.toml").write_text(waivers)


def entry(until: str = "2999-01-01", gate: str = "ndcg", more: str = "") -> str:
    return f'[[waiver]]\ngate = "{gate}"\nreason = "r"\nuntil = {until}\nby = "ann"\n{more}'


def judged_again(made: Harness, run: Path) -> Ended:
    return made("gate", str(run), "--evals", str(made.evals))


def test_a_waived_run_passes_and_says_so_everywhere(finished: tuple[Harness, Ended]) -> None:
    made, ended = finished
    fallen(made, entry() + entry(gate="answered"))

    again = judged_again(made, ended.run)

    assert again.code == 0, again.output
    assert "1 fell and is waived: ndcg/all/floor" in again.verdict
    assert "waiver of answered by ann, until 2999-01-01: not needed" in again.output
    assert "~ waived" in (ended.run / "summary.md").read_text()
    assert "waived" in (ended.run / "report.html").read_text()
    junit = (ended.run / "junit.xml").read_text()
    assert '<skipped message="' in junit.partition('name="ndcg/all/floor"')[2][:80]
    states = {one["gate"]: one["state"] for one in ended.json["waivers"]}
    assert states == {"ndcg": "used", "answered": "not needed"}


def test_a_run_whose_waiver_ended_fails_and_names_it(finished: tuple[Harness, Ended]) -> None:
    made, ended = finished
    fallen(made, entry("2001-01-01"))

    again = judged_again(made, ended.run)

    assert again.code == 1
    assert "the waiver of ann ended on 2001-01-01" in again.output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (entry(gate="ndgc"), "waivers.toml:1: there is no gate 'ndgc'; nearest: ndcg"),
        (
            entry(more='set = "kitchn"\n'),
            "waivers.toml:1: there is no set 'kitchn'; nearest: kitchen",
        ),
        (entry('"2999-01-01"'), "waivers.toml:1: until: write a date without quotes"),
        (entry(more='why = "x"\n'), "waivers.toml:1: why: Extra inputs are not permitted"),
        (entry().replace('by = "ann"\n', ""), "waivers.toml:1: by: Field required"),
        ("waiver = 3\n", "write each waiver below a line [[waiver]]"),
        ("[[waiver]\n", "not TOML"),
    ],
)
def test_a_mistake_in_the_file_ends_with_2_before_anything_starts(
    harness: Harness, text: str, says: str
) -> None:
    (harness.evals / "waivers.toml").write_text(text)

    ended = harness.run("relevance")

    assert ended.code == 2, ended.output
    assert says in ended.verdict
    assert not harness.runs.exists()
