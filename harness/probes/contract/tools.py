"""The tools as a model sees them: names, descriptions, schemas; every answer fits its schema."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from harness.probes.contract.cases import BOTH, MODERN, Chapter
from harness.probes.contract.scene import At, new_slug, note
from harness.probes.contract.speaking import Broken, holds, json_of, mentions, same, status

CHAPTER = Chapter("memory", eras=BOTH)


@dataclass(frozen=True, slots=True)
class Hints:
    """What a tool says of itself: whether it reads only, destroys, may be repeated."""

    reads: bool = False
    destroys: bool = False
    idempotent: bool = False


TOOLS: dict[str, Hints] = {
    "ListProjects": Hints(reads=True),
    "GetProject": Hints(reads=True),
    "CreateProject": Hints(),
    "UpdateProject": Hints(idempotent=True),
    "AddItem": Hints(),
    "AddItems": Hints(),
    "GetItem": Hints(reads=True),
    "GetItems": Hints(reads=True),
    "ListItems": Hints(reads=True),
    "UpdateItem": Hints(destroys=True),
    "SetItemStatus": Hints(idempotent=True),
    "DeleteItem": Hints(destroys=True, idempotent=True),
    "RestoreItem": Hints(idempotent=True),
    "AddEmbedding": Hints(),
    "UpdateEmbedding": Hints(destroys=True),
    "RemoveEmbedding": Hints(destroys=True),
    "FindItems": Hints(reads=True),
}
BOUNDS: dict[str, dict[str, Mapping[str, object]]] = {
    "AddItem": {
        "title": {"maxLength": 500},
        "content": {"maxLength": 100_000},
        "tags": {"maxItems": 50},
        "category": {"enum": ["requirement", "location", "todo", "note"]},
        "priority": {"enum": ["low", "normal", "high", "urgent"]},
        "additionalEmbeddings": {"maxItems": 16},
    },
    "AddItems": {"items": {"minItems": 1, "maxItems": 100}},
    "FindItems": {
        "queries": {"minItems": 1, "maxItems": 4},
        "limit": {"minimum": 1, "maximum": 200, "default": 10},
        "maxContentChars": {"default": 2000},
        "minScore": {"minimum": 0, "maximum": 1},
    },
    "UpdateEmbedding": {"position": {"minimum": 1}},
    "RemoveEmbedding": {"position": {"minimum": 1}},
}


def _listed(at: At) -> dict[str, dict[str, Any]]:
    """The listed tools by name; all that there should be, so that no claim is about nothing."""
    same(sorted(TOOLS), sorted(at.scene.tools), "listed tools")
    return at.scene.tools


@CHAPTER.case("all tools of the interface are listed, and no other")
def _names(at: At) -> None:
    listed = [tool["name"] for tool in at.memory.result_of("tools/list")["tools"]]
    same(sorted(TOOLS), sorted(listed))


@CHAPTER.case("every tool has a title, a description and both schemas", (MODERN,))
def _described(at: At) -> None:
    for name, tool in _listed(at).items():
        holds(tool.get("title"), "a title", tool, name)
        holds(len(tool.get("description", "")) >= 10, "a description", tool, name)
        for schema in ("inputSchema", "outputSchema"):
            same("object", tool[schema].get("type"), f"{name}.{schema}")
            jsonschema.Draft202012Validator.check_schema(tool[schema])


@CHAPTER.case("every tool's annotations say what it does to the data", (MODERN,))
def _annotated(at: At) -> None:
    for name, hints in TOOLS.items():
        told = _listed(at)[name]["annotations"]
        same(hints.reads, told["readOnlyHint"], f"{name}: readOnlyHint")
        if not hints.reads:
            same(hints.idempotent, told["idempotentHint"], f"{name}: idempotentHint")
        if hints.reads or hints.destroys:
            same(hints.destroys, told["destructiveHint"], f"{name}: destructiveHint")


@CHAPTER.case("every argument of every tool has a type and a description", (MODERN,))
def _arguments(at: At) -> None:
    for name, tool in _listed(at).items():
        schema = tool["inputSchema"]
        same(False, schema.get("additionalProperties"), f"{name}: unknown fields")
        for argument, about in schema.get("properties", {}).items():
            where = f"{name}.{argument}"
            inner = [_resolved(schema, part) for part in _alternatives(schema, about)]
            told = [part.get("description") for part in (about, *inner)]
            holds(any(told), "a description", about, where)
            holds(all(part.get("type") or "enum" in part for part in inner), "a type", about, where)


@CHAPTER.case("bounds, defaults and choices of the arguments stand in the schema", (MODERN,))
def _bounds(at: At) -> None:
    for name, arguments in BOUNDS.items():
        schema = _listed(at)[name]["inputSchema"]
        for argument, wanted in arguments.items():
            about = schema["properties"][argument]
            found = dict(about)
            for part in _alternatives(schema, about):
                found |= _resolved(schema, part)
            for key, value in wanted.items():
                same(value, found.get(key), f"{name}.{argument}: {key}")


def _alternatives(schema: Mapping[str, Any], about: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    kinds = about.get("anyOf", [about])
    return [kind for kind in kinds if _resolved(schema, kind).get("type") != "null"]


def _resolved(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    found: Mapping[str, Any] = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return found


def _tour(at: At) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool once, in an order in which each has something to work on; yields its result."""
    slug = new_slug()

    def call(tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return tool, at.memory.tool_result(tool, arguments)

    yield call("CreateProject", name="A tour", slug=slug)
    yield call("GetProject", project=slug)
    yield call("UpdateProject", project=slug, name="The tour")
    yield call("ListProjects", limit=2)
    added = call("AddItem", project=slug, **note("First", "the first word", tags=["a"]))
    yield added
    item = added[1]["structuredContent"]["item"]["id"]
    todo = {"category": "todo", "title": "Second", "content": "c", "task": "t", "priority": "low"}
    yield call("AddItems", project=slug, items=[todo, note("Third", "another word")])
    yield call("GetItem", id=item)
    unknown = "01890000-0000-7000-8000-000000000000"
    yield call("GetItems", ids=[item, unknown])
    yield call("ListItems", project=slug, limit=2)
    yield call("UpdateItem", id=item, title="First of all", expectedVersion=1)
    yield call("AddEmbedding", id=item, label="also", text="a further text")
    yield call("UpdateEmbedding", id=item, position=1, text="another further text")
    yield call("RemoveEmbedding", id=item, position=1)
    yield call("SetItemStatus", id=item, status="done")
    yield call("DeleteItem", id=item)
    yield call("RestoreItem", id=item)
    yield call("FindItems", queries=["first word", "other"], project=slug, explain=True)
    yield call("FindItems", queries=["word"], searchAllProjects=True, limit=1)


@CHAPTER.case("every tool's answer fits its outputSchema, and its text is the same JSON")
def _answers(at: At) -> None:
    seen = set()
    for tool, result in _tour(at):
        seen.add(tool)
        holds(not result.get("isError"), f"{tool} succeeds", result, tool)
        structured = result["structuredContent"]
        try:
            jsonschema.validate(
                structured, at.scene.tools[tool]["outputSchema"], jsonschema.Draft202012Validator
            )
        except jsonschema.ValidationError as err:
            raise Broken(f"an answer that fits {tool}'s outputSchema", err.message, tool) from err
        same(["text"], [part["type"] for part in result["content"]], tool)
        same(structured, json.loads(result["content"][0]["text"]), f"{tool}: text and structure")
    same(sorted(TOOLS), sorted(seen), "every tool was called")


@CHAPTER.case("an argument nobody knows is refused by its name, with the name that was meant")
def _unknown_argument(at: At) -> None:
    project = at.project()
    refusals = {
        "AddItem": {"project": project, **note("T", "c"), "tittle": "x"},
        "FindItems": {"queries": ["x"], "project": project, "limitt": 3},
        "ListItems": {"project": project, "include_deleted": True},
        "ListProjects": {"page": 2},
    }
    for tool, arguments in refusals.items():
        mentions(at.memory.refusal_of(tool, arguments), list(arguments)[-1], about=tool)
    mentions(at.memory.refusal_of("AddItem", refusals["AddItem"]), "did you mean title")
    same([], at.call("ListItems", project=project)["items"], "nothing was kept")


@CHAPTER.case("an argument of another type is refused by its name, never bent to fit")
def _wrong_types(at: At) -> None:
    project = at.project()
    item = at.add(project, "T", "c")["id"]
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("FindItems", {"queries": ["x"], "project": project, "limit": "3"}, "limit"),
        ("FindItems", {"queries": ["x"], "project": project, "limit": 3.5}, "limit"),
        ("FindItems", {"queries": ["x"], "project": project, "limit": True}, "limit"),
        ("FindItems", {"queries": '["x"]', "project": project}, "queries"),
        ("FindItems", {"queries": "x", "project": project}, "queries"),
        ("FindItems", {"queries": ["x"], "project": project, "explain": "true"}, "explain"),
        ("FindItems", {"queries": ["x"], "project": project, "minScore": "0.5"}, "minScore"),
        ("AddItem", {"project": project, **note("T", "c"), "tags": '["a"]'}, "tags"),
        ("AddItem", {"project": project, **note("T", "c"), "tags": [1]}, "tags"),
        ("AddItem", {"project": project, **note("T", "c"), "title": 5}, "title"),
        ("AddItem", {"project": project, **note("T", "c"), "title": None}, "title"),
        ("AddItems", {"project": project, "items": note("T", "c")}, "items"),
        ("GetItem", {"id": 5}, "id"),
        ("GetItem", {"id": "5"}, "id"),
        ("GetItems", {"ids": "x"}, "ids"),
        ("UpdateItem", {"id": item, "title": "x", "expectedVersion": "1"}, "expectedVersion"),
        ("RemoveEmbedding", {"id": item, "position": "1"}, "position"),
        ("ListItems", {"project": project, "createdFrom": "yesterday"}, "createdFrom"),
        ("ListItems", {"project": project, "createdFrom": 5}, "createdFrom"),
    ]
    for tool, arguments, field in wrong:
        mentions(at.memory.refusal_of(tool, arguments), field, about=f"{tool} {arguments}")
    same("c", at.call("GetItem", id=item)["item"]["content"], "nothing was changed")


@CHAPTER.case("an argument that is missing is refused by its name")
def _missing(at: At) -> None:
    for tool, arguments, field in (
        ("GetItem", {}, "id"),
        ("AddItem", {"category": "note"}, "title"),
        ("CreateProject", {}, "name"),
        ("FindItems", {"searchAllProjects": True}, "queries"),
    ):
        mentions(at.memory.refusal_of(tool, arguments), field, "required", about=tool)


@CHAPTER.case("a call without arguments is one with none")
def _no_arguments(at: At) -> None:
    message = at.memory.message("tools/call", {"name": "ListProjects"})
    answer = at.memory.post(message, at.memory.call_headers("ListProjects"))
    holds("projects" in json_of(status(answer, 200))["result"]["structuredContent"], "projects", "")
