"""Ranking metrics per query, by ir-measures over pytrec_eval.

A query's hits are scored by 1 / place, so that the server's own order counts and nothing else;
the judged queries are iterated, and one without a hit counts 0 (a query that could not be asked
must not get here). nDCG has linear gain, its ideal over all judged documents.
"""

from collections.abc import Mapping, Sequence

import ir_measures

from harness.errors import HarnessError

MEASURES = {
    "ndcg@10": ir_measures.nDCG @ 10,
    "recall@10": ir_measures.R @ 10,
    "recall@100": ir_measures.R @ 100,
    "rr@10": ir_measures.RR @ 10,
}
Scores = dict[str, dict[str, float]]
"""Metric -> query id -> score in 0 to 1."""


def score(
    judgments: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
    known: frozenset[str] | set[str],
) -> Scores:
    """Each metric of each judged query; a ranking's order is best first."""
    _check(judgments, rankings, known)
    run = {
        query: {document: 1.0 / place for place, document in enumerate(documents, start=1)}
        for query, documents in rankings.items()
    }
    names = {measure: name for name, measure in MEASURES.items()}
    scores: Scores = {name: dict.fromkeys(judgments, 0.0) for name in MEASURES}
    qrels = {query: dict(grades) for query, grades in judgments.items()}
    for metric in ir_measures.iter_calc(list(MEASURES.values()), qrels, run):
        if not 0.0 <= metric.value <= 1.0:
            raise HarnessError(f"{metric.measure} of query {metric.query_id!r} is {metric.value}")
        scores[names[metric.measure]][metric.query_id] = float(metric.value)
    return scores


def _check(
    judgments: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
    known: frozenset[str] | set[str],
) -> None:
    if strange := sorted(rankings.keys() - judgments.keys()):
        raise HarnessError(f"query {strange[0]!r} was asked but never judged")
    if missing := sorted(judgments.keys() - rankings.keys()):
        raise HarnessError(f"query {missing[0]!r} was judged but not asked ({len(missing)} in all)")
    for query, documents in rankings.items():
        if len(set(documents)) != len(documents):
            raise HarnessError(f"query {query!r}: a document is among its hits twice")
        if unknown := [document for document in documents if document not in known]:
            raise HarnessError(f"query {query!r}: hit {unknown[0]!r} is not in the corpus")
