"""What a memory item and a search may hold: a set that breaks it is refused before anything runs.

The limits are those of the memory server's public interface, said again here on purpose.
"""

from collections.abc import Iterator

from harness.evalsets.records import Document, Query

TITLE, TEXT, FIELD, EXTRA, LABEL, QUERY = 500, 100_000, 10_000, 20_000, 200, 10_000
TAGS, TAG, STATUS, EXTRAS, QUERIES = 50, 100, 100, 16, 4
CATEGORIES = ("requirement", "location", "todo", "note")
PRIORITIES = ("low", "normal", "high", "urgent")


def fault_of_document(document: Document) -> str | None:
    """Why the memory server would refuse a document, as told after its id; None: it would not."""
    return next(_document(document), None)


def fault_of_query(query: Query) -> str | None:
    """Why the memory server would refuse a query; None: it would not."""
    return next(_query(query), None)


def _document(document: Document) -> Iterator[str]:
    yield from _text("title", document.title, TITLE, least=0)
    yield from _text("text", document.text, TEXT)
    yield from _listed("tag", document.tags, TAGS, TAG)
    yield from _text("status", document.status, STATUS, least=0)
    if document.status.strip().lower() == "deleted":
        yield "has status 'deleted', which only DeleteItem sets"
    for name, value in document.fields.items():
        yield from _text(name, value, FIELD)
    priority = document.fields.get("priority", "low")
    if priority not in PRIORITIES:
        yield f"has priority {priority!r}; one of {', '.join(PRIORITIES)}"
    if len(document.extras) > EXTRAS:
        yield f"has {len(document.extras)} additional embeddings; at most {EXTRAS}"
    for extra in document.extras:
        yield from _text("additional embedding's label", extra.label, LABEL)
        yield from _text("additional embedding's text", extra.text, EXTRA)


def _query(query: Query) -> Iterator[str]:
    if not 1 <= len(query.texts) <= QUERIES:
        yield f"has {len(query.texts)} texts; want 1 to {QUERIES} query texts, none empty"
    for text in query.texts:
        yield from _text("text", text, QUERY)
    for name in query.categories:
        if name not in CATEGORIES:
            yield f"has category {name!r}; one of {', '.join(CATEGORIES)}"
    yield from _listed("tag", query.tags, TAGS, TAG)
    yield from _listed("status", query.statuses, 20, STATUS)


def _listed(what: str, values: tuple[str, ...], most: int, longest: int) -> Iterator[str]:
    if len(values) > most:
        yield f"has {len(values)} times a {what}; at most {most}"
    for value in values:
        yield from _text(what, value, longest)


def _text(what: str, text: str, most: int, least: int = 1) -> Iterator[str]:
    """Faults of one text; nothing of it is ever cut in silence."""
    if not least <= len(text) <= most or (least and not text.strip()):
        bounds = f"at most {most}" if len(text) > most else "it must say something"
        yield f"has a {what} of {len(text)} characters; {bounds}"
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        yield f"has a {what} with a NUL or half a character (a lone surrogate) in it"
