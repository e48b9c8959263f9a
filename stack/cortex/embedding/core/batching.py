"""Which waiting texts run together, and in which order.

A *cycle* takes every text that waits at its start and cuts them, sorted by length, into
micro-batches. What arrives meanwhile waits for the next cycle, so no text waits longer than the
rest of one cycle and the whole of the next. Within a cycle the batch with the longest-waiting
text runs first: that evens out waits far better than shortest first.
"""

from collections.abc import Sequence

MICRO_BATCH_TEXTS = 8
"""Beyond eight texts a batch only costs memory (measured: docs/decisions/0003)."""

MICRO_BATCH_TOKENS = 1024
"""Beyond this many padded tokens a batch is slower a token: its activations leave the cache."""

BATCH_COST_TOKENS = 9
"""What starting a batch costs, in tokens: the weights are read from memory once for each."""


def micro_batches(
    lengths: Sequence[int],
    *,
    max_texts: int = MICRO_BATCH_TEXTS,
    max_tokens: int = MICRO_BATCH_TOKENS,
    batch_cost: int = BATCH_COST_TOKENS,
) -> list[list[int]]:
    """Places in `lengths`, grouped so that padding and batch starts cost least.

    `lengths` are in order of arrival, and so are the groups, by the first to come of each.
    Each group holds at most `max_texts` texts and, unless it is a single text, at most
    `max_tokens` tokens once padded to its longest. Equal lengths keep their order of arrival.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    # best[end] is the least cost of the first `end` texts; cut[end] is where its last group starts.
    best = [0] + [0] * len(order)
    cut = [0] * (len(order) + 1)
    for end in range(1, len(order) + 1):
        longest = lengths[order[end - 1]]
        best[end], cut[end] = best[end - 1] + batch_cost + longest, end - 1
        furthest = min(end, max_texts, max_tokens // max(longest, 1))
        for size in range(2, furthest + 1):
            cost = best[end - size] + batch_cost + size * longest
            if cost <= best[end]:
                best[end], cut[end] = cost, end - size
    groups: list[list[int]] = []
    end = len(order)
    while end:
        groups.append(order[cut[end] : end])
        end = cut[end]
    return sorted(groups, key=min)
