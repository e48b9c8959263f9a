"""What the vector index misses: its nearest items against those of a comparison of every vector.

Both servers search by meaning alone over the same database, one by comparing all, one by the index
wherever it can serve; queries with a filter, which the index cannot serve, are left out.
"""

from collections.abc import Iterator

import numpy as np

from harness.evalsets.records import EvalSet, Query
from harness.measures.significance import macro_interval
from harness.probes.asking import Asked, ask
from harness.probes.relevance.scoring import failures, result
from harness.probes.workbench import Variant, Workbench
from harness.results import Record

EXACT = Variant("exact", fusion="vector-only", vector_search="exact")
INDEXED = Variant("indexed", fusion="vector-only", vector_search="indexed")
DEPTH = 10


def measure(bench: Workbench, found: EvalSet) -> Iterator[Record]:
    """The share of the exact nearest items that the index brings, with its interval."""
    queries = [query for query in found.queries if not _is_filtered(query)]
    if not bench.has_strategies or not queries:
        return
    loaded = bench.load(found)
    with bench.servers(loaded.database_url, [EXACT, INDEXED]) as clients:
        exact, indexed = (
            ask(client, loaded, queries, f"{found.name}, nearest by {variant.name}", DEPTH)
            for client, variant in zip(clients, (EXACT, INDEXED), strict=True)
        )
    if failed := [one for one in (*exact, *indexed) if one.error]:
        yield from failures(failed, "query by meaning alone", found.name, INDEXED.name)
        return
    shares = [recall(want, got) for want, got in zip(exact, indexed, strict=True) if want.documents]
    if not shares:
        return
    interval = macro_interval([shares])
    yield result(
        "relevance.ann-recall@10",
        float(np.mean(shares)),
        found.name,
        INDEXED.name,
        n=len(shares),
        low=interval.low,
        high=interval.high,
    )


def recall(exact: Asked, indexed: Asked) -> float:
    """The share of the nearest items found; one as near as the last of them counts as it does."""
    depth = min(DEPTH, len(exact.documents))
    nearest = set(exact.documents[:depth])
    last = exact.scores[depth - 1]
    found = sum(
        document in nearest or score >= last
        for document, score in zip(indexed.documents[:depth], indexed.scores, strict=False)
    )
    return found / depth


def _is_filtered(query: Query) -> bool:
    return bool(query.categories or query.tags or query.statuses)
