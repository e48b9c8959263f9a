"""The tools: each takes its input, asks the actions, answers its output."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from cortex.memory.actions import (
    Caller,
    EmbeddingDraft,
    ItemChange,
    ItemDraft,
    Items,
    ListWish,
    Projects,
    Search,
    SearchWish,
)
from cortex.memory.mcp import inputs, outputs
from cortex.memory.mcp.outputs import Output
from cortex.memory.records import ItemFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """All a tool may ask."""

    projects: Projects
    items: Items
    search: Search


Answer = Callable[[Actions, Caller, Any], Awaitable[Output]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as clients see it, and how it answers."""

    title: str
    takes: type[inputs.Input]
    gives: type[Output]
    answer: Answer
    reads: bool = False
    destroys: bool = False
    idempotent: bool = False

    @property
    def name(self) -> str:
        """The tool's public name."""
        return self.takes.__name__


async def _list_projects(do: Actions, who: Caller, ask: inputs.ListProjects) -> Output:
    projects, cursor = await do.projects.page(who, ask.limit, ask.cursor)
    return outputs.ProjectsOut(
        projects=[outputs.project_out(one) for one in projects], next_cursor=cursor
    )


async def _get_project(do: Actions, who: Caller, ask: inputs.GetProject) -> Output:
    project = await do.projects.get(who, ask.project)
    return outputs.OneProjectOut(project=outputs.project_out(project))


async def _create_project(do: Actions, who: Caller, ask: inputs.CreateProject) -> Output:
    project = await do.projects.create(who, ask.name, ask.slug)
    return outputs.OneProjectOut(project=outputs.project_out(project))


async def _update_project(do: Actions, who: Caller, ask: inputs.UpdateProject) -> Output:
    project = await do.projects.update(who, ask.project, ask.name, ask.slug)
    return outputs.OneProjectOut(project=outputs.project_out(project))


def _draft(item: inputs.NewItem) -> ItemDraft:
    return ItemDraft(
        category=item.category,
        title=item.title,
        content=item.content,
        fields=item.own_fields(),
        tags=item.tags,
        status=item.status,
        embeddings=[
            EmbeddingDraft(label=one.label, text=one.text) for one in item.additional_embeddings
        ],
    )


async def _add_item(do: Actions, who: Caller, ask: inputs.AddItem) -> Output:
    items = await do.items.add(who, ask.project, [_draft(ask)])
    return outputs.OneItemOut(item=outputs.item_out(items[0]))


async def _add_items(do: Actions, who: Caller, ask: inputs.AddItems) -> Output:
    items = await do.items.add(who, ask.project, [_draft(one) for one in ask.items])
    return outputs.ItemsOut(items=outputs.items_out(items))


async def _get_item(do: Actions, who: Caller, ask: inputs.GetItem) -> Output:
    return outputs.OneItemOut(item=outputs.item_out(await do.items.get_one(who, ask.id)))


async def _get_items(do: Actions, who: Caller, ask: inputs.GetItems) -> Output:
    items, missing = await do.items.get(who, ask.ids)
    return outputs.ItemsFoundOut(
        items=outputs.items_out(items), missing=[str(one) for one in missing]
    )


async def _list_items(do: Actions, who: Caller, ask: inputs.ListItems) -> Output:
    wish = ListWish(
        project=ask.project,
        filter=ItemFilter(
            categories=tuple(ask.category),
            tags=tuple(ask.tags),
            any_tag=ask.tags_match == "any",
            statuses=tuple(ask.status),
        ),
        include_deleted=ask.include_deleted,
        created_from=ask.created_from,
        created_before=ask.created_before,
        updated_from=ask.updated_from,
        updated_before=ask.updated_before,
        limit=ask.limit,
        cursor=ask.cursor,
    )
    items, cursor = await do.items.page(who, wish)
    return outputs.ItemsPageOut(items=outputs.items_out(items), next_cursor=cursor)


async def _update_item(do: Actions, who: Caller, ask: inputs.UpdateItem) -> Output:
    change = ItemChange(
        title=ask.title, content=ask.content, tags=ask.tags, fields=ask.own_fields() or None
    )
    item = await do.items.update(who, ask.id, change, ask.expected_version)
    return outputs.OneItemOut(item=outputs.item_out(item))


async def _set_status(do: Actions, who: Caller, ask: inputs.SetItemStatus) -> Output:
    item = await do.items.set_status(who, ask.id, ask.status, ask.expected_version)
    return outputs.OneItemOut(item=outputs.item_out(item))


async def _delete_item(do: Actions, who: Caller, ask: inputs.DeleteItem) -> Output:
    return outputs.OneItemOut(item=outputs.item_out(await do.items.delete(who, ask.id)))


async def _restore_item(do: Actions, who: Caller, ask: inputs.RestoreItem) -> Output:
    return outputs.OneItemOut(item=outputs.item_out(await do.items.restore(who, ask.id)))


async def _add_embedding(do: Actions, who: Caller, ask: inputs.AddEmbedding) -> Output:
    draft = EmbeddingDraft(label=ask.label, text=ask.text)
    item = await do.items.add_embedding(who, ask.id, draft, ask.expected_version)
    return outputs.OneItemOut(item=outputs.item_out(item))


async def _update_embedding(do: Actions, who: Caller, ask: inputs.UpdateEmbedding) -> Output:
    item = await do.items.update_embedding(
        who, ask.id, ask.position, ask.label, ask.text, ask.expected_version
    )
    return outputs.OneItemOut(item=outputs.item_out(item))


async def _remove_embedding(do: Actions, who: Caller, ask: inputs.RemoveEmbedding) -> Output:
    item = await do.items.remove_embedding(who, ask.id, ask.position, ask.expected_version)
    return outputs.OneItemOut(item=outputs.item_out(item))


async def _find_items(do: Actions, who: Caller, ask: inputs.FindItems) -> Output:
    wish = SearchWish(
        queries=ask.queries,
        project=ask.project,
        filter=ItemFilter(
            categories=tuple(ask.category), tags=tuple(ask.tags), statuses=tuple(ask.status)
        ),
        limit=ask.limit,
        most_characters=ask.max_content_chars,
        min_score=ask.min_score,
    )
    return outputs.found_out(await do.search.find(who, wish), explain=ask.explain)


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            title="List projects",
            takes=inputs.ListProjects,
            gives=outputs.ProjectsOut,
            answer=_list_projects,
            reads=True,
        ),
        Tool(
            title="Get a project",
            takes=inputs.GetProject,
            gives=outputs.OneProjectOut,
            answer=_get_project,
            reads=True,
        ),
        Tool(
            title="Create a project",
            takes=inputs.CreateProject,
            gives=outputs.OneProjectOut,
            answer=_create_project,
        ),
        Tool(
            title="Update a project",
            takes=inputs.UpdateProject,
            gives=outputs.OneProjectOut,
            answer=_update_project,
            idempotent=True,
        ),
        Tool(
            title="Add a memory item",
            takes=inputs.AddItem,
            gives=outputs.OneItemOut,
            answer=_add_item,
        ),
        Tool(
            title="Add memory items",
            takes=inputs.AddItems,
            gives=outputs.ItemsOut,
            answer=_add_items,
        ),
        Tool(
            title="Get a memory item",
            takes=inputs.GetItem,
            gives=outputs.OneItemOut,
            answer=_get_item,
            reads=True,
        ),
        Tool(
            title="Get memory items",
            takes=inputs.GetItems,
            gives=outputs.ItemsFoundOut,
            answer=_get_items,
            reads=True,
        ),
        Tool(
            title="List memory items",
            takes=inputs.ListItems,
            gives=outputs.ItemsPageOut,
            answer=_list_items,
            reads=True,
        ),
        Tool(
            title="Update a memory item",
            takes=inputs.UpdateItem,
            gives=outputs.OneItemOut,
            answer=_update_item,
            destroys=True,
        ),
        Tool(
            title="Set a status",
            takes=inputs.SetItemStatus,
            gives=outputs.OneItemOut,
            answer=_set_status,
            destroys=True,
            idempotent=True,
        ),
        Tool(
            title="Delete a memory item",
            takes=inputs.DeleteItem,
            gives=outputs.OneItemOut,
            answer=_delete_item,
            destroys=True,
            idempotent=True,
        ),
        Tool(
            title="Restore a memory item",
            takes=inputs.RestoreItem,
            gives=outputs.OneItemOut,
            answer=_restore_item,
            idempotent=True,
        ),
        Tool(
            title="Add an embedding",
            takes=inputs.AddEmbedding,
            gives=outputs.OneItemOut,
            answer=_add_embedding,
        ),
        Tool(
            title="Update an embedding",
            takes=inputs.UpdateEmbedding,
            gives=outputs.OneItemOut,
            answer=_update_embedding,
            destroys=True,
        ),
        Tool(
            title="Remove an embedding",
            takes=inputs.RemoveEmbedding,
            gives=outputs.OneItemOut,
            answer=_remove_embedding,
            destroys=True,
        ),
        Tool(
            title="Find memory items",
            takes=inputs.FindItems,
            gives=outputs.FoundOut,
            answer=_find_items,
            reads=True,
        ),
    )
}
