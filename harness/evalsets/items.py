"""How a document becomes a memory item; the only place that knows the mapping.

A document that says nothing about memory items is a note: its title (or, where it has none, the
first words of its text) is the item's title and subject, its text the content. A note needs a
body, and embeds it: the title again, so that nothing is added that the document does not say.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from harness.evalsets.records import Document

TITLE_WORDS = 12
BATCH_ITEMS = 50
BATCH_BYTES = 2 * 2**20
"""Half of what the server takes in one body, to leave room for what JSON adds."""

Item = dict[str, Any]


def item(document: Document, extras: bool = True) -> Item:
    """A document as `AddItems` takes it; without `extras` it has no additional embeddings."""
    title = document.title.strip() or " ".join(document.text.split()[:TITLE_WORDS])[:500]
    made: Item = {
        "category": document.category or "note",
        "title": title,
        "content": document.text,
        **(document.fields or {"subject": title, "body": title}),
    }
    if document.tags:
        made["tags"] = list(document.tags)
    if document.status:
        made["status"] = document.status
    if extras and document.extras:
        made["additionalEmbeddings"] = [{"label": e.label, "text": e.text} for e in document.extras]
    return made


def batches(documents: Sequence[Document], extras: bool) -> Iterator[list[tuple[str, Item]]]:
    """Documents in order as (id, item), in batches one `AddItems` call takes."""
    batch: list[tuple[str, Item]] = []
    size_bytes = 0
    for document in documents:
        made = item(document, extras)
        bytes_ = len(json.dumps(made).encode())
        if batch and (len(batch) == BATCH_ITEMS or size_bytes + bytes_ > BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append((document.id, made))
        size_bytes += bytes_
    if batch:
        yield batch
