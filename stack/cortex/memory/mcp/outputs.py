"""What each tool answers: camelCase, times in UTC with `Z`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from cortex.memory.records import Found, Hit, MemoryItem, Project


class Output(BaseModel):
    """Base of all outputs."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="forbid")


class ProjectOut(Output):
    """A project."""

    id: str
    name: str
    slug: str
    created_at: str
    updated_at: str


class EmbeddingOut(Output):
    """A text an item is found by; position 0 is generated from the item."""

    position: int
    label: str
    text: str


class ItemOut(Output):
    """A memory item, with its category's own fields beside the shared ones."""

    id: str
    project_id: str
    project: str = Field(description="The project's slug.")
    category: str
    title: str
    content: str
    tags: list[str]
    status: str
    version: int
    created_at: str
    updated_at: str
    deleted_at: str | None
    statement: str | None = None
    context: str | None = None
    item_name: str | None = None
    place: str | None = None
    task: str | None = None
    priority: str | None = None
    subject: str | None = None
    body: str | None = None
    embeddings: list[EmbeddingOut] | None = None


class PlaceOut(Output):
    """The embedding that matched best."""

    position: int
    label: str


class PartsOut(Output):
    """What a score was made of: a cosine, the share of the query's BM25, and the fused score."""

    similarity: float | None
    text: float
    fused: float


class HitOut(Output):
    """One hit."""

    item: ItemOut
    score: float = Field(ge=0, le=1)
    snippet: str
    matched_query: int = Field(description="Place in `queries`, from 0.")
    matched_embedding: PlaceOut | None
    parts: PartsOut | None = None


class FoundOut(Output):
    """Hits, best first, and how they came to be."""

    hits: list[HitOut]
    nothing_relevant: bool = Field(description="Nothing was near enough to be an answer.")
    degraded: str | None = Field(description="Why only words were searched, if so.")
    hidden_by_min_score: int
    ignored_words: list[str]
    notes: list[str]


class ProjectsOut(Output):
    """A page of projects."""

    projects: list[ProjectOut]
    next_cursor: str | None


class OneProjectOut(Output):
    """One project."""

    project: ProjectOut


class OneItemOut(Output):
    """One memory item."""

    item: ItemOut


class ItemsOut(Output):
    """Memory items in the order asked for."""

    items: list[ItemOut]


class ItemsFoundOut(ItemsOut):
    """Memory items, and the ids that name none."""

    missing: list[str]


class ItemsPageOut(ItemsOut):
    """A page of memory items."""

    next_cursor: str | None


def moment(value: datetime) -> str:
    """A time as the interface writes it."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def project_out(project: Project) -> ProjectOut:
    """A project as it is answered."""
    return ProjectOut(
        id=str(project.id),
        name=project.name,
        slug=project.slug,
        created_at=moment(project.created_at),
        updated_at=moment(project.updated_at),
    )


def item_out(item: MemoryItem) -> ItemOut:
    """An item as it is answered."""
    embeddings = None
    if item.embeddings is not None:
        embeddings = [
            EmbeddingOut(position=one.position, label=one.label, text=one.text)
            for one in item.embeddings
        ]
    return ItemOut(
        id=str(item.id),
        project_id=str(item.project_id),
        project=item.project,
        category=item.category,
        title=item.title,
        content=item.content,
        tags=list(item.tags),
        status=item.status,
        version=item.version,
        created_at=moment(item.created_at),
        updated_at=moment(item.updated_at),
        deleted_at=moment(item.deleted_at) if item.deleted_at else None,
        embeddings=embeddings,
        **item.fields,
    )


def items_out(items: Sequence[MemoryItem]) -> list[ItemOut]:
    """Items as they are answered."""
    return [item_out(item) for item in items]


def found_out(found: Found, *, explain: bool) -> FoundOut:
    """A search's answer."""
    return FoundOut(
        hits=[_hit_out(hit, explain=explain) for hit in found.hits],
        nothing_relevant=found.nothing_relevant,
        degraded=found.degraded,
        hidden_by_min_score=found.hidden_by_min_score,
        ignored_words=list(found.ignored_words),
        notes=list(found.notes),
    )


def _hit_out(hit: Hit, *, explain: bool) -> HitOut:
    place = None
    if hit.position is not None:
        place = PlaceOut(position=hit.position, label=hit.label or "")
    return HitOut(
        item=item_out(hit.item),
        score=round(hit.score, 6),
        snippet=hit.snippet,
        matched_query=hit.query,
        matched_embedding=place,
        parts=_parts_out(hit) if explain else None,
    )


def _parts_out(hit: Hit) -> PartsOut:
    similarity = None if hit.similarity is None else round(hit.similarity, 6)
    return PartsOut(similarity=similarity, text=round(hit.text, 6), fused=round(hit.score, 6))


def to_json(output: Output) -> str:
    """The answer as JSON; what an item has not (other categories' fields) is left out."""
    return output.model_dump_json(by_alias=True, exclude_unset=True)


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a tool's input or output."""
    schema = model.model_json_schema(by_alias=True)
    schema.pop("title", None)
    return schema
