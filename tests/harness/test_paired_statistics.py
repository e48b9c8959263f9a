"""What the statistics of a comparison say on made-up noise: nothing of nothing, whom to blame."""

import random
from dataclasses import replace

import pytest

from harness.comparing import speed
from harness.comparing.blocks import BASE, CANDIDATE, Block, parts
from harness.errors import HarnessError
from harness.measures import pairs
from harness.measures.pairs import Limits

LIMITS = Limits()
STAGES = {"embed": 7.0, "text": 1.2, "vector": 1.9, "fuse": 0.08}


def blocks(
    seed: int, pairs_: int = 60, noise: float = 0.08, **slower: float
) -> list[tuple[Block, Block]]:
    """A sitting on a restless machine: bursts that last some pairs, and noise of each block."""
    chance = random.Random(seed)
    made, burst = [], 1.0
    for pair in range(pairs_):
        if chance.random() < 0.2:
            burst = chance.choice([1.0, 1.0, 1.3, 2.5])
        first = chance.random() < 0.5
        made.append(
            (
                _block(chance, BASE, pair, burst, noise, first, {}),
                _block(chance, CANDIDATE, pair, burst, noise, not first, slower),
            )
        )
    return made


def _block(
    chance: random.Random,
    build: str,
    pair: int,
    burst: float,
    noise: float,
    first: bool,
    slower: dict[str, float],
) -> Block:
    def noisy() -> float:
        outlier = chance.choice([2.0, 5.0]) if chance.random() < 0.03 else 1.0
        return burst * chance.lognormvariate(0, noise) * outlier

    stages = {name: ms * slower.get(name, 1.0) * noisy() for name, ms in STAGES.items()}
    # The text arm is asked while the vectors are made.
    total = max(stages["embed"], stages["text"]) + stages["vector"] + stages["fuse"]
    middles = parts(total + 0.5 * noisy(), timing({**stages, "total": total}))
    return Block(
        pair=pair,
        build=build,
        first=first,
        calls=20,
        middles_ms={**middles, "response, mean": middles["response"]},
    )


def timing(stages: dict[str, float]) -> str:
    """A `Server-Timing` header; embed and text begin together, the others one after the other."""
    then = max(stages.get("embed", 0.0), stages.get("text", 0.0))
    starts = {"vector": then, "fuse": then + stages.get("vector", 0.0)}
    return ", ".join(
        f"{name};dur={ms:.6f};start={starts.get(name, 0.0):.6f}" for name, ms in stages.items()
    )


def told_as(found: list[tuple[Block, Block]], old: str, new: str = "") -> list[tuple[Block, Block]]:
    """The candidate tells a stage by another name, or not at all."""
    return [
        (
            base,
            replace(
                candidate,
                middles_ms={
                    new if name == old else name: ms
                    for name, ms in candidate.middles_ms.items()
                    if new or name != old
                },
            ),
        )
        for base, candidate in found
    ]


def slower_in(found: list[tuple[Block, Block]]) -> tuple[list[str], str]:
    changes = speed.changes(found, LIMITS)
    return [one.series for one in changes if one.standing == "fell"], speed.blamed(changes)


@pytest.mark.parametrize(("n", "sum_"), [(8, 0), (10, 3), (12, 7), (20, 37)])
def test_the_critical_sums_are_those_of_the_printed_table(n: int, sum_: int) -> None:
    # Wilcoxon's signed ranks, two-sided 1 %: any textbook's table.
    assert pairs._critical(n, 0.01) == sum_


def test_the_interval_excludes_no_change_exactly_when_the_test_does() -> None:
    chance = random.Random(3)
    decided = 0
    for _ in range(120):
        values = [chance.gauss(0.3, 1) for _ in range(20)]
        found = pairs.middle(values, 0.05)
        excludes = found.low > 0 or found.high < 0
        assert excludes == (pairs.signed_rank(values) <= 0.05)
        decided += excludes
    assert 0 < decided < 120


def test_p_values_are_corrected_for_how_many_there_are() -> None:
    # The worked example of Holm's procedure: 0.005, 0.01, 0.03, 0.04.
    corrected = pairs.holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})

    assert corrected == pytest.approx({"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06})


def test_the_fewest_pairs_can_reach_the_level_after_the_correction() -> None:
    everything_slower = [0.1 + n / 100 for n in range(pairs.LEAST_PAIRS)]

    assert pairs.signed_rank(everything_slower) * 12 <= LIMITS.alpha_of_a_look


def test_blocks_that_make_no_pairs_are_an_error() -> None:
    with pytest.raises(HarnessError, match="make no pairs"):
        pairs.change("x", [1.0, 2.0], [1.0], 0.01)
    with pytest.raises(HarnessError, match="not a number"):
        pairs.change("x", [1.0, float("nan")], [1.0, 2.0], 0.01)


def test_one_build_against_itself_is_never_slower() -> None:
    assert [slower_in(blocks(seed)) for seed in range(25)] == [([], "")] * 25


@pytest.mark.parametrize("stage", ["embed", "text", "vector"])
def test_a_stage_that_takes_a_fifth_longer_is_found_and_blamed(stage: str) -> None:
    blamed = [slower_in(blocks(seed, **{stage: 1.2}))[1] for seed in range(20)]

    assert blamed.count(stage) >= 18
    assert set(blamed) <= {stage, ""}


def test_a_slower_stage_beside_a_longer_one_is_named_though_the_response_is_not_longer() -> None:
    slower, blamed = slower_in(blocks(1, text=1.4))

    assert blamed == "text"
    assert "response" not in slower


def test_a_change_that_is_large_in_percent_alone_is_no_regression() -> None:
    assert slower_in(blocks(1, fuse=1.5)) == ([], "")


def test_a_faster_build_is_no_regression() -> None:
    found = {one.series: one for one in speed.changes(blocks(1, embed=0.7), LIMITS)}

    assert found["embed"].standing == "held"
    assert found["embed"].why.endswith("faster")


def test_what_was_slower_in_one_half_of_the_sitting_alone_is_undecided() -> None:
    found = blocks(4)[:30] + blocks(5, embed=1.5)[30:]
    changes = {one.series: one for one in speed.changes(found, LIMITS)}

    assert changes["embed"].standing == "inconclusive"
    assert "each half" in changes["embed"].why


def test_noise_wider_than_the_limit_is_undecided() -> None:
    changes = speed.changes(blocks(2, pairs_=12, noise=0.5), LIMITS)

    assert {one.standing for one in changes if one.series == "embed"} == {"inconclusive"}


def test_whoever_is_second_being_faster_voids_the_comparison() -> None:
    found = []
    for base, candidate in blocks(3, noise=0.02, vector=1.3):
        known = base if candidate.first else candidate
        quicker = {name: ms * 0.5 for name, ms in known.middles_ms.items()}
        second = Block(
            pair=known.pair, build=known.build, first=False, calls=20, middles_ms=quicker
        )
        found.append((second, candidate) if known is base else (base, second))

    changes = speed.changes(found, LIMITS)

    standings = {one.series: one.standing for one in changes}
    assert standings[speed.ORDER] == "inconclusive"
    assert "fell" not in standings.values()


def test_an_unfinished_pair_is_left_out() -> None:
    whole = [block for pair in blocks(1, pairs_=9) for block in pair]

    assert len(speed.paired(whole[:-1])) == 8


def test_what_is_decided_at_the_first_look_is_not_measured_on() -> None:
    asked: list[Block] = []
    whole = [block for pair in blocks(1, pairs_=180, noise=0.02) for block in pair]

    changes = speed.measured(iter(whole), LIMITS, asked.append)

    assert len(asked) == 2 * LIMITS.pairs
    assert {one.standing for one in changes} == {"held"}


def test_what_is_open_at_the_first_look_is_measured_to_the_last_and_no_further() -> None:
    asked: list[Block] = []
    whole = [block for pair in blocks(2, pairs_=180, noise=0.6) for block in pair]

    speed.measured(iter(whole), LIMITS, asked.append)

    assert len(asked) == 2 * LIMITS.most_pairs == len(whole)


def test_overlapping_and_dotted_stages_are_not_taken_twice_from_what_is_unattributed() -> None:
    header = (
        "embed;dur=8;start=0, embed.queue;dur=3;start=0, text;dur=5;start=1, "
        "vector;dur=2;start=8, total;dur=11;start=0"
    )

    found = parts(12.0, header)

    assert found["unattributed"] == pytest.approx(1.0)
    assert found["outside the server"] == pytest.approx(1.0)
    assert found["in the server"] == 11.0
    assert (found["text"], found["embed.queue"]) == (5.0, 3.0)


def test_a_stage_that_was_renamed_is_gone_and_new_and_neither_slower_nor_faster() -> None:
    changes = speed.changes(told_as(blocks(1), "embed", "encode"), LIMITS)
    found = {one.series: one for one in changes}

    assert found["embed"].standing == found["encode"].standing == "not-comparable"
    assert found["embed"].why == speed.GONE
    assert found["encode"].why == speed.NEW
    assert found["embed"].ratio is found["encode"].ratio is None
    assert found["embed"].base_ms
    assert found["encode"].candidate_ms
    assert found["vector"].standing == "held"
    assert not [one for one in changes if one.standing == "fell"]


def test_a_candidate_that_tells_no_stages_any_more_is_not_called_faster() -> None:
    found = blocks(1)
    for name in [name for name in found[0][0].middles_ms if not name.startswith("response")]:
        found = told_as(found, name)

    changes = {one.series: one for one in speed.changes(found, LIMITS)}

    assert changes["response"].standing == "held"
    stages = [one for one in changes.values() if one.kind == "stage"]
    assert {one.standing for one in stages} == {"not-comparable"}


def test_a_stage_gone_is_nothing_that_more_pairs_would_decide() -> None:
    asked: list[Block] = []
    quiet = told_as(blocks(1, pairs_=180, noise=0.02), "text")

    speed.measured((block for pair in quiet for block in pair), LIMITS, asked.append)

    assert len(asked) == 2 * LIMITS.pairs


def test_a_stage_that_runs_now_and_then_is_left_to_the_mean() -> None:
    found = [
        tuple(replace(b, middles_ms={**b.middles_ms, "rare": 1.0 + b.pair}) for b in pair)
        if pair[0].pair % 10 == 0
        else pair
        for pair in blocks(1)
    ]

    changes = {one.series: one for one in speed.changes(found, LIMITS)}

    assert changes["rare"].standing == "not-applicable"
    assert changes["rare"].why == speed.RARE


@pytest.mark.parametrize("pairs_", [pairs.LEAST_PAIRS, 60])
def test_a_machine_too_restless_for_the_limits_is_seen_in_the_base_alone(pairs_: int) -> None:
    changes = {one.series: one for one in speed.changes(blocks(2, pairs_, noise=0.7), LIMITS)}

    assert changes[speed.NEIGHBOURS].standing == "inconclusive"
    assert "too restless" in changes[speed.NEIGHBOURS].why


def test_a_shared_machine_with_bursts_is_not_too_restless_at_the_last_look() -> None:
    for seed in range(8):
        found = blocks(seed, LIMITS.most_pairs)
        changes = {one.series: one for one in speed.changes(found, LIMITS)}
        assert changes[speed.NEIGHBOURS].standing == "held", changes[speed.NEIGHBOURS].why


def test_what_a_restless_machine_may_have_made_is_not_slower_and_what_it_cannot_is() -> None:
    little = {o.series: o for o in speed.changes(blocks(2, 180, noise=0.9, embed=1.5), LIMITS)}
    much = {o.series: o for o in speed.changes(blocks(2, 180, noise=0.9, embed=20.0), LIMITS)}

    assert little[speed.NEIGHBOURS].standing == much[speed.NEIGHBOURS].standing == "inconclusive"
    assert little["embed"].standing == "inconclusive"
    assert much["embed"].standing == "fell"
