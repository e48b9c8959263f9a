"""Projects are walls: from one project, or with a token for it, nothing of another is seen."""

import json
from dataclasses import dataclass
from typing import Any

from harness.probes.contract.cases import BOTH, Chapter
from harness.probes.contract.scene import At, new_slug, note, titles
from harness.probes.contract.speaking import Broken, Speaker, holds, json_of, same, status

CHAPTER = Chapter("memory", eras=BOTH)
UNKNOWN = "01890000-0000-7000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Secret:
    """An item in another project, with a word that stands nowhere else."""

    word: str
    project: dict[str, Any]
    item: dict[str, Any]


def _secret(at: At) -> Secret:
    word = f"xylo{new_slug().rpartition('-')[2]}"
    slug = at.project()
    extra = [{"label": word, "text": f"also {word}"}]
    item = at.add(slug, f"Title {word}", f"content {word}", tags=[word], additionalEmbeddings=extra)
    return Secret(word, at.call("GetProject", project=slug)["project"], item)


@CHAPTER.case("a search or a list in one project shows nothing of another")
def _apart(at: At) -> None:
    secret = _secret(at)
    mine = at.project()
    at.add(mine, "Mine", "an ordinary matter")
    for answer in (
        at.find(mine, secret.word, explain=True),
        at.find(mine, f"content {secret.word}", f"also {secret.word}", limit=200),
        at.find(mine, f'"{secret.word}"'),
        at.find(mine, "ordinary", tags=[secret.word]),
        at.call("ListItems", project=mine, includeDeleted=True),
        at.call("ListItems", project=mine, tags=[secret.word], tagsMatch="any"),
    ):
        shown = json.dumps({key: answer[key] for key in ("hits", "items") if key in answer})
        holds(secret.word not in shown and secret.item["id"] not in shown, "nothing of it", shown)


def _asked(secret: Secret, slug: str) -> list[tuple[str, dict[str, Any]]]:
    """Every tool that could reach into the other project, by slug and by ids."""
    item = {"id": secret.item["id"]}
    asked: list[tuple[str, dict[str, Any]]] = []
    for project in (slug, secret.project["id"]):
        here = {"project": project}
        asked += [
            ("GetProject", here),
            ("UpdateProject", {**here, "name": "taken"}),
            ("AddItem", {**here, **note("T", "c")}),
            ("AddItems", {**here, "items": [note("T", "c")]}),
            ("ListItems", here),
            ("FindItems", {**here, "queries": [secret.word]}),
        ]
    return [
        *asked,
        ("GetItem", item),
        ("UpdateItem", {**item, "title": "taken"}),
        ("SetItemStatus", {**item, "status": "taken"}),
        ("DeleteItem", item),
        ("RestoreItem", item),
        ("AddEmbedding", {**item, "label": "l", "text": "t"}),
        ("UpdateEmbedding", {**item, "position": 1, "text": "t"}),
        ("RemoveEmbedding", {**item, "position": 1}),
    ]


def _raw(speaker: Speaker, tool: str, arguments: dict[str, Any]) -> str:
    return status(speaker.tool_answer(tool, arguments), 200).text


@CHAPTER.case("a token for one project sees and changes nothing of another, by any tool")
def _limited(at: At) -> None:
    guarded = at.variants.guarded()
    secret = _secret(at)
    speaker = at.speak(guarded.server.mcp_url, guarded.limited)
    slug = str(secret.project["slug"])
    for tool, arguments in _asked(secret, slug):
        result = json_of(status(speaker.tool_answer(tool, arguments), 200))["result"]
        same(True, result.get("isError"), tool)
        told = result["content"][0]["text"]
        holds(secret.word not in told and "Title" not in told, "nothing of it", told, tool)
        # What exists elsewhere is refused in the words for what exists nowhere.
        given = arguments.get("id") or arguments["project"]
        known = {key: UNKNOWN if value == given else value for key, value in arguments.items()}
        nowhere = speaker.refusal_of(tool, known)
        same(nowhere, told.replace(given, UNKNOWN), f"{tool}: as for an unknown one")
    found = speaker.call("GetItems", ids=[secret.item["id"]])
    same(([], [secret.item["id"]]), (found["items"], found["missing"]), "GetItems")
    for tool, arguments in (
        ("ListProjects", {"limit": 200}),
        ("FindItems", {"queries": [secret.word, "title content"], "searchAllProjects": True}),
    ):
        told = _raw(speaker, tool, arguments)
        holds(slug not in told and secret.item["id"] not in told, "nothing of it", told, tool)
    same(secret.item, at.call("GetItem", id=secret.item["id"])["item"], "unchanged")
    same(secret.project, at.call("GetProject", project=slug)["project"], "unchanged")


@CHAPTER.case("a token for one project makes no other project, and works in its own")
def _own(at: At) -> None:
    guarded = at.variants.guarded()
    speaker = at.speak(guarded.server.mcp_url, guarded.limited)
    slug = new_slug()
    speaker.refusal("CreateProject", name="x", slug=slug)
    at.memory.refusal("GetProject", project=slug)
    if speaker.tool_result("GetProject", {"project": guarded.project}).get("isError"):
        speaker.call("CreateProject", name="Own", slug=guarded.project)
    speaker.refusal("UpdateProject", project=guarded.project, slug=slug)
    item = speaker.call("AddItem", project=guarded.project, **note("Own", "a pump"))["item"]
    same("Own", speaker.call("GetItem", id=item["id"])["item"]["title"])
    found = speaker.call("FindItems", queries=["pump"], searchAllProjects=True)
    same({guarded.project}, {hit["item"]["project"] for hit in found["hits"]})
    same({"Own"}, set(titles(found)))
    listed = [one["slug"] for one in speaker.call("ListProjects")["projects"]]
    same([guarded.project], listed)


@CHAPTER.case("no refusal shows SQL, a file, a trace or a secret")
def _no_insides(at: At) -> None:
    secret = at.scene.targets.services.postgres
    insides = ["psycopg", "traceback", "select ", "insert into", "/site-packages", ".py", "stack/"]
    if secret is not None:
        insides.append(secret.url.partition("@")[0].rpartition(":")[2].lower())
    for tool, arguments in (
        ("GetItem", {"id": "' OR 1=1 --"}),
        ("GetProject", {"project": "'; DROP TABLE projects; --"}),
        ("ListItems", {"project": at.project(), "cursor": "AAAA"}),
        ("FindItems", {"queries": ["x"], "project": "a" * 200}),
        ("CreateProject", {"name": "x", "slug": "'"}),
        ("AddItem", {"project": "x", **note("T" * 600, "c")}),
        ("UpdateItem", {"id": UNKNOWN, "expectedVersion": 2**62}),
        ("UpdateItem", {"id": UNKNOWN, "title": "x", "expectedVersion": 2**63}),
        ("ListItems", {"project": "x", "createdFrom": "9999-12-31T23:59:59-14:00"}),
    ):
        told = at.memory.refusal_of(tool, arguments).lower()
        for inside in insides:
            if inside in told:
                raise Broken(f"nothing like {inside!r}", told, tool)
        holds("internalerror" not in told, "no internal error", told, f"{tool} {arguments}")
