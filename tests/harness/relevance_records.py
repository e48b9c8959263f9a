"""Made-up passes over four eval sets: what the relevance suite would have got from a server."""

import random
from collections.abc import Iterator

from harness.evalsets.records import Document, EvalSet, Query
from harness.probes.asking import Asked
from harness.probes.relevance.passes import Pass

SETS = ("aws-docs-3k", "medquad-liveqa", "memory-notes", "scifact")
VARIANTS = {
    "hybrid": 0.8,
    "text-only": 0.66,
    "vector-only": 0.7,
    "reciprocal-rank": 0.75,
    "hybrid-again": 0.8,
    "one-text": 0.74,
    "no-extras": 0.76,
    "postgres-recipe": 0.6,
}
QUERIES, DOCUMENTS, DEPTH = 70, 90, 20
KINDS = ("paraphrase", "typo", "exact name", "question", "two facts", "negation")
LANGUAGES = ("en", "de", "fr", "es", "zh", "ja", "ar")
CATEGORIES = ("requirement", "location", "todo", "note")
WORDS = "where is the key of the old garage kept and who said that it must be painted green"


def measured_sets(chance: random.Random) -> list[Pass]:
    """Every variant's pass over every set, in the order the suite makes them."""
    return [one for name in SETS for one in _passes(_eval_set(name, chance), chance)]


def _eval_set(name: str, chance: random.Random) -> EvalSet:
    documents = tuple(
        Document(
            id=f"d{n}",
            title=f"{name} note {n}: the {chance.choice(WORDS.split())} of the "
            f"{chance.choice(WORDS.split())}, as agreed upon in the meeting",
            text=f"{WORDS} {n}. " * 3,
            category=CATEGORIES[n % len(CATEGORIES)],
        )
        for n in range(DOCUMENTS)
    )
    queries = tuple(
        Query(
            id=f"q{n}",
            texts=(" ".join(chance.choices(WORDS.split(), k=1 + n % 24)),),
            kind=KINDS[n % len(KINDS)],
            language=LANGUAGES[n % len(LANGUAGES)],
        )
        for n in range(QUERIES)
    )
    judgments = {
        query.id: {f"d{(n * 7 + step) % DOCUMENTS}": 2 - step for step in range(3)}
        for n, query in enumerate(queries)
    }
    return EvalSet(
        name=name,
        documents=documents,
        queries=queries,
        judgments=judgments,
        checksum=f"{name}-checksum",
        source="made up",
        rule="every document that is judged, and one in three of the rest",
    )


def _passes(found: EvalSet, chance: random.Random) -> Iterator[Pass]:
    hybrid = [_asked(found, query, VARIANTS["hybrid"], chance) for query in found.queries]
    for variant, share in VARIANTS.items():
        if variant.startswith("hybrid"):
            yield Pass(found, variant, hybrid)
        else:
            asked = [_asked(found, query, share, chance) for query in found.queries]
            yield Pass(found, variant, asked)


def _asked(found: EvalSet, query: Query, share: float, chance: random.Random) -> Asked:
    """Hits in a random order, the relevant ones first as often as `share`."""
    ids = [document.id for document in found.documents]
    chance.shuffle(ids)
    wanted = [id_ for id_ in found.judgments[query.id] if chance.random() < share]
    documents = tuple(dict.fromkeys([*wanted, *ids]))[:DEPTH]
    scores = tuple(1 - place / 100 for place in range(len(documents)))
    return Asked(query=query, documents=documents, scores=scores)
