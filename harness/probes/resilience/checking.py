"""What is there afterwards: every item by its id and whole content, through the public tools."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness import mcp
from harness.probes.resilience.ledger import Ledger
from harness.probes.workbench import told

AT_ONCE = 100
PAGE = 200


@dataclass(frozen=True, slots=True)
class Checked:
    """How many items were looked at, and what is wrong with those that are not as they must be."""

    items: int
    wrong: tuple[str, ...]


def check(client: mcp.Client, ledger: Ledger) -> Checked:
    """Look at everything a ledger knows; raises `StackFailed` where the server does not answer."""
    wrong = [*_by_id(client, ledger), *_by_listing(client, ledger)]
    return Checked(len(ledger.entries), tuple(wrong))


def _by_id(client: mcp.Client, ledger: Ledger) -> Iterator[str]:
    """Each item that has an id: it must be there, in a form it may have."""
    for start in range(0, len(ledger.entries), AT_ONCE):
        some = ledger.entries[start : start + AT_ONCE]
        answer = told(client, "GetItems", ids=[entry.id for entry in some]).content
        found = {item["id"]: item for item in answer["items"]}
        for entry in some:
            if entry.id not in found:
                yield f"{entry.may_be[0].title} was acknowledged and is not there"
            elif why := entry.wrong(found[entry.id]):
                yield f"{entry.may_be[0].title}: {why}"


def _by_listing(client: mcp.Client, ledger: Ledger) -> Iterator[str]:
    """Calls that were not acknowledged: whole or not there; what was deleted: in no list."""
    items = list(_all_items(client, ledger.project))
    contents = " ".join(str(item["content"]) for item in items)
    words = set(contents.split())
    for unsure in ledger.unsure:
        if why := unsure.wrong(words):
            yield why
    listed = {item["id"] for item in items}
    for entry in ledger.entries:
        if entry.may_be[0].deleted and entry.id in listed:
            yield f"{entry.may_be[0].title} was deleted and is still listed"


def _all_items(client: mcp.Client, project: str) -> Iterator[dict[str, Any]]:
    page = told(client, "ListItems", project=project, limit=PAGE).content
    yield from page["items"]
    while cursor := page.get("nextCursor"):
        page = told(client, "ListItems", project=project, limit=PAGE, cursor=cursor).content
        yield from page["items"]
