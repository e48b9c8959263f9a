"""Changing memory items: versions, conflicts, statuses, undo, additional embeddings, their cost."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness.probes.contract.cases import BOTH, MODERN, Chapter
from harness.probes.contract.scene import At, note, titles
from harness.probes.contract.speaking import Broken, holds, json_of, mentions, same, status

CHAPTER = Chapter("memory", eras=BOTH)
LOOKS = 3
"""On a stack others use too, what they embed is counted as well; a quiet moment is looked for."""


def _item(at: At, **more: Any) -> dict[str, Any]:
    return at.add(at.project(), "Draft", "first", **more)


@CHAPTER.case("an update changes what it names and leaves the rest")
def _update(at: At) -> None:
    item = _item(at, tags=["kept"], status="in review")
    changed = at.call("UpdateItem", id=item["id"], content="second", body="new body")["item"]
    wanted: dict[str, Any] = {
        "content": "second",
        "body": "new body",
        "title": "Draft",
        "tags": ["kept"],
    }
    wanted |= {"status": "in review", "version": 2, "createdAt": item["createdAt"]}
    same(wanted, {name: changed[name] for name in wanted})
    holds(changed["updatedAt"] > item["updatedAt"], "a later updatedAt", changed["updatedAt"])
    mentions(changed["embeddings"][0]["text"], "second", "new body", about="what is embedded")
    same([], at.call("UpdateItem", id=item["id"], tags=[])["item"]["tags"], "tags taken away")


@CHAPTER.case("of two clients that save one version the second learns of the conflict")
def _conflict(at: At) -> None:
    item = _item(at)
    at.call("UpdateItem", id=item["id"], content="of the first", expectedVersion=1)
    text = at.memory.refusal("UpdateItem", id=item["id"], content="of both", expectedVersion=1)
    mentions(text, "conflict", "2", "1")
    same("of the first", at.call("GetItem", id=item["id"])["item"]["content"])


@CHAPTER.case("every tool that takes expectedVersion refuses another one and changes nothing")
def _conflicts_everywhere(at: At) -> None:
    item = _item(at, additionalEmbeddings=[{"label": "l", "text": "t"}])
    for tool, arguments in (
        ("UpdateItem", {"title": "x"}),
        ("SetItemStatus", {"status": "x"}),
        ("AddEmbedding", {"label": "l2", "text": "t2"}),
        ("UpdateEmbedding", {"position": 1, "text": "t3"}),
        ("UpdateEmbedding", {"position": 1, "label": "l3"}),
        ("RemoveEmbedding", {"position": 1}),
    ):
        wanted = {"id": item["id"], **arguments, "expectedVersion": 7}
        mentions(at.memory.refusal_of(tool, wanted), "conflict", "7", "1", about=tool)
    same(item, at.call("GetItem", id=item["id"])["item"], "nothing was changed")


@CHAPTER.case("every write raises the version, deleting and restoring too")
def _versions(at: At) -> None:
    item = _item(at)
    seen = [item["version"]]
    for tool, arguments in (
        ("UpdateItem", {"title": "x"}),
        ("SetItemStatus", {"status": "done"}),
        ("AddEmbedding", {"label": "l", "text": "t"}),
        ("UpdateEmbedding", {"position": 1, "label": "l2"}),
        ("UpdateEmbedding", {"position": 1, "text": "t2"}),
        ("RemoveEmbedding", {"position": 1}),
        ("DeleteItem", {}),
        ("RestoreItem", {}),
    ):
        seen.append(at.call(tool, id=item["id"], **arguments)["item"]["version"])
    same(sorted(set(seen)), seen, "versions rise with each write")


@CHAPTER.case("20 writers of one item without a version: each change arrives or is refused whole")
def _writers(at: At) -> None:
    item = _item(at)

    def write(number: int) -> tuple[int, str]:
        arguments = {"id": item["id"], "content": f"of writer {number:02}"}
        answer = at.memory.tool_answer("UpdateItem", arguments)
        result = json_of(status(answer, 200))["result"]
        return number, result["content"][0]["text"] if result.get("isError") else ""

    with ThreadPoolExecutor(20) as threads:
        outcomes = list(threads.map(write, range(20)))
    arrived = [number for number, refusal in outcomes if not refusal]
    for number, refusal in outcomes:
        if refusal:
            mentions(refusal, "conflict", about=f"writer {number}")
    found = at.call("GetItem", id=item["id"])["item"]
    holds(arrived, "at least one writer to succeed", outcomes)
    same(1 + len(arrived), found["version"], "a version for each write that was acknowledged")
    holds(
        found["content"] in {f"of writer {number:02}" for number in arrived},
        "the content of an acknowledged writer",
        found["content"],
    )
    mentions(found["embeddings"][0]["text"], found["content"], about="what is embedded")


@CHAPTER.case("parallel changes to different parts of an item all arrive", (MODERN,))
def _parts(at: At) -> None:
    item = _item(at)
    parts: list[dict[str, Any]] = [
        {"title": "Race won"},
        {"content": "finish"},
        {"tags": ["fast"]},
        {"body": "photo finish"},
    ]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda part: at.call("UpdateItem", id=item["id"], **part), parts))
    found = at.call("GetItem", id=item["id"])["item"]
    wanted = {name: value for part in parts for name, value in part.items()}
    same(wanted, {name: found[name] for name in wanted})


@CHAPTER.case("an update of another category's field is refused, so is one of the category")
def _foreign_field(at: At) -> None:
    item = _item(at)
    mentions(at.memory.refusal("UpdateItem", id=item["id"], task="x"), "task", "note")
    mentions(at.memory.refusal("UpdateItem", id=item["id"], category="todo"), "category")
    mentions(at.memory.refusal("UpdateItem", id=item["id"], title=""), "title", "empty")
    same(item, at.call("GetItem", id=item["id"])["item"])


@CHAPTER.case("a status is free text, but `deleted` is set by DeleteItem alone")
def _status(at: At) -> None:
    item = _item(at)
    changed = at.call("SetItemStatus", id=item["id"], status="Waiting for Ines")["item"]
    same("Waiting for Ines", changed["status"])
    for status_ in ("deleted", "Deleted", " deleted "):
        mentions(at.memory.refusal("SetItemStatus", id=item["id"], status=status_), "DeleteItem")
        refused = at.memory.refusal(
            "AddItem", project=item["project"], **note("T", "c", status=status_)
        )
        mentions(refused, "DeleteItem")
    same(None, at.call("GetItem", id=item["id"])["item"]["deletedAt"])


@CHAPTER.case("a deleted item is in no search and no list, and can still be read by its id")
def _delete(at: At) -> None:
    item = at.add(at.project(), "Seldom", "word zyzzyva")
    project = item["project"]
    deleted = at.call("DeleteItem", id=item["id"])["item"]
    same("deleted", deleted["status"])
    holds(deleted["deletedAt"], "a time", deleted["deletedAt"], "deletedAt")
    same([], at.find(project, "zyzzyva")["hits"], "search")
    same([], at.call("ListItems", project=project)["items"], "list")
    listed = at.call("ListItems", project=project, includeDeleted=True)["items"]
    same([item["id"]], [one["id"] for one in listed], "includeDeleted")
    same("deleted", at.call("GetItem", id=item["id"])["item"]["status"])
    mentions(at.memory.refusal("UpdateItem", id=item["id"], title="x"), "RestoreItem")
    mentions(at.memory.refusal("SetItemStatus", id=item["id"], status="x"), "RestoreItem")


@CHAPTER.case("deleting twice is deleting once, restoring twice is restoring once")
def _idempotent(at: At) -> None:
    item = _item(at)
    for tool in ("DeleteItem", "RestoreItem"):
        first, second = (at.call(tool, id=item["id"])["item"] for _ in range(2))
        same(first, second, tool)


@CHAPTER.case("a restored item has the status it had, and is found again")
def _restore(at: At) -> None:
    item = at.add(at.project(), "Seldom", "word zyzzyva")
    at.call("SetItemStatus", id=item["id"], status="in review")
    at.call("DeleteItem", id=item["id"])
    restored = at.call("RestoreItem", id=item["id"])["item"]
    same(("in review", None), (restored["status"], restored["deletedAt"]))
    same(["Seldom"], titles(at.find(item["project"], "zyzzyva")))
    same(item["embeddings"], restored["embeddings"])


@CHAPTER.case("additional embeddings stay dense, position 0 is not to be touched")
def _positions(at: At) -> None:
    extra = [{"label": name, "text": f"text {name}"} for name in "abc"]
    item = _item(at, additionalEmbeddings=extra)["id"]
    at.call("RemoveEmbedding", id=item, position=2)
    at.call("AddEmbedding", id=item, label="d", text="text d")
    found = at.call("UpdateEmbedding", id=item, position=1, text="text a2")["item"]
    places = [(one["position"], one["label"]) for one in found["embeddings"]][1:]
    same([(1, "a"), (2, "c"), (3, "d")], places)
    same("text a2", found["embeddings"][1]["text"])
    relabelled = at.call("UpdateEmbedding", id=item, position=3, label="e")["item"]
    same(("e", "text d"), tuple(relabelled["embeddings"][3][key] for key in ("label", "text")))
    for position in (0, 4, 16):
        for tool, arguments in (("RemoveEmbedding", {}), ("UpdateEmbedding", {"text": "x"})):
            refused = at.memory.refusal(tool, id=item, position=position, **arguments)
            mentions(refused, "position", about=f"{tool} {position}")
    mentions(at.memory.refusal("UpdateEmbedding", id=item, position=1), "label", "text")
    same(relabelled, at.call("GetItem", id=item)["item"], "nothing was changed by refusals")


@CHAPTER.case("an item has 16 additional embeddings at most", (MODERN,))
def _most_embeddings(at: At) -> None:
    extra = [{"label": f"l{number}", "text": f"t{number}"} for number in range(16)]
    item = _item(at, additionalEmbeddings=extra)["id"]
    mentions(at.memory.refusal("AddEmbedding", id=item, label="x", text="y"), "16")
    at.call("RemoveEmbedding", id=item, position=16)
    same(17, len(at.call("AddEmbedding", id=item, label="x", text="y")["item"]["embeddings"]))


@CHAPTER.case("an additional embedding is found by its new text, and not after it is removed")
def _found_by_embedding(at: At) -> None:
    project = at.project()
    item = at.add(project, "Umbrella stand", "In the hall behind the coats")["id"]
    at.add_all(project, [note(f"n{i}", f"an invoice of supplier {i}") for i in range(3)])

    def best() -> tuple[str, int | None]:
        hits = at.find(project, "where is the brolly", explain=True)["hits"]
        if not hits:
            return "", None
        matched = hits[0]["matchedEmbedding"]
        return hits[0]["item"]["title"], matched["position"] if matched else None

    at.call("AddEmbedding", id=item, label="slang", text="where is the brolly")
    same(("Umbrella stand", 1), best(), "after AddEmbedding")
    at.call("UpdateEmbedding", id=item, position=1, text="tax return of the year")
    holds(best() != ("Umbrella stand", 1), "another best match", best(), "after UpdateEmbedding")
    at.call("UpdateEmbedding", id=item, position=1, text="where is the brolly")
    same(("Umbrella stand", 1), best(), "after another UpdateEmbedding")
    at.call("RemoveEmbedding", id=item, position=1)
    holds(best() != ("Umbrella stand", 1), "another best match", best(), "after RemoveEmbedding")


def _embedded(at: At) -> float:
    """Texts the embedding service has embedded and requests it has had, added up."""
    text = status(at.embedding.get("/metrics"), 200).text
    lines = re.findall(r"^te_(?:embed|request)_count(?:\{[^}]*\})? ([0-9.e+]+)$", text, re.M)
    if not lines:
        raise Broken("te_embed_count and te_request_count", text[:300])
    return sum(map(float, lines))


def _costs(at: At, what: str, act: Callable[[], object]) -> float:
    spent = []
    for _ in range(1 if at.scene.owned else LOOKS):
        before = _embedded(at)
        act()
        spent.append(_embedded(at) - before)
    del what
    return min(spent)


@CHAPTER.case("status, delete, restore and an update that changes nothing embed nothing")
def _free_writes(at: At) -> None:
    item = _item(at, tags=["a"], additionalEmbeddings=[{"label": "l", "text": "t"}])
    given = {"id": item["id"]}
    free: dict[str, Callable[[], object]] = {
        "SetItemStatus": lambda: at.call("SetItemStatus", **given, status="done"),
        "DeleteItem": lambda: at.call("DeleteItem", **given),
        "RestoreItem": lambda: at.call("RestoreItem", **given),
        "UpdateItem to what is there": lambda: at.call(
            "UpdateItem", **given, title="Draft", content="first", tags=["a"], body="Draft"
        ),
        "UpdateEmbedding, label alone": lambda: at.call(
            "UpdateEmbedding", **given, position=1, label="l2"
        ),
        "UpdateEmbedding to the text there": lambda: at.call(
            "UpdateEmbedding", **given, position=1, text="t"
        ),
        "RemoveEmbedding": lambda: (
            at.call("RemoveEmbedding", **given, position=1) if at.scene.owned else None
        ),
        "GetItem": lambda: at.call("GetItem", **given),
        "ListItems": lambda: at.call("ListItems", project=item["project"]),
    }
    for what, act in free.items():
        same(0, _costs(at, what, act), f"{what}: texts embedded")


@CHAPTER.case("a change of title, content, tags or own fields embeds the item's own text alone")
def _paid_writes(at: At) -> None:
    item = _item(at, additionalEmbeddings=[{"label": "l", "text": "t"}])
    if not at.scene.owned:
        item = _item(at)
    changes: list[dict[str, Any]] = [
        {"title": "New"},
        {"content": "new"},
        {"tags": ["new"]},
        {"subject": "new"},
    ]
    for number, change in enumerate(changes):
        spent = _costs(at, "UpdateItem", lambda c=change: at.call("UpdateItem", id=item["id"], **c))  # type: ignore[misc]
        # One text and one request.
        if at.scene.owned or number == 0:
            same(2, spent, f"{next(iter(change))}: texts and requests")
