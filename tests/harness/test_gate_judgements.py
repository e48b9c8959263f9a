"""Each rule of a gate, judged on values: what holds, what falls, what must never pass."""

import random
from collections.abc import Mapping

import pytest

from harness.evidence import Baseline, BaselineSet, Evidence, SetScores
from harness.gates import Gate, Judgement, judge
from harness.results import Records, Result
from harness.verdicts import Outcome, conclude

NDCG = "relevance.ndcg@10"
QUERIES = [f"q{n}" for n in range(200)]


def result(value: float, name: str = NDCG, set_: str = "s", variant: str = "hybrid") -> Result:
    return Result(
        suite="relevance", name=name, value=value, unit="score", set=set_, variant=variant, n=200
    )


def gate(**keys: object) -> Gate:
    return Gate(
        **{"id": "g", "title": "t", "metric": NDCG, "set": "s", "variant": "hybrid", **keys}
    )


def scores(values: Mapping[str, float], hits: int = 10) -> SetScores:
    every = dict.fromkeys(("ndcg@10", "recall@10", "recall@100", "rr@10"), values)
    return SetScores(every, dict.fromkeys(values, hits))


def evidence(*results: Result, **keys: object) -> Evidence:
    made = {
        "profile": "quick",
        "suites": frozenset({"relevance", "load", "contract"}),
        "fingerprints": {"s": "f"},
        "model": "m",
        **keys,
    }
    return Evidence(records=Records.of(results), **made)  # type: ignore[arg-type]


def only(one: Gate, seen: Evidence, **groups: list[str]) -> Judgement:
    judged = judge([one], groups, seen)
    assert len(judged) == 1
    return judged[0]


def random_scores(seed: int = 1) -> dict[str, float]:
    chance = random.Random(seed)
    return {query: chance.choice([0.0, 0.4, 0.63, 1.0, 1.0]) for query in QUERIES}


def against(new: Mapping[str, float], old: Mapping[str, float], **keys: object) -> Evidence:
    baseline = Baseline("quick", "m", "rev", {"s": BaselineSet("f", *_parts(old))})
    made = {"scores": {("s", "hybrid"): scores(new)}, "baseline": baseline, **keys}
    return evidence(result(0.8), **made)


def _parts(values: Mapping[str, float]) -> tuple[dict, dict]:
    whole = scores(values)
    return dict(whole.scores), dict(whole.hits)


@pytest.mark.parametrize(
    ("keys", "value", "standing"),
    [
        ({"floor": 0.8}, 0.8, "held"),
        ({"floor": 0.8}, 0.7999, "fell"),
        ({"ceiling": 0.1}, 0.1, "held"),
        ({"ceiling": 0.1}, 0.11, "fell"),
        ({"ceiling": 0.1, "beyond": "inconclusive"}, 0.11, "inconclusive"),
        ({"floor": 0.5, "min_n": 201}, 0.9, "inconclusive"),
    ],
)
def test_floors_and_ceilings(keys: dict[str, object], value: float, standing: str) -> None:
    assert only(gate(**keys), evidence(result(value))).standing == standing


def test_a_missing_measurement_is_never_a_pass() -> None:
    judged = only(gate(floor=0.0), evidence())

    assert judged.standing == "missing"
    assert "did its probe run" in judged.why


def test_a_set_that_is_absent_is_said_and_only_fails_where_it_is_required() -> None:
    absent = gate(set="elsewhere", floor=0.1)

    assert only(absent, evidence()).standing == "not-applicable"
    assert only(absent, evidence(required=True)).standing == "missing"


def test_a_group_is_the_mean_over_its_sets_and_needs_all_of_them() -> None:
    grouped = gate(set="both", floor=0.6)
    seen = evidence(result(0.9), result(0.5, set_="t"), fingerprints={"s": "f", "t": "f"})

    judged = only(grouped, seen, both=["s", "t"])

    assert judged.standing == "held"
    assert judged.value == pytest.approx(0.7)
    assert judged.n == 400
    assert only(grouped, seen, both=["s", "u"]).why == "set not present: u"


def test_each_judges_every_set_by_itself() -> None:
    seen = evidence(result(0.9), result(0.1, set_="t"), fingerprints={"s": "f", "t": "f"})

    judged = judge([gate(set="each", floor=0.5)], {}, seen)

    assert [(one.set, one.standing) for one in judged] == [("s", "held"), ("t", "fell")]


@pytest.mark.parametrize(("hybrid", "standing"), [(0.80, "held"), (0.79, "held"), (0.78, "fell")])
def test_hybrid_is_held_against_its_better_arm(hybrid: float, standing: str) -> None:
    arms = gate(best_of=("text-only", "vector-only"), slack=0.01)
    seen = evidence(
        result(hybrid), result(0.80, variant="text-only"), result(0.70, variant="vector-only")
    )

    assert only(arms, seen).standing == standing


def test_a_missing_arm_is_never_a_pass() -> None:
    arms = gate(best_of=("text-only", "vector-only"))

    assert only(arms, evidence(result(0.9), result(0.8, variant="text-only"))).standing == "missing"


def test_speed_is_a_ratio_of_two_measures_of_one_run() -> None:
    p50, embed = "load.service.p50", "load.stage.mean"
    slow = Gate(
        id="g",
        title="t",
        metric=p50,
        variant="closed",
        over=p50,
        over_variant="floor",
        ceiling=1.5,
    )

    def timed(value: float, variant: str) -> Result:
        return Result(suite="load", name=p50, value=value, unit="ms", variant=variant, n=600)

    assert only(slow, evidence(timed(15, "closed"), timed(10, "floor"))).standing == "held"
    assert only(slow, evidence(timed(16, "closed"), timed(10, "floor"))).standing == "fell"
    assert only(slow, evidence(timed(15, "closed"))).standing == "missing"
    assert embed.startswith(slow.suite)


def test_a_search_is_held_to_its_floor_where_that_can_be_measured() -> None:
    one = gate(metric="load.over-floor", set="", variant="", ceiling=2.0, min_n=200)
    slow = result(2.4, "load.over-floor", "", "")

    assert only(one, evidence(slow)).standing == "fell"
    assert only(one, evidence(result(1.4, "load.over-floor", "", ""))).standing == "held"
    assert only(one, evidence()).standing == "missing"
    assert only(one, evidence(strategies=False)).standing == "not-applicable"


def test_the_same_scores_are_no_regression() -> None:
    old = random_scores()

    assert only(gate(max_drop=0.02), against(old, old)).standing == "held"
    assert only(gate(no_significant_drop=True), against(old, old)).standing == "held"


def test_a_broad_drop_falls_and_names_the_queries() -> None:
    old = random_scores()
    new = {query: value * 0.8 for query, value in old.items()}

    judged = only(gate(max_drop=0.02), against(new, old))

    assert judged.standing == "fell"
    assert judged.high is not None
    assert judged.high < 0
    assert judged.losses[0].was == 1.0
    assert judged.losses[0].now == pytest.approx(0.8)


def test_a_real_but_small_drop_is_within_the_margin_but_not_of_a_set() -> None:
    old = random_scores()
    new = {query: max(0.0, value - 0.002) for query, value in old.items()}

    assert only(gate(max_drop=0.02), against(new, old)).standing == "held"
    assert only(gate(no_significant_drop=True), against(new, old)).standing == "fell"


def test_noise_wider_than_the_margin_is_inconclusive() -> None:
    old = random_scores(1)

    judged = only(gate(max_drop=0.02), against(random_scores(2), old))

    assert judged.standing == "inconclusive"
    assert "cannot be ruled out" in judged.why


def test_without_a_baseline_it_is_said_and_only_floors_are_judged() -> None:
    judged = judge([gate(floor=0.5, max_drop=0.02)], {}, evidence(result(0.8)))

    assert [(one.rule, one.standing) for one in judged] == [
        ("floor", "held"),
        ("max-drop", "not-applicable"),
    ]
    assert "no baseline yet" in judged[1].why


def test_a_baseline_of_other_data_or_another_model_is_not_comparable() -> None:
    old = random_scores()
    dropped = gate(max_drop=0.02)

    assert only(dropped, against(old, old, model="n")).standing == "not-comparable"
    other = against(old, old, fingerprints={"s": "other"})
    assert only(dropped, other).standing == "not-comparable"
    fewer = {query: old[query] for query in QUERIES[:-1]}
    assert only(dropped, against(fewer, old)).standing == "not-comparable"


def test_a_query_that_lost_all_its_hits_falls() -> None:
    old = random_scores()
    seen = against(old, old)
    hits = {**seen.scores["s", "hybrid"].hits, "q7": 0}
    seen = against(old, old, scores={("s", "hybrid"): SetScores(scores(old).scores, hits)})
    lost = gate(metric="relevance.lost-queries", set="all", ceiling=0)

    judged = only(lost, seen)

    assert judged.standing == "fell"
    assert [loss.query for loss in judged.losses] == ["q7"]


def test_gates_of_suites_and_profiles_that_did_not_run_are_not_judged() -> None:
    full = gate(floor=0.5, profiles=("full",))
    elsewhere = Gate(id="c", title="t", metric="contract.failures", ceiling=0)

    assert judge([full], {}, evidence(result(0.8))) == []
    assert judge([elsewhere], {}, evidence(suites=frozenset({"relevance"}))) == []


@pytest.mark.parametrize(
    ("standings", "suites", "outcome"),
    [
        ({"a": "held"}, {"relevance": "measured"}, Outcome.PASS),
        ({"a": "held", "b": "not-applicable"}, {"relevance": "measured"}, Outcome.PASS),
        ({"a": "held", "b": "fell"}, {"relevance": "failed"}, Outcome.FAIL),
        ({"a": "held", "b": "inconclusive"}, {"load": "measured"}, Outcome.INCONCLUSIVE),
        ({"a": "held", "b": "not-comparable"}, {"load": "measured"}, Outcome.INCONCLUSIVE),
        ({"a": "held", "b": "missing"}, {"load": "measured"}, Outcome.BROKEN),
        ({"a": "held"}, {"load": "failed"}, Outcome.BROKEN),
        ({"a": "held"}, {"load": "interrupted"}, Outcome.BROKEN),
        ({"a": "held"}, {"load": "empty"}, Outcome.EMPTY),
        ({}, {}, Outcome.EMPTY),
        ({"a": "not-applicable"}, {"load": "measured"}, Outcome.INCONCLUSIVE),
    ],
)
def test_the_verdict_of_a_run(standings: dict, suites: dict, outcome: Outcome) -> None:
    assert conclude(standings, suites).outcome is outcome
