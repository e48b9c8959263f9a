"""Which part of a set a quick run uses: every judged document, and a fixed choice of others."""

import hashlib

from harness.evalsets.records import Document, EvalSet

WHOLE_UP_TO = 1_000
"""Sets of up to so many documents are used whole."""
DISTRACTORS = 250
LONG_WORDS = 400
"""Sets whose documents are longer on average are left to full runs: they are mostly embedding."""


def quick(found: EvalSet) -> EvalSet | None:
    """The part of a set for a quick run, always the same; None when only full runs use it."""
    if len(found.documents) <= WHOLE_UP_TO:
        return found
    if _mean_words(found) > LONG_WORDS:
        return None
    judged = {id_ for grades in found.judgments.values() for id_ in grades}
    others = sorted((d for d in found.documents if d.id not in judged), key=_lot)
    chosen = judged | {document.id for document in others[:DISTRACTORS]}
    rule = f"all {len(judged)} judged documents and {DISTRACTORS} drawn by sha256 of their ids"
    return found.only((d for d in found.documents if d.id in chosen), rule)


def _mean_words(found: EvalSet) -> float:
    return sum(len(d.text.split()) for d in found.documents) / len(found.documents)


def _lot(document: Document) -> str:
    return hashlib.sha256(document.id.encode()).hexdigest()
