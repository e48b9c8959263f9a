"""Keeping memory items: whole, by category, within documented limits; and their projects."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness.probes.contract.cases import BOTH, MODERN, Chapter
from harness.probes.contract.scene import At, new_slug, note
from harness.probes.contract.speaking import Broken, holds, json_of, mentions, same, status

CHAPTER = Chapter("memory", eras=BOTH)
OWN: dict[str, dict[str, str]] = {
    "requirement": {"statement": "Refunds settle within a day", "context": "Payments"},
    "location": {"itemName": "Spare keys", "place": "Drawer in the hall"},
    "todo": {"task": "Renew the certificate", "priority": "high"},
    "note": {"subject": "Standup", "body": "Nobody was blocked"},
}
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
_UUID7 = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


def _of(category: str) -> dict[str, Any]:
    return {"category": category, "title": "A title", "content": "Some content", **OWN[category]}


def _comes_back_whole(category: str) -> None:
    def check(at: At) -> None:
        texts = [{"label": "question", "text": "where would I look for this?"}]
        more = {"tags": ["one", "two"], "additionalEmbeddings": texts}
        project = at.project()
        added = at.call("AddItem", project=project, **_of(category), **more)["item"]
        found = at.call("GetItem", id=added["id"])["item"]
        same(added, found, "what AddItem answered")
        wanted = {**_of(category), "tags": ["one", "two"], "project": project, "version": 1}
        same(wanted, {name: found.get(name) for name in wanted})
        same("open" if category == "todo" else "active", found["status"], "status")
        same(None, found["deletedAt"], "deletedAt")
        same([0, 1], [one["position"] for one in found["embeddings"]], "positions")
        same({"position": 1, **texts[0]}, found["embeddings"][1])
        others = {name for own in OWN.values() for name in own} - set(OWN[category])
        same(set(), others & set(found), "fields of other categories")
        for value in OWN[category].values():
            mentions(found["embeddings"][0]["text"], value, about="what is embedded")

    CHAPTER.add(f"a {category} comes back whole, with its own fields and embeddings", check)


def _needs_its_fields(category: str) -> None:
    def check(at: At) -> None:
        project = at.project()
        for field in OWN[category]:
            given = {key: value for key, value in _of(category).items() if key != field}
            mentions(at.memory.refusal("AddItem", project=project, **given), field, category)
        foreign = "task" if category != "todo" else "place"
        refused = at.memory.refusal("AddItem", project=project, **_of(category), **{foreign: "x"})
        mentions(refused, foreign, about="a field of another category")
        same([], at.call("ListItems", project=project)["items"])

    CHAPTER.add(f"a {category} without its own fields, or with others', is refused", check)


for _category in OWN:
    _comes_back_whole(_category)
for _category in OWN:
    _needs_its_fields(_category)


@CHAPTER.case("ids are UUIDv7 that rise, times are ISO 8601 in UTC with Z")
def _ids_and_times(at: At) -> None:
    project = at.project()
    made = [at.add(project, f"n{i}", "c") for i in range(3)]
    ids = [one["id"] for one in made]
    same(sorted(ids), ids, "ids rise")
    for one in made:
        holds(_UUID7.match(one["id"]), "a UUIDv7", one["id"])
        for name in ("createdAt", "updatedAt"):
            holds(_TIME.match(one[name]), "ISO 8601 with Z", one[name], name)


@CHAPTER.case("items of one call are kept in order, all of them or none")
def _all_or_none(at: At) -> None:
    project = at.project()
    good = [note(f"t{number}", "content") for number in range(3)]
    wrong = [good[0], note("", "content"), good[2]]
    mentions(at.memory.refusal("AddItems", project=project, items=wrong), "items.1.title")
    same([], at.call("ListItems", project=project)["items"], "after the refusal")
    added = at.add_all(project, good)
    same(["t0", "t1", "t2"], [one["title"] for one in added])
    listed = at.call("ListItems", project=project)["items"]
    same([one["id"] for one in added], [one["id"] for one in listed], "the list")


@CHAPTER.case("100 items fit in one call, 101 and none are refused", (MODERN,))
def _most_items(at: At) -> None:
    project = at.project()
    many = [note(f"n{i}", "pump") for i in range(101)]
    mentions(at.memory.refusal("AddItems", project=project, items=many), "items", "100")
    mentions(at.memory.refusal("AddItems", project=project, items=[]), "items")
    same(100, len(at.add_all(project, many[:100])))


@CHAPTER.case("GetItems answers in the order asked for, and names ids that are none")
def _several(at: At) -> None:
    project = at.project()
    ids = [one["id"] for one in at.add_all(project, [note(n, "c") for n in "abc"])]
    unknown = "01890000-0000-7000-8000-000000000000"
    found = at.call("GetItems", ids=[ids[2], unknown, ids[0]])
    same([ids[2], ids[0]], [one["id"] for one in found["items"]])
    same([unknown], found["missing"])


@CHAPTER.case("an id that names no item is told from one that is no id")
def _unknown_ids(at: At) -> None:
    unknown = "01890000-0000-7000-8000-000000000000"
    for tool in ("GetItem", "DeleteItem", "RestoreItem"):
        mentions(at.memory.refusal(tool, id=unknown), unknown, about=tool)
        mentions(at.memory.refusal(tool, id="12"), "id", "12", about=tool)


def _limits(longest: dict[str, Any], beyond: dict[str, tuple[Any, str]]) -> None:
    def accepted(at: At) -> None:
        project = at.project()
        found = at.call("AddItem", project=project, **note("T", "c") | longest)["item"]
        same(longest, {name: found[name] for name in longest})

    def refused(at: At) -> None:
        project = at.project()
        for name, (value, said) in beyond.items():
            text = at.memory.refusal("AddItem", project=project, **note("T", "c") | {name: value})
            mentions(text, name, said, about=name)
            holds(len(text) < 1000, "a short refusal", f"{len(text)} characters", name)
        same([], at.call("ListItems", project=project)["items"])

    CHAPTER.add("texts of the greatest size are kept whole", accepted, (MODERN,))
    CHAPTER.add("texts beyond the limits are refused with field and limit", refused)


_limits(
    {
        "title": "T" * 500,
        # One word of any length is one token, so that the largest content costs one vector.
        "content": "c" * 100_000,
        "tags": [f"{number:03}" + "t" * 97 for number in range(50)],
        "subject": "s" * 1_000,
    },
    {
        "title": ("T" * 501, "500"),
        "content": ("c" * 100_001, "100000"),
        "tags": ([f"t{number}" for number in range(51)], "50"),
        "additionalEmbeddings": ([{"label": "l", "text": "t"}] * 17, "16"),
        "status": ("s" * 101, "100"),
    },
)


@CHAPTER.case("a tag of 101 characters is refused")
def _long_tag(at: At) -> None:
    project = at.project()
    text = at.memory.refusal("AddItem", project=project, **note("T", "c", tags=["ok", "t" * 101]))
    mentions(text, "tags.1", "100")


@CHAPTER.case("empty and blank texts are refused")
def _blank(at: At) -> None:
    project = at.project()
    for field in ("title", "content", "subject", "body"):
        for blank in ("", "  \n\t"):
            text = at.memory.refusal("AddItem", project=project, **note("T", "c") | {field: blank})
            mentions(text, field, "empty", about=repr(blank))


@CHAPTER.case("a NUL character is refused in every text")
def _nul(at: At) -> None:
    project = at.project()
    item = at.add(project, "T", "c")["id"]
    for tool, arguments, field in (
        ("AddItem", {"project": project, **note("a\x00b", "c")}, "title"),
        ("AddItem", {"project": project, **note("T", "a\x00b")}, "content"),
        ("AddItem", {"project": project, **note("T", "c", tags=["a\x00"])}, "tags"),
        ("AddItem", {"project": project, **note("T", "c", body="a\x00")}, "body"),
        ("AddItem", {"project": "a\x00b", **note("T", "c")}, "project"),
        ("UpdateItem", {"id": item, "content": "\x00"}, "content"),
        ("SetItemStatus", {"id": item, "status": "a\x00"}, "status"),
        ("AddEmbedding", {"id": item, "label": "l", "text": "a\x00"}, "text"),
        ("CreateProject", {"name": "a\x00"}, "name"),
        ("FindItems", {"queries": ["a\x00b"], "project": project}, "queries"),
        ("FindItems", {"queries": ["a"], "project": project, "tags": ["\x00x"]}, "tags"),
        ("ListItems", {"project": project, "status": ["a\x00"]}, "status"),
        ("ListItems", {"project": project, "cursor": "a\x00"}, "cursor"),
    ):
        mentions(at.memory.refusal_of(tool, arguments), field, "NUL", about=f"{tool}.{field}")


@CHAPTER.case("every kind of whole character comes back as it was sent")
def _characters(at: At) -> None:
    text = "é e\u0301 ß 数据库 עברית 🎉👩‍👩‍👧 "
    text += "\u202e \ufeff \u200b \u007f \u0001 \"'\\ </script> %s {} $1"
    found = at.add(at.project(), "Signs: " + text, text)
    same(text, at.call("GetItem", id=found["id"])["item"]["content"])


@CHAPTER.case("eight clients that add at once all succeed, each item once")
def _parallel_adds(at: At) -> None:
    project = at.project()
    with ThreadPoolExecutor(8) as threads:
        made = list(
            threads.map(
                lambda number: at.add_all(
                    project, [note(f"{number}-{i}", f"pump {i}") for i in range(3)]
                ),
                range(8),
            )
        )
    wanted = {f"{number}-{i}" for number in range(8) for i in range(3)}
    listed = at.call("ListItems", project=project)["items"]
    same(sorted(wanted), sorted(one["title"] for one in listed))
    same(24, len({one["id"] for some in made for one in some}))


@CHAPTER.case("a project is found by slug and id, and its slug is made of its name")
def _projects(at: At) -> None:
    unique = new_slug().rpartition("-")[2]
    made = at.call("CreateProject", name=f"  Café Nº 7 — {unique}! ")["project"]
    holds(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", made["slug"]), "a slug", made["slug"])
    mentions(made["slug"], "cafe", unique)
    for reference in (made["slug"], made["id"]):
        same(made, at.call("GetProject", project=reference)["project"], reference)
    renamed = at.call("UpdateProject", project=made["id"], name="Other", slug=f"other-{unique}")
    same(("Other", f"other-{unique}"), (renamed["project"]["name"], renamed["project"]["slug"]))
    mentions(at.memory.refusal("GetProject", project=made["slug"]), made["slug"])


@CHAPTER.case("a slug that is taken or has other signs than a-z, 0-9 and - is refused")
def _slugs(at: At) -> None:
    taken = at.project()
    mentions(at.memory.refusal("CreateProject", name="x", slug=taken), taken)
    other = at.project()
    mentions(at.memory.refusal("UpdateProject", project=other, slug=taken), taken)
    for wrong in ("Upper", "a b", "a_b", "-a", "a-", "é", "", "a/b", "a" * 101, "a\nb", "a\n"):
        mentions(
            at.memory.refusal("CreateProject", name="x", slug=wrong), "slug", about=repr(wrong)
        )
    mentions(at.memory.refusal("CreateProject", name="数据"), "slug")


@CHAPTER.case("projects are listed by slug, a page at a time, each once")
def _project_pages(at: At) -> None:
    mine = {at.project() for _ in range(3)}
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = at.call("ListProjects", limit=200, **cursor)
        seen += [one["slug"] for one in page["projects"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    same(sorted(seen), seen, "by slug")
    same(len(seen), len(set(seen)), "each once")
    same(set(), mine - set(seen), "missing")
    page = at.call("ListProjects", limit=1)
    if page["nextCursor"] is None:
        raise Broken("a cursor after one of several projects", page)
    more = at.call("ListProjects", limit=1, cursor=page["nextCursor"])
    holds(more["projects"][0]["slug"] > page["projects"][0]["slug"], "the next project", more)


@CHAPTER.case("identical texts are kept in two projects, and twice in one")
def _identical(at: At) -> None:
    first, second = at.project(), at.project()
    ids = {at.add(project, "Same", "same words")["id"] for project in (first, second, second)}
    same(3, len(ids))
    same(1, len(at.call("ListItems", project=first)["items"]))
    same(2, len(at.call("ListItems", project=second)["items"]))


@CHAPTER.case("a project nobody made is refused by its name, by every tool that takes one")
def _unknown_project(at: At) -> None:
    for tool, arguments in (
        ("GetProject", {}),
        ("UpdateProject", {"name": "x"}),
        ("AddItem", note("T", "c")),
        ("AddItems", {"items": [note("T", "c")]}),
        ("ListItems", {}),
        ("FindItems", {"queries": ["x"]}),
    ):
        answer = at.memory.tool_answer(tool, {"project": "nowhere-at-all", **arguments})
        result = json_of(status(answer, 200))["result"]
        same(True, result.get("isError"), tool)
        mentions(result["content"][0]["text"], "nowhere-at-all", about=tool)
