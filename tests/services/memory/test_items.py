"""Keeping memory items: whole, versioned, and never half."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from memory_calls import note
from servers import Mcp, ToolFailed

OWN = {
    "requirement": {"statement": "Refunds settle within a day", "context": "Payments"},
    "location": {"itemName": "Spare keys", "place": "Drawer in the hall"},
    "todo": {"task": "Renew the certificate", "priority": "high"},
    "note": {"subject": "Standup", "body": "Nobody was blocked"},
}


@pytest.mark.parametrize("category", list(OWN))
def test_an_item_of_each_category_comes_back_whole(
    memory: Mcp, project: str, category: str
) -> None:
    texts = [{"label": "question", "text": "where would I look for this?"}]

    added = memory(
        "AddItem",
        project=project,
        category=category,
        title="A title",
        content="Some content",
        tags=["one", "two"],
        additionalEmbeddings=texts,
        **OWN[category],
    )["item"]

    found = memory("GetItem", id=added["id"])["item"]
    assert found == added
    assert {name: found[name] for name in OWN[category]} == OWN[category]
    assert found["status"] == ("open" if category == "todo" else "active")
    assert found["version"] == 1
    assert [one["position"] for one in found["embeddings"]] == [0, 1]
    assert found["embeddings"][1] == {"position": 1, **texts[0]}
    assert found["createdAt"].endswith("Z")
    others = {name for own in OWN.values() for name in own} - set(OWN[category])
    assert not others & set(found)


def test_many_items_are_added_all_or_none(memory: Mcp, project: str) -> None:
    good = [note(f"t{n}", "content") for n in range(3)]
    with pytest.raises(ToolFailed, match=r"items\.1\.title"):
        memory("AddItems", project=project, items=[good[0], note("", "content"), good[2]])
    assert memory("ListItems", project=project)["items"] == []

    added = memory("AddItems", project=project, items=good)["items"]

    assert [one["title"] for one in added] == ["t0", "t1", "t2"]
    assert [one["id"] for one in added] == sorted(one["id"] for one in added)


def test_of_two_savers_of_one_version_the_second_learns_of_the_conflict(
    memory: Mcp, project: str
) -> None:
    item = memory("AddItem", project=project, **note("Draft", "first"))["item"]
    memory("UpdateItem", id=item["id"], content="second", expectedVersion=1)

    with pytest.raises(ToolFailed, match="at version 2, you expected 1"):
        memory("UpdateItem", id=item["id"], content="third", expectedVersion=1)

    assert memory("GetItem", id=item["id"])["item"]["content"] == "second"


def test_changes_that_name_no_version_all_arrive(memory: Mcp, project: str) -> None:
    item = memory("AddItem", project=project, **note("Race", "start"))["item"]
    parts: list[dict[str, Any]] = [
        {"title": "Race won"},
        {"content": "finish"},
        {"tags": ["fast"]},
        {"body": "photo finish"},
    ]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda part: memory("UpdateItem", id=item["id"], **part), parts))

    found = memory("GetItem", id=item["id"])["item"]
    assert (found["title"], found["content"], found["tags"], found["body"]) == (
        "Race won",
        "finish",
        ["fast"],
        "photo finish",
    )
    assert found["version"] == 5
    assert "photo finish" in found["embeddings"][0]["text"]


def test_embeddings_stay_dense_and_position_0_is_not_to_be_touched(
    memory: Mcp, project: str
) -> None:
    extra = [{"label": name, "text": f"text {name}"} for name in "abc"]
    item = memory("AddItem", project=project, **note("T", "C"), additionalEmbeddings=extra)["item"]

    memory("RemoveEmbedding", id=item["id"], position=2)
    memory("AddEmbedding", id=item["id"], label="d", text="text d")
    found = memory("UpdateEmbedding", id=item["id"], position=1, text="text a2")["item"]

    assert [(one["position"], one["label"]) for one in found["embeddings"]] == [
        (0, ""),
        (1, "a"),
        (2, "c"),
        (3, "d"),
    ]
    assert found["embeddings"][1]["text"] == "text a2"
    assert found["version"] == 4
    for position in (0, 9):
        with pytest.raises(ToolFailed, match="position"):
            memory("RemoveEmbedding", id=item["id"], position=position)


def test_deleting_hides_and_restoring_brings_the_status_back(memory: Mcp, project: str) -> None:
    item = memory("AddItem", project=project, **note("Seldom", "word zyzzyva"))["item"]
    memory("SetItemStatus", id=item["id"], status="in review")

    deleted = memory("DeleteItem", id=item["id"])["item"]
    again = memory("DeleteItem", id=item["id"])["item"]

    assert (deleted["status"], again["version"]) == ("deleted", deleted["version"])
    assert memory("FindItems", queries=["zyzzyva"], project=project)["hits"] == []
    assert memory("ListItems", project=project)["items"] == []
    assert len(memory("ListItems", project=project, includeDeleted=True)["items"]) == 1
    with pytest.raises(ToolFailed, match="RestoreItem"):
        memory("UpdateItem", id=item["id"], title="x")

    restored = memory("RestoreItem", id=item["id"])["item"]

    assert (restored["status"], restored["deletedAt"]) == ("in review", None)
    assert len(memory("FindItems", queries=["zyzzyva"], project=project)["hits"]) == 1


def test_pages_hold_each_item_once_while_others_are_added(memory: Mcp, project: str) -> None:
    memory("AddItems", project=project, items=[note(f"n{i}", "c") for i in range(25)])
    seen: list[str] = []
    cursor = None
    while True:
        arguments = {"cursor": cursor} if cursor else {}
        page = memory("ListItems", project=project, limit=10, **arguments)
        seen += [one["title"] for one in page["items"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
        memory("AddItem", project=project, **note("late", "c"))

    assert [title for title in seen if title != "late"] == [f"n{i}" for i in range(25)]
    assert len(seen) == len({*seen} - {"late"}) + seen.count("late")


def test_a_list_is_narrowed_by_each_filter(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("a", "c", tags=["x", "y"]))
    memory("AddItem", project=project, **note("b", "c", tags=["y"], status="done"))
    middle = memory("ListItems", project=project)["items"][1]["createdAt"]

    def titles(**filters: Any) -> list[str]:
        found = memory("ListItems", project=project, **filters)["items"]
        return [one["title"] for one in found]

    assert titles(tags=["x", "y"]) == ["a"]
    assert titles(tags=["x", "y"], tagsMatch="any") == ["a", "b"]
    assert titles(status="done") == ["b"]
    assert titles(category=["todo"]) == []
    assert titles(createdFrom=middle) == ["b"]
    assert titles(createdBefore=middle) == ["a"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"title": ""}, "title: is empty"),
        ({"title": "x" * 501}, "title: has 501 characters; at most 500"),
        ({"content": "x" * 100_001}, "content: has 100001 characters; at most 100000"),
        ({"title": "a\x00b"}, "title: holds a NUL character"),
        ({"tags": ["x"] * 51}, "tags"),
        ({"tags": ["y" * 101]}, "tags.0: has 101 characters"),
        ({"status": "deleted"}, "status: 'deleted' is set by DeleteItem only"),
        ({"category": "requirment"}, "'requirement', 'location', 'todo' or 'note'"),
        ({"subject": None, "task": "x"}, "a note needs subject and body; missing: subject"),
        ({"priority": "high"}, "a note has subject and body, not priority"),
        ({"tittle": "x"}, "tittle: unknown field; did you mean title?"),
        ({"additionalEmbeddings": [{"label": "a"}]}, "additionalEmbeddings.0.text: is required"),
        ({"project": "nowhere"}, "there is no project 'nowhere'"),
    ],
)
def test_a_refusal_names_the_field_and_what_is_right(
    memory: Mcp, project: str, arguments: dict[str, Any], said: str
) -> None:
    wanted = {"project": project, **note("Title", "Content")} | arguments
    wanted = {name: value for name, value in wanted.items() if value is not None}

    with pytest.raises(ToolFailed) as refused:
        memory("AddItem", **wanted)

    assert said in str(refused.value)
    assert memory("ListItems", project=project)["items"] == []


def test_an_unknown_id_is_told_from_a_malformed_one(memory: Mcp) -> None:
    with pytest.raises(ToolFailed, match="there is no memory item"):
        memory("GetItem", id="01890000-0000-7000-8000-000000000000")
    with pytest.raises(ToolFailed, match="is not an id"):
        memory("GetItem", id="12")


def test_counts_and_postings_stay_true_through_every_kind_of_write(
    memory: Mcp, project: str, database_url: str
) -> None:
    items = memory(
        "AddItems", project=project, items=[note(f"n{i}", "alpha beta " * 200) for i in range(4)]
    )["items"]
    memory("UpdateItem", id=items[0]["id"], content="gamma only")
    memory("AddEmbedding", id=items[1]["id"], label="l", text="delta")
    memory("DeleteItem", id=items[2]["id"])
    memory("DeleteItem", id=items[3]["id"])
    memory("RestoreItem", id=items[3]["id"])

    with psycopg.connect(database_url) as connection:
        kept = connection.execute(
            "SELECT number, live_items, live_words, live_vectors FROM projects WHERE slug = %s",
            (project,),
        ).fetchone()
        assert kept is not None
        counted = connection.execute(
            "SELECT count(DISTINCT item_number), sum(frequency) FROM memory_item_terms "
            "WHERE project_number = %s",
            (kept[0],),
        ).fetchone()
        vectors = connection.execute(
            "SELECT count(*) FROM memory_item_embeddings WHERE live AND project_number = %s",
            (kept[0],),
        ).fetchone()
    assert counted is not None
    assert vectors is not None
    assert kept[1] == counted[0] == 3
    assert kept[2] == pytest.approx(float(counted[1]))
    assert kept[3] == vectors[0]
