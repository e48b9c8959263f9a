"""The nouns of an eval set: `EvalSet`, `Document`, `Query`; no reading, no writing."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

Judgments = dict[str, dict[str, int]]
"""Query id -> document id -> grade; 0 is judged and not relevant."""


@dataclass(frozen=True, slots=True)
class Extra:
    """An additional text a document is found by."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """One document; `category` is empty where the set says nothing about memory items."""

    id: str
    title: str
    text: str
    project: str = "all"
    category: str = ""
    tags: tuple[str, ...] = ()
    status: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    extras: tuple[Extra, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """One query: one to four texts, and what it is restricted to."""

    id: str
    texts: tuple[str, ...]
    project: str | None = None
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    kind: str = ""
    language: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvalSet:
    """A whole eval set; `whole` is False when `documents` are a subset of the corpus."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    judgments: Judgments
    checksum: str
    source: str
    unanswerable: tuple[Query, ...] = ()
    rule: str = "whole corpus"

    @property
    def projects(self) -> list[str]:
        """The projects its documents lie in, in order of first appearance."""
        return list(dict.fromkeys(document.project for document in self.documents))

    @property
    def fingerprint(self) -> str:
        """A checksum of the files and of which documents are used: what makes scores comparable."""
        ids = "\n".join(document.id for document in self.documents)
        return hashlib.sha256(f"{self.checksum}\n{self.rule}\n{ids}".encode()).hexdigest()

    def only(self, documents: Iterable[Document], rule: str) -> "EvalSet":
        """The same set with fewer documents, and the rule that chose them."""
        return replace(self, documents=tuple(documents), rule=rule)
