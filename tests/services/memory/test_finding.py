"""FindItems: the failures seen in public that ours must not show."""

from typing import Any

import pytest
from cortex.memory.store import search
from memory_calls import new_project, note
from servers import Mcp, ToolFailed


def titles(answer: dict[str, Any]) -> list[str]:
    return [hit["item"]["title"] for hit in answer["hits"]]


def test_a_question_finds_the_item_that_shares_some_of_its_words(memory: Mcp, project: str) -> None:
    memory(
        "AddItem",
        project=project,
        **note("Deploys", "Workers crash after each deploy because of a stale socket"),
    )

    answer = memory(
        "FindItems",
        queries=["why do workers crash right after a deploy"],
        project=project,
        explain=True,
    )

    assert titles(answer) == ["Deploys"]
    assert answer["hits"][0]["parts"]["text"] > 0


def test_an_exact_identifier_comes_first_among_fluent_distractors(
    memory: Mcp, project: str
) -> None:
    many = [
        note(f"Incident review {i}", f"An incident with number {i} was reviewed and closed well")
        for i in range(50)
    ]
    memory("AddItems", project=project, items=[*many, note("Closed", "INC-88213")])

    for query in ("INC-88213", "inc 88213", "what happened in INC-88213?"):
        assert titles(memory("FindItems", queries=[query], project=project))[0] == "Closed"


def test_part_of_an_unspaced_text_is_found(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("数据库迁移计划", "下周开始"))
    memory("AddItems", project=project, items=[note(f"o{i}", f"other {i}") for i in range(10)])

    assert titles(memory("FindItems", queries=["迁移"], project=project))[0] == "数据库迁移计划"


@pytest.mark.parametrize("query", ["what is the", "?!", "🎉", "…"])
def test_a_query_without_words_answers_by_meaning_and_says_so(
    memory: Mcp, project: str, query: str
) -> None:
    memory("AddItem", project=project, **note("Something", "to be found"))

    answer = memory("FindItems", queries=[query], project=project)

    assert titles(answer) == ["Something"]
    assert "no usable words" in answer["notes"][0]


def test_deleted_items_take_no_places(memory: Mcp, project: str) -> None:
    items = memory(
        "AddItems",
        project=project,
        items=[note(f"n{i:03}", f"the pump in cellar {i} leaks oil") for i in range(100)],
    )["items"]
    nearest = memory("FindItems", queries=["pump leaks oil"], project=project, limit=100)
    doomed = [hit["item"]["id"] for hit in nearest["hits"][:60]]
    for item_id in doomed:
        memory("DeleteItem", id=item_id)

    found = memory("FindItems", queries=["pump leaks oil"], project=project, limit=20)["hits"]

    assert len(items) == 100
    assert len(found) == 20
    assert not {hit["item"]["id"] for hit in found} & set(doomed)


def test_an_edit_is_found_by_its_new_text_only(memory: Mcp, project: str) -> None:
    item = memory("AddItem", project=project, **note("Colour", "the door is vermilion"))["item"]

    memory("UpdateItem", id=item["id"], content="the door is turquoise")

    new = memory("FindItems", queries=["turquoise"], project=project, explain=True)["hits"][0]
    old = memory("FindItems", queries=["vermilion"], project=project, explain=True)["hits"]
    assert new["parts"]["text"] > 0
    assert all(hit["parts"]["text"] == 0 for hit in old)
    assert "turquoise" in new["snippet"]


def test_a_fact_at_the_end_of_a_long_text_is_found(memory: Mcp, project: str) -> None:
    filler = " ".join(f"paragraph {i} speaks about ordinary matters of the day" for i in range(400))
    memory("AddItem", project=project, **note("Long", filler + " The vault code is kept by Ines."))
    memory("AddItems", project=project, items=[note(f"s{i}", filler[:900]) for i in range(10)])

    answer = memory("FindItems", queries=["who has the code of the vault"], project=project)

    assert titles(answer)[0] == "Long"
    assert "Ines" in answer["hits"][0]["snippet"]


def test_a_perfect_and_a_nonsense_query_score_clearly_apart(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("Boiler", "The boiler is serviced each October"))

    good = memory("FindItems", queries=["when is the boiler serviced"], project=project)
    nonsense = memory("FindItems", queries=["quantum llama ballet tariffs"], project=project)

    assert good["hits"][0]["score"] > 0.5
    assert nonsense["hits"] == []
    assert nonsense["nothingRelevant"] is True


def test_an_item_comes_once_by_its_best_query_and_embedding(memory: Mcp, project: str) -> None:
    extra = [{"label": "slang", "text": "where is the brolly"}]
    memory(
        "AddItem",
        project=project,
        **note("Umbrella stand", "In the hall behind the coats"),
        additionalEmbeddings=extra,
    )

    answer = memory("FindItems", queries=["zebra crossing", "brolly"], project=project)

    assert titles(answer) == ["Umbrella stand"]
    assert answer["hits"][0]["matchedQuery"] == 1
    assert answer["hits"][0]["matchedEmbedding"] == {"position": 1, "label": "slang"}


def test_a_small_project_beside_a_large_one_gets_all_its_best(memory: Mcp) -> None:
    small, large = new_project(memory), new_project(memory)
    for start in range(0, 300, 100):
        memory(
            "AddItems",
            project=large,
            items=[note(f"L{i}", f"pump number {i} leaks") for i in range(start, start + 100)],
        )
    memory(
        "AddItems", project=small, items=[note(f"S{i}", f"a pump of kind {i}") for i in range(30)]
    )

    found = titles(memory("FindItems", queries=["leaking pump"], project=small, limit=30))

    assert sorted(found) == sorted(f"S{i}" for i in range(30))


def test_filters_hold_and_a_value_that_matches_nothing_is_named(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("Red", "a red pump", tags=["garden"]))
    memory("AddItem", project=project, **note("Blue", "a blue pump", status="done"))

    def find(**filters: Any) -> dict[str, Any]:
        return memory("FindItems", queries=["pump"], project=project, **filters)

    assert titles(find(tags=["garden"])) == ["Red"]
    assert titles(find(status=["done"])) == ["Blue"]
    assert find(tags=["gardn"])["notes"] == ["no memory item here has tag 'gardn'"]
    assert "matches all of them" in find(tags=["garden"], status="done")["notes"][0]
    with pytest.raises(ToolFailed, match="'requirement', 'location', 'todo' or 'note'"):
        find(category="requirment")


def test_exactly_one_of_project_and_all_projects_is_asked(memory: Mcp, project: str) -> None:
    for wrong in ({}, {"project": project, "searchAllProjects": True}):
        with pytest.raises(ToolFailed, match="exactly one of project and searchAllProjects"):
            memory("FindItems", queries=["x"], **wrong)


def test_operators_are_obeyed_only_when_meant(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("Staging", "deploy to staging by hand"))
    memory("AddItem", project=project, **note("Prod", "deploy to production; rollback -f prod"))

    def find(query: str) -> list[str]:
        return titles(memory("FindItems", queries=[query], project=project))

    assert find("deploy -staging") == ["Prod"]
    assert find("rollback -f prod")[0] == "Prod"
    assert find('"staging by hand"') == ["Staging"]
    assert set(find('somebody said "deploy" needs care -today okay')) == {"Staging", "Prod"}


def test_long_content_is_cut_with_a_mark_and_its_length(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("Long", "pump " * 1000))

    hit = memory("FindItems", queries=["pump"], project=project, maxContentChars=20)["hits"][0]

    assert hit["item"]["content"] == "pump pump pump pump  … [cut: 20 of 5000 characters]"


def test_hits_below_the_least_score_are_counted(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("Pump", "pump pump pump"))
    memory("AddItem", project=project, **note("Other", "a garden hose, and once a pump"))

    answer = memory("FindItems", queries=["pump"], project=project, minScore=0.99)

    assert answer["hits"] == []
    assert answer["hiddenByMinScore"] == 2
    assert answer["nothingRelevant"] is False


def test_ignored_words_are_named(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("Pump", "the pump"))

    answer = memory("FindItems", queries=["the pump"], project=project)

    assert answer["ignoredWords"] == ["the"]


@pytest.mark.parametrize("strategy", ["reciprocal-rank", "text-only", "vector-only"])
def test_each_strategy_answers(start: Any, memory: Mcp, project: str, strategy: str) -> None:
    memory("AddItem", project=project, **note("Pump", "the pump in the cellar"))

    answer = start(fusion=strategy)("FindItems", queries=["cellar pump"], project=project)

    assert titles(answer) == ["Pump"]


@pytest.mark.parametrize("vector_search", ["exact", "indexed"])
def test_the_index_and_a_comparison_of_all_find_the_same_in_a_small_project(
    start: Any, memory: Mcp, project: str, vector_search: str
) -> None:
    items = [note(f"n{i}", f"pump {i} valve {i % 7} pipe {i % 11}") for i in range(80)]
    memory("AddItems", project=project, items=items)
    ask = {"queries": ["valve 3 of pump 24"], "project": project, "limit": 10}

    assert start(vector_search=vector_search)("FindItems", **ask) == memory("FindItems", **ask)


@pytest.mark.parametrize("vector_search", ["exact", "indexed"])
@pytest.mark.parametrize(
    "narrowed",
    [
        {"tags": ["even"]},
        {"tags": ["even", "third"], "limit": 8},
        {"category": ["todo", "note"], "status": ["active"]},
        {"queries": ["valve of pump -brass"]},
        {"queries": ['"steel pump"'], "tags": ["even"]},
        {"queries": ['"steel pump" valve']},
    ],
)
def test_a_filter_that_leaves_more_than_is_listed_leaves_the_same(
    start: Any,
    memory: Mcp,
    project: str,
    monkeypatch: pytest.MonkeyPatch,
    vector_search: str,
    narrowed: dict[str, Any],
) -> None:
    items = [
        note(
            f"n{i}",
            f"{('steel', 'brass', 'copper')[i % 3]} pump {i} valve {i % 7}",
            tags=[*["even"] * (i % 2 == 0), *["third"] * (i % 3 == 0)],
            status="done" if i % 5 == 0 else "active",
        )
        for i in range(60)
    ]
    made = memory("AddItems", project=project, items=items)["items"]
    memory("DeleteItem", id=made[4]["id"])
    ask = {"queries": ["valve 3 of pump 24"], "project": project, "limit": 30} | narrowed
    listed = memory("FindItems", **ask)

    monkeypatch.setattr(search, "MOST_LISTED", 5)
    asked_by_row = start(vector_search=vector_search)("FindItems", **ask)

    assert 5 < len(listed["hits"]) < 59
    assert asked_by_row == listed


def test_a_server_just_started_gives_the_same_hits(start: Any, memory: Mcp, project: str) -> None:
    memory("AddItems", project=project, items=[note(f"n{i}", f"pump {i} valve") for i in range(60)])
    ask = {"queries": ["valve of the pump", "pump 7"], "project": project, "limit": 50}

    assert start()("FindItems", **ask) == memory("FindItems", **ask)


def test_a_query_longer_than_the_model_reads_is_said_to_be(memory: Mcp, project: str) -> None:
    memory("AddItem", project=project, **note("Pump", "the pump"))
    long = "where is the pump of the cellar " * 60

    answer = memory("FindItems", queries=["pump", long], project=project)

    assert titles(answer) == ["Pump"]
    assert answer["notes"] == [
        "query 2 is longer than the embedding model reads: its meaning is that of its beginning, "
        "its words all count"
    ]
