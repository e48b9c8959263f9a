"""Distinct searches: an eval set's own queries, then phrases of its documents."""

import random
from collections.abc import Iterator
from dataclasses import replace

from harness import mcp
from harness.errors import NothingCollected
from harness.evalsets.records import Document, Query
from harness.probes.asking import where
from harness.probes.load.asked import Asked
from loadtests.plans import Call

PHRASE_WORDS = (4, 9)
TRIES_A_SEARCH = 20


def calls(asked: Asked, count: int) -> list[Call]:
    """So many different searches, always the same ones for a seed; none is asked twice."""
    queries = _queries(asked, count)
    if asked.texts is not None:
        chance = random.Random(asked.seed + 1)
        queries = [_with_texts(asked, query, asked.texts, chance) for query in queries]
    return [_call(asked, query) for query in queries]


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
        raise NothingCollected(
            f"{loaded.found.name} gives {len(chosen)} different searches; want {count}, as none is "
            "sent twice: name a larger set in the load profile's `sets`, or fewer searches"
        )
    queries = list(chosen.values())
    random.Random(seed).shuffle(queries)
    return queries


def _candidates(asked: Asked, count: int, chance: random.Random) -> Iterator[Query]:
    loaded = asked.loaded
    if asked.own_queries:
        yield from loaded.found.queries
    for _ in range(count * TRIES_A_SEARCH):
        document = chance.choice(loaded.found.documents)
        if phrase := _phrase(document, chance):
            yield Query(phrase, (phrase,), project=document.project)


def _phrase(document: Document, chance: random.Random) -> str:
    """Some words of a document that follow each other; none of one that is too short."""
    words = document.text.split()
    length = chance.randint(*PHRASE_WORDS)
    if len(words) < length:
        return ""
    start = chance.randrange(len(words) - length + 1)
    return " ".join(words[start : start + length])[:500]


def _with_texts(asked: Asked, query: Query, count: int, chance: random.Random) -> Query:
    """The query with so many texts: its own first, then phrases of its project."""
    texts = list(query.texts[:count])
    inside = [one for one in asked.loaded.found.documents if one.project == query.project]
    for _ in range(TRIES_A_SEARCH * count):
        if len(texts) == count:
            break
        phrase = _phrase(chance.choice(inside or asked.loaded.found.documents), chance)
        if phrase and phrase not in texts:
            texts.append(phrase)
    return replace(query, texts=tuple(texts))


def _call(asked: Asked, query: Query) -> Call:
    arguments: dict[str, object] = {"queries": list(query.texts), **where(asked.loaded, query)}
    headers, body = mcp.request("FindItems", arguments, asked.token)
    return Call(asked.memory_url, headers, body.decode(), "memory-search", "search")
