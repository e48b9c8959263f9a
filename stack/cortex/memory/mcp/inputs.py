"""What each tool takes: camelCase on the wire, strict, unknown fields refused."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic.alias_generators import to_camel

from cortex.memory.records import CATEGORY_FIELDS, DELETED, Category

TITLE_LIMIT = 500
CONTENT_LIMIT = 100_000
FIELD_LIMIT = 10_000
EMBEDDING_LIMIT = 20_000
QUERY_LIMIT = 10_000
TAG_LIMIT = 100
TAGS_LIMIT = 50
STATUS_LIMIT = 100
LABEL_LIMIT = 200
NAME_LIMIT = 200
TIME_FORM = "ISO 8601, like 2026-01-31T12:00:00Z"


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("holds a NUL character; remove it")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("holds a lone surrogate; send whole characters")
    return text


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; write something")
    return _storable(text)


def _not_deleted(text: str) -> str:
    if text.strip().lower() == DELETED:
        raise ValueError("'deleted' is set by DeleteItem only; use that tool")
    return _said(text)


def _as_id(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            raise ValueError(
                f"{value[:60]!r} is not an id; ids are UUIDs as tools answer them"
            ) from None
    return value


def _as_time(value: Any) -> Any:
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value[:60]!r} is no time; use {TIME_FORM}") from None
        if moment.tzinfo is None:
            raise ValueError(f"{value[:60]!r} has no time zone; use {TIME_FORM}")
        return moment
    return value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


SaidText = Annotated[str, AfterValidator(_said)]
ItemId = Annotated[UUID, BeforeValidator(_as_id), Field(description="Id of a memory item.")]
Moment = Annotated[AwareDatetime, BeforeValidator(_as_time)]
Reference = Annotated[
    str, Field(max_length=NAME_LIMIT, description="Slug or id of a project."), AfterValidator(_said)
]
Title = Annotated[
    str, Field(max_length=TITLE_LIMIT, description="A short, telling title."), AfterValidator(_said)
]
Content = Annotated[
    str,
    Field(max_length=CONTENT_LIMIT, description="The canonical text; may be long."),
    AfterValidator(_said),
]
Tag = Annotated[str, Field(max_length=TAG_LIMIT), AfterValidator(_said)]
Tags = Annotated[list[Tag], Field(max_length=TAGS_LIMIT, description="Free tags.")]
Status = Annotated[
    str,
    Field(max_length=STATUS_LIMIT, description="Free text, as 'active', 'open', 'done'."),
    AfterValidator(_not_deleted),
]
Own = Annotated[str, Field(max_length=FIELD_LIMIT), AfterValidator(_said)]
Priority = Literal["low", "normal", "high", "urgent"]
Slug = Annotated[
    str,
    Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=100, description="a-z, 0-9, '-'."),
]
Version = Annotated[
    int, Field(ge=1, description="The version you read; another one there now is a conflict.")
]
Position = Annotated[int, Field(ge=1, le=16, description="Position of an additional embedding.")]


class Input(BaseModel):
    """Base of all inputs."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
    )


class ListProjects(Input):
    """Every project you may use, by slug."""

    limit: int = Field(default=50, ge=1, le=200, description="Most projects in this page.")
    cursor: Slug | None = Field(default=None, description="`nextCursor` of the page before.")


class GetProject(Input):
    """One project."""

    project: Reference


class CreateProject(Input):
    """A new project; the slug is made of the name where none is given."""

    name: Annotated[
        str, Field(max_length=NAME_LIMIT, description="The project's name."), AfterValidator(_said)
    ]
    slug: Slug | None = None


class UpdateProject(Input):
    """Rename a project or change its slug."""

    project: Reference
    name: (
        Annotated[str, Field(max_length=NAME_LIMIT, description="New name."), AfterValidator(_said)]
        | None
    ) = None
    slug: Slug | None = None


class AdditionalEmbedding(Input):
    """A further text an item is found by; the item's own text stays as it is."""

    label: Annotated[
        str, Field(max_length=LABEL_LIMIT, description="What this text is."), AfterValidator(_said)
    ]
    text: Annotated[
        str,
        Field(max_length=EMBEDDING_LIMIT, description="Words someone looking for it would use."),
        AfterValidator(_said),
    ]


class OwnFields(Input):
    """The categories' own fields; each item has exactly its category's."""

    statement: Own | None = Field(default=None, description="requirement: what must hold.")
    context: Own | None = Field(default=None, description="requirement: where and why.")
    item_name: Own | None = Field(default=None, description="location: what lies there.")
    place: Own | None = Field(default=None, description="location: where it lies.")
    task: Own | None = Field(default=None, description="todo: what is to be done.")
    priority: Priority | None = Field(default=None, description="todo: how pressing.")
    subject: Own | None = Field(default=None, description="note: what it is about.")
    body: Own | None = Field(default=None, description="note: what it says.")

    def own_fields(self) -> dict[str, str]:
        """Those of the fields that were given, by their stored names."""
        names = (name for pair in CATEGORY_FIELDS.values() for name in pair)
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None}


class NewItem(OwnFields):
    """A memory item to add. Required besides: requirement statement and context; location
    itemName and place; todo task and priority; note subject and body.
    """

    category: Category = Field(description="Never changes afterwards.")
    title: Title
    content: Content
    tags: Tags = Field(default_factory=list)
    status: Status | None = Field(default=None, description="Default: active; a todo's: open.")
    additional_embeddings: list[AdditionalEmbedding] = Field(
        default_factory=list, max_length=16, description="Further texts it is found by."
    )

    @model_validator(mode="after")
    def _has_its_own_fields(self) -> "NewItem":
        own = CATEGORY_FIELDS[self.category]
        given = self.own_fields()
        missing = [to_camel(name) for name in own if name not in given]
        foreign = [to_camel(name) for name in given if name not in own]
        wanted = " and ".join(to_camel(name) for name in own)
        if missing:
            raise ValueError(f"a {self.category} needs {wanted}; missing: {', '.join(missing)}")
        if foreign:
            raise ValueError(f"a {self.category} has {wanted}, not {', '.join(foreign)}")
        return self


class AddItem(NewItem):
    """Keep one memory item."""

    project: Reference


class AddItems(Input):
    """Keep up to 100 memory items in one transaction: all of them or none."""

    project: Reference
    items: list[NewItem] = Field(min_length=1, max_length=100, description="In this order.")


class GetItem(Input):
    """One whole memory item with its embeddings' texts."""

    id: ItemId


class GetItems(Input):
    """Several whole memory items."""

    ids: list[ItemId] = Field(min_length=1, max_length=100, description="Ids of memory items.")


class ListItems(Input):
    """Browse a project's items, oldest first."""

    project: Reference
    category: Annotated[list[Category], BeforeValidator(_as_list)] = Field(
        default_factory=list, description="Only these categories."
    )
    status: Annotated[list[SaidText], BeforeValidator(_as_list)] = Field(
        default_factory=list, max_length=20, description="Only these statuses."
    )
    tags: Tags = Field(default_factory=list, description="Only items with these tags.")
    tags_match: Literal["all", "any"] = Field(default="all", description="All tags or any of them.")
    created_from: Moment | None = Field(default=None, description="Created at or after.")
    created_before: Moment | None = Field(default=None, description="Created before.")
    updated_from: Moment | None = Field(default=None, description="Updated at or after.")
    updated_before: Moment | None = Field(default=None, description="Updated before.")
    include_deleted: bool = Field(default=False, description="Deleted items too.")
    limit: int = Field(default=50, ge=1, le=200, description="Most items in this page.")
    cursor: Annotated[str, Field(max_length=200), AfterValidator(_storable)] | None = Field(
        default=None, description="`nextCursor` of the page before."
    )


class UpdateItem(OwnFields):
    """Change parts of an item; what is left out stays."""

    id: ItemId
    title: Title | None = None
    content: Content | None = None
    tags: Tags | None = Field(default=None, description="All tags, replacing those there.")
    expected_version: Version | None = None


class SetItemStatus(Input):
    """Set an item's status."""

    id: ItemId
    status: Status
    expected_version: Version | None = None


class DeleteItem(Input):
    """Hide an item from every search and list; RestoreItem undoes it."""

    id: ItemId


class RestoreItem(Input):
    """Undo DeleteItem; the item has the status it had."""

    id: ItemId


class AddEmbedding(AdditionalEmbedding):
    """Let an item also be found by another text."""

    id: ItemId
    expected_version: Version | None = None


class UpdateEmbedding(Input):
    """Change an additional embedding's label or text."""

    id: ItemId
    position: Position
    label: (
        Annotated[
            str, Field(max_length=LABEL_LIMIT, description="New label."), AfterValidator(_said)
        ]
        | None
    ) = None
    text: (
        Annotated[
            str,
            Field(max_length=EMBEDDING_LIMIT, description="New text; embedded anew if it differs."),
            AfterValidator(_said),
        ]
        | None
    ) = None
    expected_version: Version | None = None


class RemoveEmbedding(Input):
    """Remove an additional embedding; later ones move up by one."""

    id: ItemId
    position: Position
    expected_version: Version | None = None


class FindItems(Input):
    """Search by words and by meaning. Give `project`, or `searchAllProjects: true`."""

    queries: list[Annotated[str, Field(max_length=QUERY_LIMIT), AfterValidator(_said)]] = Field(
        min_length=1, max_length=4, description="One to four ways to ask for the same thing."
    )
    project: Reference | None = None
    search_all_projects: bool = Field(default=False, description="Search in every project.")
    category: Annotated[list[Category], BeforeValidator(_as_list)] = Field(
        default_factory=list, description="Only these categories."
    )
    tags: Tags = Field(default_factory=list, description="Only items with all these tags.")
    status: Annotated[list[SaidText], BeforeValidator(_as_list)] = Field(
        default_factory=list, max_length=20, description="Only these statuses."
    )
    limit: int = Field(default=10, ge=1, le=200, description="Most hits.")
    max_content_chars: int = Field(
        default=2_000, ge=0, le=CONTENT_LIMIT, description="Longer content is cut, with a mark."
    )
    min_score: float = Field(default=0.0, ge=0, le=1, description="Hide hits that score less.")
    explain: bool = Field(default=False, description="Tell what each score is made of.")

    @model_validator(mode="after")
    def _says_where(self) -> "FindItems":
        if (self.project is None) == (not self.search_all_projects):
            raise ValueError("give exactly one of project and searchAllProjects: true")
        return self
