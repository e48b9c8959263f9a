"""Distinct searches: an eval set's own queries, then phrases of its documents."""

import random
from collections.abc import Iterator

from harness import mcp
from harness.errors import NothingCollected
from harness.evalsets.records import Query
from harness.probes.asking import where
from harness.probes.load.asked import Asked
from loadtests.plans import Call

PHRASE_WORDS = (4, 9)
TRIES_A_SEARCH = 20


def calls(asked: Asked, count: int) -> list[Call]:
    """So many different searches, always the same ones for a seed; none is asked twice."""
    return [_call(asked, query) for query in _queries(asked, count)]


def texts(asked: Asked, count: int) -> list[str]:
    """The first text of each of so many searches."""
    return [query.texts[0] for query in _queries(asked, count)]


def _queries(asked: Asked, count: int) -> list[Query]:
    loaded, seed = asked.loaded, asked.seed
    if not count:
        return []
    chosen: dict[str, Query] = {}
    for query in _candidates(asked, count, random.Random(seed)):
        chosen.setdefault(query.texts[0], query)
        if len(chosen) == count:
            break
    if len(chosen) < count:
        raise NothingCollected(f"{loaded.found.name} gives {len(chosen)} searches; want {count}")
    queries = list(chosen.values())
    random.Random(seed).shuffle(queries)
    return queries


def _candidates(asked: Asked, count: int, chance: random.Random) -> Iterator[Query]:
    loaded = asked.loaded
    if asked.own_queries:
        yield from loaded.found.queries
    for _ in range(count * TRIES_A_SEARCH):
        document = chance.choice(loaded.found.documents)
        words = document.text.split()
        length = chance.randint(*PHRASE_WORDS)
        if len(words) >= length:
            start = chance.randrange(len(words) - length + 1)
            phrase = " ".join(words[start : start + length])[:500]
            yield Query(phrase, (phrase,), project=document.project)


def _call(asked: Asked, query: Query) -> Call:
    arguments: dict[str, object] = {"queries": list(query.texts), **where(asked.loaded, query)}
    headers, body = mcp.request("FindItems", arguments, asked.token)
    return Call(asked.memory_url, headers, body.decode(), "memory-search", "mcp")
