"""The evaluation set `evals/relevance/memory-notes` is whole and holds what its README promises."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SET = Path(__file__).parents[2] / "evals" / "relevance" / "memory-notes"

FIELDS = {
    "requirement": {"statement", "context"},
    "location": {"itemName", "place"},
    "todo": {"task", "priority"},
    "note": {"subject", "body"},
}
PRIORITIES = {"low", "normal", "high", "urgent"}

# A query of these kinds may stand in an item word for word: that is what one looks up.
LOOKUPS = {"identifier", "path", "cjk", "short"}

# Words of four letters and more which carry no subject.
GLUE = set(
    re.findall(
        r"\w+",
        "about after again also because before being could does during everybody from have into "
        "just more most nobody only same should some somebody somewhere than that their them then "
        "there these they this those until what when where which while whoever with without would "
        "your will were myself each every much many been over upon wherever ",
    )
)


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SET / name).read_text(encoding="utf-8").splitlines()]


ITEMS = _lines("corpus.jsonl")
QUERIES = _lines("queries.jsonl")
NOTHING = _lines("nothing-relevant.jsonl")
README = (SET / "README.md").read_text(encoding="utf-8")
BY_ID = {item["_id"]: item for item in ITEMS}
PROJECTS = {item["metadata"]["project"] for item in ITEMS}


def _judgments() -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for line in (SET / "qrels" / "dev.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, item, grade = line.split("\t")
        assert item not in judged.get(query, {}), f"{query} judges {item} twice"
        judged.setdefault(query, {})[item] = int(grade)
    return judged


JUDGED = _judgments()


def _texts(query: dict[str, Any]) -> list[str]:
    texts: list[str] = query["metadata"].get("queries", [query["text"]])
    return texts


def _own_texts(item: dict[str, Any]) -> list[str]:
    return [item["title"], item["text"], *item["metadata"]["fields"].values()]


def _content_words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.casefold())) - GLUE


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def _table(first_column: str) -> dict[str, list[str]]:
    """Rows of the README's table with that first heading, by their first cell."""
    table = re.search(rf"^\| {first_column} \|.*\n\|[-:|]+\n((?:\|.*\n)+)", README, re.MULTILINE)
    assert table, f"README has no table of {first_column}"
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table[1].splitlines()]
    return {row[0]: row[1:] for row in rows}


def _of_kind(kind: str) -> list[dict[str, Any]]:
    return [query for query in QUERIES if query["metadata"]["kind"] == kind]


def test_the_readme_counts_the_items_of_each_project_and_category() -> None:
    counts = Counter((i["metadata"]["project"], i["metadata"]["category"]) for i in ITEMS)

    told = {project: [int(n) for n in row[1:]] for project, row in _table("project").items()}

    assert told == {
        project: [
            sum(counts[project, category] for category in FIELDS),
            *(counts[project, category] for category in FIELDS),
        ]
        for project in PROJECTS
    }


def test_the_readme_counts_the_queries_of_each_kind() -> None:
    told = {kind: int(row[0]) for kind, row in _table("kind").items()}

    assert told == Counter(query["metadata"]["kind"] for query in QUERIES)


def test_the_readme_counts_the_judgments_of_each_grade() -> None:
    grades = Counter(grade for of_query in JUDGED.values() for grade in of_query.values())

    told = re.search(r"Judgments: (\S+) × 3, (\S+) × 2,\s(\S+) × 1, (\S+) × 0\.", README)

    assert told
    assert [int(n.replace(",", "")) for n in told.groups()] == [grades[g] for g in (3, 2, 1, 0)]


def test_the_readme_tells_the_other_sizes_truly() -> None:
    embeddings = [len(item["metadata"]["additionalEmbeddings"]) for item in ITEMS]
    near = [query["metadata"].get("nearMisses", []) for query in QUERIES]
    words = sum(len(item["text"].split()) for item in ITEMS)
    everywhere = sum(query["metadata"]["project"] is None for query in QUERIES)
    several = sum(len(_texts(query)) > 1 for query in QUERIES)
    promises = [
        f"{len(ITEMS)} memory items in six projects, {len(QUERIES)}",
        f"{len(NOTHING)} queries which nothing in the project answers",
        f"{words:,} words of content",
        f"{sum(map(bool, embeddings))} items carry {sum(embeddings)} additional embeddings",
        f"{everywhere} queries search all projects, {several} have two to four query texts",
        f"for {sum(map(bool, near))} queries, {sum(map(len, near))} deliberate near misses",
    ]

    told = " ".join(README.split())

    assert [promise for promise in promises if promise not in told] == []


def test_the_data_files_are_those_of_the_checksums() -> None:
    for line in (SET / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((SET / name).read_bytes()).hexdigest() == digest, name


def test_no_id_is_used_twice() -> None:
    ids = [row["_id"] for rows in (ITEMS, QUERIES, NOTHING) for row in rows]

    assert [name for name, times in Counter(ids).items() if times > 1] == []


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: str(item["_id"]))
def test_an_item_has_the_fields_of_its_category_within_the_limits(item: dict[str, Any]) -> None:
    meta = item["metadata"]

    assert set(meta["fields"]) == FIELDS[meta["category"]]
    assert meta["fields"].get("priority", "normal") in PRIORITIES
    assert all(text.strip() for text in _own_texts(item))
    assert len(item["title"]) <= 500
    assert len(item["text"]) <= 100_000
    assert meta["tags"]
    assert all(tag and len(tag) <= 100 for tag in meta["tags"])
    assert len(meta["additionalEmbeddings"]) <= 16
    assert all(set(e) == {"label", "text"} for e in meta["additionalEmbeddings"])


def test_at_least_twelve_items_are_longer_than_a_window() -> None:
    long_items = {i["_id"] for i in ITEMS if len(i["text"].split()) >= 500}
    asked_for = {q for q, grades in JUDGED.items() if any(grades.get(i) == 3 for i in long_items)}

    assert len(long_items) >= 12
    assert len(asked_for) >= 40


def test_every_query_has_one_to_four_texts_and_something_to_find() -> None:
    assert set(JUDGED) == {query["_id"] for query in QUERIES}
    for query in QUERIES:
        assert 1 <= len(_texts(query)) <= 4, query["_id"]
        assert _texts(query)[0] == query["text"], query["_id"]
        assert max(JUDGED[query["_id"]].values()) > 0, query["_id"]


def test_judged_items_exist_and_can_pass_the_filters_of_their_query() -> None:
    for query in QUERIES:
        asked = query["metadata"]
        for item, grade in JUDGED[query["_id"]].items():
            meta = BY_ID[item]["metadata"]
            assert grade in {0, 1, 2, 3}
            assert asked["project"] in {None, meta["project"]}, (query["_id"], item)
            assert asked.get("category", meta["category"]) == meta["category"], query["_id"]
            assert asked.get("status", meta["status"]) == meta["status"], query["_id"]
            assert set(asked.get("tags", [])) <= set(meta["tags"]), query["_id"]


def test_named_near_misses_are_judged_not_relevant() -> None:
    named = [query for query in QUERIES if query["metadata"].get("nearMisses")]

    assert len(named) >= 30
    for query in named:
        for item in query["metadata"]["nearMisses"]:
            assert JUDGED[query["_id"]][item] == 0, (query["_id"], item)


def test_a_paraphrase_shares_no_content_word_with_the_item_it_wants() -> None:
    shared = {
        (query["_id"], item): words
        for query in _of_kind("paraphrase")
        for item, grade in JUDGED[query["_id"]].items()
        if grade == 3
        and (
            words := _content_words(query["text"])
            & _content_words(" ".join(_own_texts(BY_ID[item])))
        )
    }

    assert shared == {}


def test_a_query_about_an_additional_embedding_wants_an_item_that_has_one() -> None:
    for query in _of_kind("additional-embedding"):
        wanted = [item for item, grade in JUDGED[query["_id"]].items() if grade == 3]
        assert any(BY_ID[item]["metadata"]["additionalEmbeddings"] for item in wanted), query["_id"]


def test_no_query_but_a_lookup_is_copied_from_an_item() -> None:
    whole = {
        _plain(text)
        for item in ITEMS
        for text in (
            *_own_texts(item),
            *(e["text"] for e in item["metadata"]["additionalEmbeddings"]),
        )
    }

    copied = [
        query["_id"]
        for query in QUERIES
        if query["metadata"]["kind"] not in LOOKUPS
        and any(_plain(text) in whole for text in _texts(query))
    ]

    assert copied == []


def test_queries_without_an_answer_stay_within_known_projects() -> None:
    assert len(NOTHING) >= 25
    assert {row["project"] for row in NOTHING} == PROJECTS
    assert {row["kind"] for row in NOTHING} == {"plausible", "out-of-world", "nonsense"}
    assert not {row["text"] for row in NOTHING} & {query["text"] for query in QUERIES}


def test_a_query_is_narrowed_by_the_tags_and_the_status_it_names() -> None:
    from harness.evalsets import beir

    queries = {query.id: query for query in beir.read(SET).queries}

    assert queries["f-06"].tags == ("localisation",)
    assert queries["f-09"].statuses == ("superseded",)
    assert queries["f-02"].categories == ("todo",)
