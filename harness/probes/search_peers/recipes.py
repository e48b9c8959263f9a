"""The recipes' statements by name."""

from functools import cache
from pathlib import Path

RECIPES = {
    "tutorial": "tutorial recipe",
    "indexed": "tutorial recipe, HNSW used",
    "any_word": "the same, any keyword",
}
"""The functions a recipe's database has, and what people would call them."""


@cache
def _statements() -> dict[str, str]:
    text = Path(__file__).with_name("recipes.sql").read_text()
    found = {}
    for block in text.split("-- name: ")[1:]:
        name, _, body = block.partition("\n")
        found[name.strip()] = body.strip()
    return found


def sql(name: str) -> str:
    """One statement of `recipes.sql`."""
    return _statements()[name]
