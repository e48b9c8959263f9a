"""Lists what makes a set too easy: queries or answers that stand verbatim in its corpus."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.evalsets.records import Document, EvalSet

SENTENCE_WORDS = 4
"""Shorter queries are names and identifiers, which are meant to stand in a document."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A text of a query that stands in a document."""

    query: str
    document: str
    kind: str
    words: int
    text: str


def find(found: EvalSet) -> list[Leak]:
    """Every query, and every answer a query names, that stands verbatim in a document.

    Case and white space do not count; an answer is only listed where the document is not one
    that was judged relevant for its query, since there it has to stand.
    """
    corpus = [(document, _plain(_all_text(document))) for document in found.documents]
    return [leak for query in found.queries for leak in _leaks(found, query.id, corpus)]


def _leaks(found: EvalSet, query_id: str, corpus: list[tuple[Document, str]]) -> Iterator[Leak]:
    query = next(one for one in found.queries if one.id == query_id)
    relevant = {id_ for id_, grade in found.judgments[query_id].items() if grade > 0}
    wanted = [("query", text) for text in query.texts] + [("answer", a) for a in query.answers]
    for kind, text in wanted:
        plain = _plain(text)
        for document, words in corpus:
            if plain in words and not (kind == "answer" and document.id in relevant):
                yield Leak(query_id, document.id, kind, len(plain.split()), text)


def _all_text(document: Document) -> str:
    extras = (extra.text for extra in document.extras)
    return "\n".join([document.title, document.text, *document.fields.values(), *extras])


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
