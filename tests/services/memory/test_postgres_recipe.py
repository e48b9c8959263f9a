"""The recipe that comes along, over a real Postgres and embedding service."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.adapters import Item, Place, Wanted, made
from harness.probes import databases


@pytest.fixture(scope="module")
def recipe(backing: dict[str, Any]) -> Iterator[Any]:
    """A recipe with five documents in two projects."""
    place = Place(
        database_url=databases.create(backing["postgres"]["url"], "recipe"),
        embedding_url=backing["embedding"]["url"],
    )
    adapter: Any = made("postgres-recipe", place)
    adapter.prepare()
    adapter.add(
        "house",
        [
            Item(title="Pump", content="The pump in the cellar leaks.", category="note"),
            Item(title="Roof", content="Tiles were replaced in May.", category="todo", tags=("a",)),
            Item(title="Doctor", content="The physician's surgery is closed.", category="note"),
        ],
    )
    adapter.add("garden", [Item(title="Pump", content="A pump waters the beds.", status="done")])
    yield adapter
    adapter.close()


def _contents(recipe: Any, *texts: str, **where: Any) -> list[str]:
    wanted = Wanted(texts=texts, project=where.pop("project", None), limit=10, **where)
    return [hit.content.partition("\n")[0] for hit in recipe.find(wanted)]


def test_words_and_meaning_both_find(recipe: Any) -> None:
    assert _contents(recipe, "cellar pump")[0] == "Pump"
    assert _contents(recipe, "medical practice opening hours", project="house")[0] == "Doctor"


def test_filters_hold(recipe: Any) -> None:
    assert _contents(recipe, "pump", project="garden") == ["Pump"]
    assert _contents(recipe, "pump", categories=("todo",)) == ["Roof"]
    assert _contents(recipe, "pump", tags=("a",)) == ["Roof"]
    assert _contents(recipe, "pump", statuses=("done",)) == ["Pump"]


def test_scores_fall_and_ids_are_those_that_were_given(recipe: Any) -> None:
    (given,) = recipe.add("attic", [Item(title="Box", content="Christmas balls")])

    hits = recipe.find(Wanted(texts=("christmas balls",), project="attic", limit=3))

    assert [hit.id for hit in hits] == [given]
    scores = [hit.score for hit in recipe.find(Wanted(texts=("pump",), project=None, limit=5))]
    assert scores == sorted(scores, reverse=True)
