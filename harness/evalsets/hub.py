"""Reads an eval set by its name in the `ir_datasets` catalogue; needs the `hub` extra."""

import hashlib
from typing import Any

from harness.errors import HarnessError, UsageMistake
from harness.evalsets import limits
from harness.evalsets.records import Document, EvalSet, Judgments, Query


def read(name: str) -> EvalSet:
    """The set with that name, such as `beir/scifact/test`; it is fetched where it is not yet."""
    try:
        return _read(name, _dataset(name))
    except OSError as err:  # of files and of the network: the library raises both as they come
        raise HarnessError(
            f"{name}: cannot be fetched ({type(err).__name__}: {str(err)[:80]}); without internet "
            "put the set into a folder of sets and name that by CORTEX_EVAL_SETS"
        ) from err


def _read(name: str, dataset: Any) -> EvalSet:
    documents = tuple(_document(found) for found in dataset.docs_iter())
    judgments = _judgments(dataset, {document.id for document in documents})
    queries = tuple(
        Query(found.query_id, (found.default_text(),))
        for found in dataset.queries_iter()
        if found.query_id in judgments
    )
    missing = judgments.keys() - {query.id for query in queries}
    if not queries or missing:
        raise UsageMistake(f"{name}: {len(missing) or 'no'} judged queries have no text")
    return EvalSet(
        name=name.replace("/", "-"),
        documents=documents,
        queries=queries,
        judgments=judgments,
        checksum=_checksum(documents, queries, judgments),
        source=f"ir_datasets {name}",
    )


def _dataset(name: str) -> Any:
    try:
        import ir_datasets
    except ModuleNotFoundError as err:
        raise UsageMistake(
            f"--hub {name} needs ir-datasets: pip install 'cortex-stack[hub]'"
        ) from err
    try:
        dataset = ir_datasets.load(name)
    except KeyError as err:
        raise UsageMistake(f"{name}: not in the catalogue of ir_datasets") from err
    lacking = [
        part for part in ("docs", "queries", "qrels") if not getattr(dataset, f"has_{part}")()
    ]
    if lacking:
        raise UsageMistake(f"{name}: has no {', '.join(lacking)}; name a subset that has them")
    return dataset


def _document(found: Any) -> Document:
    title = getattr(found, "title", "") or ""
    text = getattr(found, "text", None) or found.default_text()
    if not text.strip():
        text = title
    document = Document(found.doc_id, title, text)
    if fault := limits.fault_of_document(document):
        raise UsageMistake(f"document {document.id!r} {fault}")
    return document


def _judgments(dataset: Any, known: set[str]) -> Judgments:
    judgments: Judgments = {}
    for judged in dataset.qrels_iter():
        if judged.doc_id not in known:
            raise UsageMistake(f"query {judged.query_id!r}: document {judged.doc_id!r} is missing")
        judgments.setdefault(judged.query_id, {})[judged.doc_id] = max(0, int(judged.relevance))
    return {query: grades for query, grades in judgments.items() if any(grades.values())}


def _checksum(
    documents: tuple[Document, ...], queries: tuple[Query, ...], judgments: Judgments
) -> str:
    digest = hashlib.sha256()
    for document in documents:
        digest.update(f"{document.id}\0{document.title}\0{document.text}\0".encode())
    for query in queries:
        digest.update(
            f"{query.id}\0{query.texts[0]}\0{sorted(judgments[query.id].items())}".encode()
        )
    return digest.hexdigest()
