"""Memory items: add, read, change, hide; each write whole or not at all."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID
from weakref import WeakValueDictionary

from cortex.memory.actions import clock
from cortex.memory.actions.caller import Caller
from cortex.memory.actions.embedder import Embedder, Text
from cortex.memory.actions.listing import ListWish, read_cursor, write_cursor
from cortex.memory.actions.projects import Projects
from cortex.memory.core.texts import added_words, embedded_text, field_words
from cortex.memory.records import CATEGORY_FIELDS, DEFAULT_STATUS, Embedding, MemoryItem, VectorRow
from cortex.memory.store import ItemStore
from cortex.memory.store.items import Change, ItemWords, Listing, NewItem, OtherVersion
from cortex.shared.errors import Conflict, InvalidInput, NotFound, Unavailable, Uncertain

Step = Callable[[MemoryItem], Awaitable[None]]

MOST_EMBEDDINGS = 16
"""Additional embeddings an item may have."""

TRIES = 5
"""How often a change that names no version is tried again when others change the item too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingDraft:
    """A text an item shall also be found by."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDraft:
    """An item as a caller wants it; `fields` are its category's own."""

    category: str
    title: str
    content: str
    fields: Mapping[str, str]
    tags: Sequence[str] = ()
    status: str | None = None
    embeddings: Sequence[EmbeddingDraft] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """What to change of an item; None leaves a part as it is."""

    title: str | None = None
    content: str | None = None
    tags: Sequence[str] | None = None
    fields: Mapping[str, str] | None = None


class Items:
    """What a caller can ask about memory items."""

    def __init__(
        self, store: ItemStore, projects: Projects, embedder: Embedder, language: str
    ) -> None:
        self._store = store
        self._projects = projects
        self._embedder = embedder
        self._language = language
        self._turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    async def add(
        self, caller: Caller, project: str, drafts: Sequence[ItemDraft]
    ) -> list[MemoryItem]:
        """New items, in the order given, all or none."""
        caller.must_write()
        owner = await self._projects.get(caller, project)
        texts = [_texts_of(draft) for draft in drafts]
        flat = [text for some in texts for text in some]
        model, rows = await self._embedder.rows(flat)
        left = iter(rows)
        new = [
            _new_item(draft, [row for _ in some for row in next(left)])
            for draft, some in zip(drafts, texts, strict=True)
        ]
        moment = clock.now()
        await self._store.add(owner.id, owner.number, new, model.number, self._language, moment)
        return await self._saved([item.id for item in new])

    async def _saved(self, ids: Sequence[UUID]) -> list[MemoryItem]:
        """Items that were just written, as they are now.

        The write stands whatever happens here: no failure of this may be told as one of the write.
        """
        try:
            found = await self._store.get(ids, None)
        except Unavailable as err:
            raise Uncertain(
                "this was saved, but the database went away before it could be read back; "
                "look at it, do not send it again"
            ) from err
        return [found[one] for one in ids]

    async def get(self, caller: Caller, ids: Sequence[UUID]) -> tuple[list[MemoryItem], list[UUID]]:
        """Items in the order asked for, and the ids that name none this caller may see."""
        found = await self._store.get(ids, caller.projects)
        return [found[one] for one in ids if one in found], [one for one in ids if one not in found]

    async def get_one(self, caller: Caller, item_id: UUID) -> MemoryItem:
        """One item; raises `NotFound`."""
        items, missing = await self.get(caller, [item_id])
        if missing:
            raise NotFound(f"there is no memory item {item_id}")
        return items[0]

    async def page(self, caller: Caller, wish: ListWish) -> tuple[list[MemoryItem], str | None]:
        """A page of items, oldest first, and the cursor of the next."""
        project = await self._projects.get(caller, wish.project)
        after_time, after_id = read_cursor(wish.cursor)
        listing = Listing(
            project_number=project.number,
            filter=wish.filter,
            include_deleted=wish.include_deleted,
            created_from=wish.created_from,
            created_before=wish.created_before,
            updated_from=wish.updated_from,
            updated_before=wish.updated_before,
            after_time=after_time,
            after_id=after_id,
            limit=wish.limit + 1,
        )
        places = await self._store.page(listing)
        page = places[: wish.limit]
        found = await self._store.get([item_id for item_id, _ in page], None)
        items = [found[item_id] for item_id, _ in page if item_id in found]
        more = len(places) > wish.limit
        return items, write_cursor(page[-1][1], page[-1][0]) if more else None

    async def update(
        self, caller: Caller, item_id: UUID, change: ItemChange, expected: int | None
    ) -> MemoryItem:
        """An item with new texts; vectors are made anew only for texts that changed."""
        caller.must_write()

        async def once(item: MemoryItem) -> None:
            await self._apply(item, change)

        return await self._changing(caller, item_id, expected, once)

    async def _apply(self, item: MemoryItem, change: ItemChange) -> None:
        fields = dict(item.fields) | dict(change.fields or {})
        if foreign := sorted(set(fields) - set(CATEGORY_FIELDS[item.category])):
            own = " and ".join(CATEGORY_FIELDS[item.category])
            raise InvalidInput(f"{', '.join(foreign)}: a {item.category} has {own}")
        title = item.title if change.title is None else change.title
        content = item.content if change.content is None else change.content
        tags = item.tags if change.tags is None else tuple(change.tags)
        text = embedded_text(item.category, title, content, fields, tags)
        vectors: dict[int, Sequence[VectorRow]] = {}
        model_number = 0
        if item.embeddings is None or text != item.embeddings[0].text:
            wanted = Text(position=0, label="", text=text, prefix=title)
            model, rows = await self._embedder.rows([wanted])
            vectors, model_number = {0: rows[0]}, model.number
        words = ItemWords(
            field_words=field_words(item.category, title, content, fields, tags),
            extra_words=added_words(title, content, *fields.values()),
        )
        new = Change(
            title=title, content=content, tags=tags, fields=fields, words=words, vectors=vectors
        )
        await self._store.change(item, new, model_number, clock.now())

    async def _changing(
        self, caller: Caller, item_id: UUID, expected: int | None, once: Step
    ) -> MemoryItem:
        """Read, change, write; from the start again where others were quicker."""
        if expected is not None:
            return await self._once(caller, item_id, expected, once)
        # One after another here, so that only another replica, or a status or deletion between,
        # makes a change start anew.
        async with self._turns.setdefault(item_id, asyncio.Lock()):
            for attempt in range(TRIES):
                try:
                    return await self._once(caller, item_id, None, once)
                except OtherVersion:
                    await asyncio.sleep(0.01 * (attempt + 1))
        raise Conflict("others change this item at the same moment; try again")

    async def _once(
        self, caller: Caller, item_id: UUID, expected: int | None, once: Step
    ) -> MemoryItem:
        item = await self.get_one(caller, item_id)
        if expected is not None and item.version != expected:
            raise OtherVersion(item.version, expected)
        if item.deleted_at is not None:
            raise Conflict("the item is deleted; restore it first with RestoreItem")
        await once(item)
        return (await self._saved([item_id]))[0]

    async def set_status(
        self, caller: Caller, item_id: UUID, status: str, expected: int | None
    ) -> MemoryItem:
        """An item with another status; nothing is embedded."""
        caller.must_write()
        await self.get_one(caller, item_id)
        await self._store.set_status(item_id, status, expected, clock.now())
        return (await self._saved([item_id]))[0]

    async def delete(self, caller: Caller, item_id: UUID) -> MemoryItem:
        """The item, hidden from every search and list."""
        caller.must_write()
        await self.get_one(caller, item_id)
        await self._store.delete(item_id, clock.now())
        return (await self._saved([item_id]))[0]

    async def restore(self, caller: Caller, item_id: UUID) -> MemoryItem:
        """The item as it was before it was deleted."""
        caller.must_write()
        await self.get_one(caller, item_id)
        await self._store.restore(item_id, clock.now())
        return (await self._saved([item_id]))[0]

    async def add_embedding(
        self, caller: Caller, item_id: UUID, draft: EmbeddingDraft, expected: int | None
    ) -> MemoryItem:
        """The item, also found by the draft's text, at the next free position."""
        caller.must_write()

        async def once(item: MemoryItem) -> None:
            have = item.embeddings or ()
            if len(have) > MOST_EMBEDDINGS:
                raise InvalidInput(
                    f"the item has {MOST_EMBEDDINGS} additional embeddings, the most there can be"
                )
            await self._embed_at(item, len(have), draft)

        return await self._changing(caller, item_id, expected, once)

    async def update_embedding(
        self,
        caller: Caller,
        item_id: UUID,
        position: int,
        label: str | None,
        text: str | None,
        expected: int | None,
    ) -> MemoryItem:
        """The item with another label or text at a position."""
        caller.must_write()
        if label is None and text is None:
            raise InvalidInput("nothing to change; give label, text or both")

        async def once(item: MemoryItem) -> None:
            old = _embedding_at(item, position)
            new_label = old.label if label is None else label
            new_text = old.text if text is None else text
            if new_text == old.text:
                await self._store.relabel(item.id, item.version, position, new_label, clock.now())
                return
            await self._embed_at(item, position, EmbeddingDraft(label=new_label, text=new_text))

        return await self._changing(caller, item_id, expected, once)

    async def remove_embedding(
        self, caller: Caller, item_id: UUID, position: int, expected: int | None
    ) -> MemoryItem:
        """The item without that embedding; later ones move up."""
        caller.must_write()

        async def once(item: MemoryItem) -> None:
            _embedding_at(item, position)
            await self._store.change(item, _only({position: []}, item), 0, clock.now())

        return await self._changing(caller, item_id, expected, once)

    async def _embed_at(self, item: MemoryItem, position: int, draft: EmbeddingDraft) -> None:
        wanted = Text(position=position, label=draft.label, text=draft.text)
        model, rows = await self._embedder.rows([wanted])
        change = _only({position: rows[0]}, item)
        await self._store.change(item, change, model.number, clock.now())


def _only(vectors: Mapping[int, Sequence[VectorRow]], item: MemoryItem) -> Change:
    return Change(
        title=item.title,
        content=item.content,
        tags=item.tags,
        fields=item.fields,
        words=None,
        vectors=vectors,
    )


def _embedding_at(item: MemoryItem, position: int) -> Embedding:
    for one in item.embeddings or ():
        if one.position == position and position > 0:
            return one
    last = len(item.embeddings or ()) - 1
    there = f"1 to {last}" if last > 0 else "none"
    raise InvalidInput(
        f"position {position} is not an additional embedding of this item; there is {there} "
        "(position 0 is generated from the item itself)"
    )


def _texts_of(draft: ItemDraft) -> list[Text]:
    own = embedded_text(draft.category, draft.title, draft.content, draft.fields, draft.tags)
    return [Text(position=0, label="", text=own, prefix=draft.title)] + [
        Text(position=place, label=one.label, text=one.text)
        for place, one in enumerate(draft.embeddings, start=1)
    ]


def _new_item(draft: ItemDraft, vectors: Sequence[VectorRow]) -> NewItem:
    words = field_words(draft.category, draft.title, draft.content, draft.fields, draft.tags)
    return NewItem(
        id=clock.new_id(),
        category=draft.category,
        title=draft.title,
        content=draft.content,
        tags=draft.tags,
        status=draft.status or DEFAULT_STATUS[draft.category],
        fields=draft.fields,
        words=ItemWords(
            field_words=words,
            extra_words=added_words(draft.title, draft.content, *draft.fields.values()),
        ),
        vectors=vectors,
    )
