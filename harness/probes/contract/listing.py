"""Browsing memory items: filters, ranges, pages that stay stable while others write."""

from typing import Any

from harness.probes.contract.cases import BOTH, MODERN, Chapter
from harness.probes.contract.scene import At, note
from harness.probes.contract.speaking import holds, mentions, same

CHAPTER = Chapter("memory", eras=BOTH)


def _pages(at: At, project: str, **more: Any) -> list[list[dict[str, Any]]]:
    pages: list[list[dict[str, Any]]] = []
    cursor: dict[str, str] = {}
    while len(pages) < 50:
        page = at.call("ListItems", project=project, **more, **cursor)
        pages.append(page["items"])
        if page["nextCursor"] is None:
            return pages
        cursor = {"cursor": page["nextCursor"]}
    return pages


@CHAPTER.case("pages hold each item once, in order, while others add and delete")
def _stable(at: At) -> None:
    project = at.project()
    items = at.add_all(project, [note(f"n{number:02}", "c") for number in range(25)])
    seen = []
    cursor: dict[str, str] = {}
    for number in range(20):
        page = at.call("ListItems", project=project, limit=10, **cursor)
        seen += [one["title"] for one in page["items"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
        at.add(project, f"late {number}", "c")
        at.call("DeleteItem", id=items[number]["id"])
    same([f"n{number:02}" for number in range(25)], [t for t in seen if t.startswith("n")])
    same(len(seen), len(set(seen)), "each once")


@CHAPTER.case("a full last page is not followed by an empty one")
def _last_page(at: At) -> None:
    project = at.project()
    at.add_all(project, [note(f"n{number}", "c") for number in range(4)])
    same([2, 2], [len(page) for page in _pages(at, project, limit=2)])
    same([4], [len(page) for page in _pages(at, project, limit=4)])


@CHAPTER.case("the list is narrowed by category, status and tags, all of them or any")
def _filters(at: At) -> None:
    project = at.project()
    at.add(project, "a", "c", tags=["x", "y"])
    at.add(project, "b", "c", tags=["y"], status="done")
    todo = {"category": "todo", "title": "t", "content": "c", "task": "t", "priority": "low"}
    at.call("AddItem", project=project, **todo)

    def titles(**filters: Any) -> list[str]:
        found = at.call("ListItems", project=project, **filters)["items"]
        return [one["title"] for one in found]

    same(["a"], titles(tags=["x", "y"]), "all tags")
    same(["a", "b"], titles(tags=["x", "y"], tagsMatch="any"), "any tag")
    same(["b"], titles(status="done"), "a status")
    same(["b", "t"], titles(status=["done", "open"]), "two statuses")
    same(["t"], titles(category="todo"), "a category")
    same(["a", "b", "t"], titles(category=["todo", "note"]), "two categories")
    same([], titles(category=["todo"], tags=["x"]), "filters together")


@CHAPTER.case("the list is narrowed by when items were created and updated")
def _ranges(at: At) -> None:
    project = at.project()
    items = [at.add(project, title, "c") for title in "abc"]
    created = items[1]["createdAt"]
    updated = at.call("UpdateItem", id=items[0]["id"], content="d")["item"]["updatedAt"]

    def titles(**ranges: str) -> list[str]:
        found = at.call("ListItems", project=project, **ranges)["items"]
        return [one["title"] for one in found]

    same(["b", "c"], titles(createdFrom=created), "createdFrom, itself included")
    same(["a"], titles(createdBefore=created), "createdBefore, itself excluded")
    same([], titles(createdFrom=created, createdBefore=created), "an empty range")
    same(["a"], titles(updatedFrom=updated), "updatedFrom")
    same(["b", "c"], titles(updatedBefore=updated), "updatedBefore")
    same(["b", "c"], titles(createdFrom=created.replace("Z", "+00:00")), "an offset")
    mentions(
        at.memory.refusal("ListItems", project=project, createdFrom=created[:-1]), "createdFrom"
    )


@CHAPTER.case("times at the ends of the calendar are answered or refused by name")
def _extreme_times(at: At) -> None:
    project = at.project()
    for moment in (
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00Z",
    ):
        for name in ("createdFrom", "updatedBefore"):
            result = at.memory.tool_result("ListItems", {"project": project, name: moment})
            told = str(result["content"][0]["text"])
            holds("InternalError" not in told, "no internal error", told, f"{name}: {moment}")
            mentions(told, name if result.get("isError") else "items")


@CHAPTER.case("a cursor that is not one, and a limit out of range, are refused")
def _bad_pages(at: At) -> None:
    project = at.project()
    for cursor in (
        "nonsense",
        "",
        "W10",
        "e30",
        "🎉",
        "x" * 300,
        "../../etc/passwd",
        "' OR 1=1 --",
    ):
        refused = at.memory.refusal("ListItems", project=project, cursor=cursor)
        mentions(refused, "cursor", about=repr(cursor))
    for limit in (0, -1, 201, 10**12):
        mentions(at.memory.refusal("ListItems", project=project, limit=limit), "limit")


@CHAPTER.case("a category nobody has is refused, with those there are")
def _category(at: At) -> None:
    refused = at.memory.refusal("ListItems", project=at.project(), category="requirment")
    mentions(refused, "category", "requirement", "location", "todo", "note")


@CHAPTER.case("a list never shows vectors", (MODERN,))
def _no_vectors(at: At) -> None:
    project = at.project()
    at.add(project, "T", "c")
    listed = at.call("ListItems", project=project)["items"][0]
    holds("vector" not in str(listed).lower(), "no vector", listed)
    for embedding in at.call("GetItem", id=listed["id"])["item"]["embeddings"]:
        same({"position", "label", "text"}, set(embedding))
