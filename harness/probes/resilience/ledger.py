"""What was written, by what the server said of it; pure, and safe to share between threads.

A write is *acknowledged*, *refused* (it must not have happened) or *open* (no answer came, or one
that leaves it open: it may have happened, as a whole, or not).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Form:
    """How an item looks; `word` is in its text and in no other item's."""

    word: str
    title: str
    content: str
    tags: tuple[str, ...]
    deleted: bool = False

    def as_new(self) -> dict[str, object]:
        """As `AddItems` takes it."""
        return {
            "category": "note",
            "title": self.title,
            "content": self.content,
            "tags": list(self.tags),
            "subject": f"subject of {self.word}",
            "body": f"body of {self.word}",
        }

    def differs_from(self, item: dict[str, Any]) -> str:
        """What of a stored item is not as it should be; empty where all is."""
        wanted = {**self.as_new(), "deleted": self.deleted}
        found = {**item, "deleted": item.get("deletedAt") is not None}
        return "; ".join(
            f"{name} is {str(found.get(name))[:60]!r}, not {str(value)[:60]!r}"
            for name, value in wanted.items()
            if found.get(name) != value
        )


@dataclass(slots=True)
class Entry:
    """An item whose id is known, and each form it may have now; the first is acknowledged."""

    id: str
    may_be: list[Form]

    def changed(self, form: Form) -> None:
        """A change was acknowledged."""
        self.may_be = [form]

    def may_have_changed(self, form: Form) -> None:
        """Whether a change was made is open."""
        self.may_be = [*self.may_be, form]

    def wrong(self, item: dict[str, Any]) -> str:
        """What is not as any of the forms; empty where one fits."""
        differences = [form.differs_from(item) for form in self.may_be]
        return "" if "" in differences else differences[0]


@dataclass(frozen=True, slots=True)
class Unsure:
    """Items of one call that has no ids; `refused` ones must not be there."""

    forms: tuple[Form, ...]
    refused: bool

    def wrong(self, words: set[str]) -> str:
        """What is wrong, given the words of all items there are."""
        there = [form for form in self.forms if form.word in words]
        if self.refused and there:
            return f"{there[0].title} was refused and is there"
        if there and len(there) < len(self.forms):
            return f"{len(there)} of {len(self.forms)} items of one call are there"
        return ""


@dataclass(slots=True)
class Ledger:
    """All writes to one project. Lists only grow, so that threads need no lock."""

    project: str
    entries: list[Entry] = field(default_factory=list)
    settled: list[Entry] = field(default_factory=list)
    unsure: list[Unsure] = field(default_factory=list)
    acknowledged: int = 0

    def added(self, forms: Sequence[Form], ids: Sequence[str]) -> list[Entry]:
        """Items were acknowledged; the first is never changed, and searched for ever after."""
        made = [Entry(id_, [form]) for id_, form in zip(ids, forms, strict=True)]
        self.entries += made
        self.settled.append(made[0])
        return made[1:]


def deleted(form: Form) -> Form:
    """The same item, gone."""
    return replace(form, deleted=True)
