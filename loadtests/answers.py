"""What an answer under load says: an error, or whether and what a search found."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness import mcp
from loadtests.plans import Shape


@dataclass(frozen=True, slots=True)
class Told:
    """Why an answer is no whole one; of a search, the id of its first hit, empty where it has none.

    `first_hit` is None of all that is no search.
    """

    error: str = ""
    first_hit: str | None = None


def _of_tool(answer: Any) -> Told:
    content = _content(answer)
    return content if isinstance(content, Told) else Told()


def _of_search(answer: Any) -> Told:
    """A search without a list of hits is none, whatever its status says."""
    content = _content(answer)
    if isinstance(content, Told):
        return content
    try:
        first = next(iter(content["hits"]), None)
        return Told(first_hit="" if first is None else str(first["item"]["id"]))
    except (KeyError, TypeError) as err:
        return Told(f"the answer lacks {err}; is it a FindItems result?")


def _of_write(answer: Any) -> Told:
    """A write that names no item keeps none."""
    content = _content(answer)
    if isinstance(content, Told):
        return content
    item = content.get("item")
    kept = isinstance(item, dict) and item.get("id")
    return Told() if kept else Told("the answer names no item; is it an AddItem result?")


def _of_embedding(answer: Any) -> Told:
    """Why an answer is not a list of vectors; a refusal for overload (429) is a failure too."""
    if answer.status_code == 0:
        return Told(f"no answer: {type(answer.error).__name__}")
    body = answer.content or b""
    if answer.status_code != 200:
        return Told(f"HTTP {answer.status_code}: {body[:160]!r}")
    vectors = (
        body.startswith(b"[[") and body.rstrip().endswith(b"]]") and not body.startswith(b"[[]")
    )
    return Told("" if vectors else "the answer is no list of vectors")


def _content(answer: Any) -> dict[str, Any] | Told:
    """A tool's content, or why there is none; a degraded search counts as failed."""
    if answer.status_code == 0:
        return Told(f"no answer: {type(answer.error).__name__}")
    try:
        content = mcp.content_of(answer.status_code, answer.content or b"")
    except (mcp.ToolRefused, mcp.BadAnswer) as err:
        return Told(f"HTTP {answer.status_code}: {err}")
    degraded = content.get("degraded")
    return Told(f"degraded: {degraded}") if degraded else content


TOLD: dict[Shape, Callable[[Any], Told]] = {
    "mcp": _of_tool,
    "search": _of_search,
    "write": _of_write,
    "embed": _of_embedding,
}
