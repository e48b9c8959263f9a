"""Reads one eval set from a folder in BEIR form; what is wrong is named by file and line."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import UsageMistake
from harness.evalsets import limits
from harness.evalsets.records import Document, EvalSet, Extra, Judgments, Query

CATEGORIES = {
    "requirement": ("statement", "context"),
    "location": ("itemName", "place"),
    "todo": ("task", "priority"),
    "note": ("subject", "body"),
}
"""A memory item's categories and the fields each of them needs."""

LARGEST_GRADE = 9
QRELS_HEADER = ("query-id", "corpus-id", "score")
Row = dict[str, Any]


def read(folder: Path) -> EvalSet:
    """The set in a folder: `corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`; named as the folder."""
    qrels = _qrels_file(folder)
    files = [folder / "corpus.jsonl", folder / "queries.jsonl", qrels]
    extra = folder / "nothing-relevant.jsonl"
    if extra.exists():
        files.append(extra)
    for path in files:
        if not path.is_file():
            raise UsageMistake(f"{path}: missing; an eval set has {_FILES}")
    _check_sums(folder)
    documents = _documents(folder / "corpus.jsonl")
    queries = _queries(folder / "queries.jsonl", documents)
    judgments = _judgments(qrels, documents, queries)
    return EvalSet(
        name=folder.name,
        documents=tuple(documents.values()),
        queries=tuple(query for query in queries.values() if query.id in judgments),
        judgments=judgments,
        checksum=_checksum(files),
        source=folder.name,
        unanswerable=tuple(_queries(extra, documents).values()) if extra.exists() else (),
    )


_FILES = "corpus.jsonl, queries.jsonl and one qrels/NAME.tsv"


def _qrels_file(folder: Path) -> Path:
    found = sorted((folder / "qrels").glob("*.tsv"))
    preferred = [path for path in found if path.stem == "dev"] or found
    if len(preferred) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise UsageMistake(f"{folder}/qrels: has {names}; want dev.tsv, or exactly one .tsv file")
    return preferred[0]


def _check_sums(folder: Path) -> None:
    """Hold the files against `SHA256SUMS` where the set has one."""
    sums = folder / "SHA256SUMS"
    if not sums.exists():
        return
    for number, line in enumerate(_lines(sums), start=1):
        if not line.strip():
            continue
        wanted, _, name = line.partition("  ")
        path = folder / name.lstrip("*")
        if not path.is_file():
            raise UsageMistake(f"{sums}:{number}: names {name!r}, which is not in the folder")
        if hashlib.sha256(path.read_bytes()).hexdigest() != wanted.strip():
            raise UsageMistake(f"{path}: its sha256 is not the one in {sums}:{number}")


def _lines(path: Path) -> list[str]:
    """The lines of a text file; only line ends end them, since ids may hold other separators."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as err:
        line = path.read_bytes()[: err.start].count(b"\n") + 1
        raise UsageMistake(f"{path}:{line}: not UTF-8 text: {err.reason}") from err
    return text.split("\n")


def _checksum(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    """The objects of a JSON Lines file with their places; duplicate ids and empty files refused."""
    seen: dict[str, int] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            place = f"{path}:{number}"
            if not line.strip():
                continue
            row = _object(place, line)
            id_ = _text(place, row, "_id")
            if not id_:
                raise UsageMistake(f"{place}: _id is empty; every line needs its own")
            if id_ in seen:
                raise UsageMistake(f"{place}: _id {id_!r} is already used in line {seen[id_]}")
            seen[id_] = number
            yield place, row
    if not seen:
        raise UsageMistake(f'{path}: is empty; want one JSON object a line, such as {{"_id": "1"}}')


def _object(place: str, line: bytes) -> Row:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as err:
        raise UsageMistake(f"{place}: not JSON: {err.msg}, at character {err.pos + 1}") from err
    except (ValueError, RecursionError) as err:
        raise UsageMistake(f"{place}: not JSON: {err}") from err
    if not isinstance(row, dict):
        raise UsageMistake(f"{place}: is {type(row).__name__}; want a JSON object")
    return row


def _text(place: str, row: Row, key: str, default: str | None = None) -> str:
    value = row.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise UsageMistake(f"{place}: {key} is {json.dumps(value)[:60]}; want a text")
    return value


def _texts(place: str, row: Row, key: str) -> tuple[str, ...]:
    value = row.get(key) or []
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageMistake(f"{place}: {key} is {json.dumps(value)[:60]}; want a list of texts")
    return tuple(value)


def _metadata(place: str, row: Row) -> Row:
    value = row.get("metadata") or {}
    if not isinstance(value, dict):
        raise UsageMistake(f"{place}: metadata is {type(value).__name__}; want a JSON object")
    return value


def _documents(path: Path) -> dict[str, Document]:
    documents = {}
    for place, row in _rows(path):
        document = _document(place, row)
        documents[document.id] = document
    return documents


def _document(place: str, row: Row) -> Document:
    more = _metadata(place, row)
    document = Document(
        id=row["_id"],
        title=_text(place, row, "title", ""),
        text=_text(place, row, "text"),
        project=_text(place, more, "project", "all"),
        category=_text(place, more, "category", ""),
        tags=_texts(place, more, "tags"),
        status=_text(place, more, "status", ""),
        fields=_fields(place, more),
        extras=_extras(place, more),
    )
    if fault := limits.fault_of_document(document):
        raise UsageMistake(f"{place}: document {document.id!r} {fault}")
    return document


def _fields(place: str, more: Row) -> dict[str, str]:
    category = more.get("category") or ""
    if not category:
        if isinstance(more.get("fields"), dict):
            kinds = ", ".join(CATEGORIES)
            raise UsageMistake(f"{place}: has fields and no category; say which of {kinds}")
        return {}
    if category not in CATEGORIES:
        raise UsageMistake(f"{place}: category is {category!r}; one of {', '.join(CATEGORIES)}")
    fields = more.get("fields")
    wanted = CATEGORIES[category]
    if not isinstance(fields, dict) or set(fields) != set(wanted):
        found = sorted(fields) if isinstance(fields, dict) else fields
        raise UsageMistake(f"{place}: fields of a {category} are {', '.join(wanted)}; has {found}")
    return {name: _text(place, fields, name) for name in wanted}


def _extras(place: str, more: Row) -> tuple[Extra, ...]:
    listed = more.get("additionalEmbeddings") or []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise UsageMistake(f'{place}: additionalEmbeddings: want [{{"label": …, "text": …}}]')
    return tuple(Extra(_text(place, one, "label"), _text(place, one, "text")) for one in listed)


def _queries(path: Path, documents: dict[str, Document]) -> dict[str, Query]:
    projects = {document.project for document in documents.values()}
    queries = {}
    for place, row in _rows(path):
        query = _query(place, row)
        if query.project is not None and query.project not in projects:
            known = ", ".join(sorted(projects)[:8])
            raise UsageMistake(f"{place}: project {query.project!r} has no document; has {known}")
        queries[query.id] = query
    return queries


def _query(place: str, row: Row) -> Query:
    more = _metadata(place, row)
    texts = _texts(place, more, "queries") or (_text(place, row, "text"),)
    project = row.get("project", more.get("project"))
    if project is not None and not isinstance(project, str):
        raise UsageMistake(f"{place}: project is {project!r}; want a slug, or null for all")
    query = Query(
        id=row["_id"],
        texts=texts,
        project=project,
        categories=_texts(place, more, "category"),
        tags=_texts(place, more, "tags"),
        statuses=_texts(place, more, "status"),
        kind=_text(place, more, "kind", ""),
        language=_text(place, more, "language", ""),
        answers=_texts(place, more, "answers"),
    )
    if fault := limits.fault_of_query(query):
        raise UsageMistake(f"{place}: query {query.id!r} {fault}")
    return query


def _judgments(path: Path, documents: dict[str, Document], queries: dict[str, Query]) -> Judgments:
    judgments: Judgments = {}
    lines = _lines(path)
    if not lines or tuple(lines[0].split("\t")) != QRELS_HEADER:
        raise UsageMistake(f"{path}:1: want the header {' <tab> '.join(QRELS_HEADER)}")
    for number, line in enumerate(lines[1:], start=2):
        if line.strip():
            _judge_line(f"{path}:{number}", line, judgments, documents, queries)
    for query, grades in judgments.items():
        if not any(grades.values()):
            raise UsageMistake(
                f"{path}: query {query!r} has no relevant document, so no metric is defined; "
                "take it out, or put it in nothing-relevant.jsonl"
            )
    if not judgments:
        raise UsageMistake(f"{path}: has no judgment; want lines such as q1 <tab> d1 <tab> 1")
    return judgments


def _judge_line(
    place: str,
    line: str,
    judgments: Judgments,
    documents: dict[str, Document],
    queries: dict[str, Query],
) -> None:
    parts = line.split("\t")
    if len(parts) != len(QRELS_HEADER):
        raise UsageMistake(
            f"{place}: has {len(parts)} columns; want {' <tab> '.join(QRELS_HEADER)}"
        )
    query, document, grade = parts
    if query not in queries:
        raise UsageMistake(f"{place}: query {query!r} is not in queries.jsonl")
    if document not in documents:
        raise UsageMistake(f"{place}: document {document!r} is not in corpus.jsonl")
    if not (grade.isascii() and grade.isdecimal() and len(grade) == 1):
        raise UsageMistake(f"{place}: grade is {grade!r}; want a whole number 0 to {LARGEST_GRADE}")
    if int(grade) and (why := _out_of_reach(queries[query], documents[document])):
        raise UsageMistake(f"{place}: query {query!r} can never find document {document!r}: {why}")
    if document in judgments.setdefault(query, {}):
        raise UsageMistake(f"{place}: query {query!r} and document {document!r} are judged twice")
    judgments[query][document] = int(grade)


def _out_of_reach(query: Query, document: Document) -> str:
    """How a query's own restriction leaves out a document that is said to answer it, or nothing."""
    category = document.category or "note"
    if query.project not in (None, document.project):
        return f"it asks for project {query.project!r}, the document lies in {document.project!r}"
    if query.categories and category not in query.categories:
        return f"it asks for a {' or a '.join(query.categories)}, the document is a {category}"
    return ""
