"""Distinct searches for a load run: an eval set's own queries, then phrases of its documents."""

import random
from collections.abc import Iterator

from harness import mcp
from harness.errors import NothingCollected
from harness.evalsets.records import Query
from harness.probes.asking import where
from harness.probes.workbench import Loaded
from loadtests.plans import Call

PHRASE_WORDS = (4, 9)
TRIES_A_SEARCH = 20


def calls(loaded: Loaded, count: int, seed: int, token: str | None) -> list[Call]:
    """So many different searches, always the same ones for a seed; none is asked twice."""
    chosen: dict[str, Query] = {}
    for query in _candidates(loaded, count, random.Random(seed)):
        chosen.setdefault(query.texts[0], query)
        if len(chosen) == count:
            break
    if len(chosen) < count:
        raise NothingCollected(f"{loaded.found.name} gives {len(chosen)} searches; want {count}")
    queries = list(chosen.values())
    random.Random(seed).shuffle(queries)
    return [_call(loaded, query, token) for query in queries]


def _candidates(loaded: Loaded, count: int, chance: random.Random) -> Iterator[Query]:
    yield from loaded.found.queries
    for _ in range(count * TRIES_A_SEARCH):
        document = chance.choice(loaded.found.documents)
        words = document.text.split()
        length = chance.randint(*PHRASE_WORDS)
        if len(words) >= length:
            start = chance.randrange(len(words) - length + 1)
            phrase = " ".join(words[start : start + length])[:500]
            yield Query(phrase, (phrase,), project=document.project)


def _call(loaded: Loaded, query: Query, token: str | None) -> Call:
    arguments: dict[str, object] = {"queries": list(query.texts), **where(loaded, query)}
    headers, body = mcp.request("FindItems", arguments, token)
    return Call(headers, body.decode())
