"""Which waiting texts run together."""

import random

from cortex.embedding.core.batching import BATCH_COST_TOKENS, micro_batches


def cost(lengths: list[int], groups: list[list[int]]) -> int:
    return sum(
        BATCH_COST_TOKENS + len(group) * max(lengths[place] for place in group) for group in groups
    )


def test_nothing_waiting_makes_no_batch() -> None:
    assert micro_batches([]) == []


def test_every_text_runs_exactly_once() -> None:
    lengths = [random.Random(1).randint(1, 256) for _ in range(200)]

    groups = micro_batches(lengths)

    assert sorted(place for group in groups for place in group) == list(range(200))


def test_no_batch_is_larger_than_eight_texts_or_its_token_budget() -> None:
    lengths = [random.Random(2).randint(1, 512) for _ in range(300)]

    groups = micro_batches(lengths)

    assert all(len(group) <= 8 for group in groups)
    padded = [(len(group), len(group) * max(lengths[p] for p in group)) for group in groups]
    assert all(size == 1 or tokens <= 1024 for size, tokens in padded)


def test_a_text_longer_than_the_budget_runs_alone() -> None:
    assert micro_batches([2000, 3, 3], max_tokens=1024) == [[0], [1, 2]]


def test_texts_of_one_length_fill_batches_in_order_of_arrival() -> None:
    assert micro_batches([16] * 16) == [list(range(8)), list(range(8, 16))]


def test_a_short_text_does_not_pay_for_a_long_one() -> None:
    assert micro_batches([5, 250, 6, 240]) == [[0, 2], [1], [3]]


def test_texts_of_near_lengths_share_a_batch() -> None:
    assert micro_batches([20, 22, 21]) == [[0, 2, 1]]


def test_the_batch_with_the_longest_waiting_text_runs_first() -> None:
    lengths = [100, 3, 200, 5, 98]

    assert micro_batches(lengths) == [[4, 0], [1, 3], [2]]


def test_a_limit_of_one_text_keeps_every_text_alone() -> None:
    assert micro_batches([4, 2, 3], max_texts=1) == [[0], [1], [2]]


def test_the_cut_is_never_dearer_than_sorted_eights() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        lengths = [chance.randint(3, 120) for _ in range(chance.randint(1, 80))]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        eights = [order[at : at + 8] for at in range(0, len(order), 8)]

        assert cost(lengths, micro_batches(lengths)) <= cost(lengths, eights)


def test_the_cut_is_the_cheapest_there_is() -> None:
    def cheapest(sorted_lengths: list[int]) -> int:
        if not sorted_lengths:
            return 0
        return min(
            BATCH_COST_TOKENS + size * sorted_lengths[-1] + cheapest(sorted_lengths[:-size])
            for size in range(1, min(8, len(sorted_lengths)) + 1)
        )

    for seed in range(5):
        lengths = [random.Random(seed).randint(3, 60) for _ in range(11)]

        assert cost(lengths, micro_batches(lengths)) == cheapest(sorted(lengths))
