"""The nouns of the memory server: projects, memory items, embeddings, hits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal
from uuid import UUID

Category = Literal["requirement", "location", "todo", "note"]

CATEGORY_FIELDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "requirement": ("statement", "context"),
        "location": ("item_name", "place"),
        "todo": ("task", "priority"),
        "note": ("subject", "body"),
    }
)
"""Each category's own fields, all required, in the order they are embedded."""

CATEGORIES = tuple(CATEGORY_FIELDS)
DELETED = "deleted"
DEFAULT_STATUS: Mapping[str, str] = MappingProxyType(
    {category: "open" if category == "todo" else "active" for category in CATEGORIES}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project; `number` is what its rows are joined by, and never leaves the server."""

    number: int
    id: UUID
    name: str
    slug: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A text an item is found by: position 0 is generated, 1 and above are the caller's."""

    position: int
    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """A memory item with its category's fields; `embeddings` only where they were asked for."""

    number: int
    id: UUID
    project_id: UUID
    project_number: int
    project: str
    category: Category
    title: str
    content: str
    tags: tuple[str, ...]
    status: str
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    fields: Mapping[str, str]
    embeddings: tuple[Embedding, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The embedding model stored vectors were made with."""

    number: int
    model_id: str
    revision: str
    pooling: str

    def name(self) -> str:
        """The model as a person reads it."""
        return f"{self.model_id}@{self.revision or 'unknown'} ({self.pooling} pooling)"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRow:
    """One stored vector: a window of one of an item's embeddings.

    The text stands on window 0 alone; later windows say which part of it they are.
    """

    id: UUID
    position: int
    window: int
    label: str
    text: str | None
    start: int
    end: int
    vector: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """What a list or a search is narrowed to; empty means not narrowed."""

    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    any_tag: bool = False
    statuses: tuple[str, ...] = ()

    def narrows(self) -> bool:
        """Whether anything is left out by it."""
        return bool(self.categories or self.tags or self.statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One answer of a search; `parts` are what `score` was made of."""

    item: MemoryItem
    score: float
    similarity: float | None
    text: float
    query: int
    position: int | None
    label: str | None
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A search's answer, and all a caller should know about how it came to be."""

    hits: tuple[Hit, ...]
    degraded: str | None = None
    nothing_relevant: bool = False
    hidden_by_min_score: int = 0
    ignored_words: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
