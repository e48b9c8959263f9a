"""How two texts share the room of one input, and where characters lie in bytes."""

import pytest
from cortex.embedding.backends.tokenizing import byte_offsets, longest_first


@pytest.mark.parametrize(
    ("lengths", "room", "expected"),
    [
        ([3, 4], 10, [3, 4]),
        ([3, 40], 10, [3, 7]),
        ([40, 3], 10, [7, 3]),
        ([40, 40], 10, [5, 5]),
        ([40, 40], 11, [6, 5]),
    ],
)
def test_the_longer_of_two_loses_tokens_first(
    lengths: list[int], room: int, expected: list[int]
) -> None:
    assert longest_first(lengths, room) == expected


def test_byte_offsets_count_utf8() -> None:
    assert list(byte_offsets("aé日🎉")) == [0, 1, 3, 6, 10]
    assert list(byte_offsets("abc")) == [0, 1, 2, 3]
