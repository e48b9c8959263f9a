"""When a query's quotes and minus signs are meant, and when they are just text."""

import pytest
from cortex.memory.core.operators import Operators, read_operators


@pytest.mark.parametrize(
    "query",
    [
        "rollback -f prod",
        "docker run -it ubuntu",
        "rm -rf node_modules",
        "why does the build fail with -Werror on clang",
        'he said "out of memory" during the deploy',
        "git commit --amend -no-edit please",
        "-staging",
        "deploy -staging now",
        "what is the difference between tcp and udp -really",
        '"',
        '"unbalanced phrase',
    ],
)
def test_a_flag_or_a_quotation_in_a_sentence_is_plain_text(query: str) -> None:
    assert read_operators(query) == Operators(query)


def test_a_query_that_ends_in_a_minus_word_excludes_it() -> None:
    assert read_operators("deploy -staging") == Operators("deploy", (), ("staging",))


def test_a_query_of_nothing_but_a_phrase_requires_it() -> None:
    assert read_operators('"connection pool"') == Operators(
        "connection pool", ("connection pool",), ()
    )


def test_phrases_and_exclusions_go_together() -> None:
    assert read_operators('"connection pool" timeout -"read replica" -legacy') == Operators(
        "connection pool timeout", ("connection pool",), ("read replica", "legacy")
    )
