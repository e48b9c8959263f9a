"""Asks the queries of an eval set, a few at a time, and says what came of each."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

import httpx

from harness import mcp, progress
from harness.evalsets.records import Query
from harness.probes.workbench import Loaded

AT_A_TIME = 2
DEPTH = 100
"""As many hits as the deepest metric looks at."""
CONTENT_CHARS = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """A query's hits as document ids, best first; `error` is empty when it was answered whole."""

    query: Query
    documents: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    nothing_relevant: bool = False
    error: str = ""


def ask(
    client: mcp.Client, loaded: Loaded, queries: Sequence[Query], what: str, depth: int = DEPTH
) -> list[Asked]:
    """Every query's outcome, in the queries' order; a failure is an outcome too."""
    with _pool() as pool, progress.steps(what, len(queries)) as step:
        asked = []
        for outcome in pool.map(lambda query: _ask(client, loaded, query, depth), queries):
            asked.append(outcome)
            step(1)
        return asked


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Threads whose waiting work is dropped when we are interrupted."""
    pool = ThreadPoolExecutor(AT_A_TIME)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ask(client: mcp.Client, loaded: Loaded, query: Query, depth: int) -> Asked:
    arguments: dict[str, object] = {"queries": list(query.texts), "limit": depth}
    arguments["maxContentChars"] = CONTENT_CHARS
    arguments |= where(loaded, query)
    if query.categories:
        arguments["category"] = list(query.categories)
    if query.tags:
        arguments["tags"] = list(query.tags)
    if query.statuses:
        arguments["status"] = list(query.statuses)
    try:
        content = client.call("FindItems", **arguments).content
        hits = [(str(hit["item"]["id"]), float(hit["score"])) for hit in content["hits"]]
        nothing = bool(content["nothingRelevant"])
        degraded = content["degraded"]
    except (mcp.ToolRefused, mcp.BadAnswer, httpx.HTTPError) as err:
        return Asked(query, error=f"{type(err).__name__}: {err}")
    except (KeyError, TypeError, ValueError) as err:
        return Asked(query, error=f"the answer lacks {err}; is it a FindItems result?")
    if degraded:
        return Asked(query, error=f"degraded: {degraded}")
    return replace(_translated(loaded, query, hits), nothing_relevant=nothing)


def where(loaded: Loaded, query: Query) -> dict[str, object]:
    """What a query is restricted to: its project, the set's only one, or nothing."""
    if query.project is not None:
        return {"project": loaded.projects[query.project]}
    if len(loaded.projects) == 1:
        return {"project": next(iter(loaded.projects.values()))}
    return {"searchAllProjects": True}


def _translated(loaded: Loaded, query: Query, hits: list[tuple[str, float]]) -> Asked:
    """Item ids as document ids; others' items may only turn up in a database that is not ours."""
    if loaded.database_url is None and query.project is None and len(loaded.projects) > 1:
        hits = [hit for hit in hits if hit[0] in loaded.documents]
    ids = [id_ for id_, _ in hits]
    unknown = [id_ for id_ in ids if id_ not in loaded.documents]
    if unknown:
        return Asked(query, error=f"hit {unknown[0]!r} is no item that was added")
    if len(set(ids)) != len(ids):
        return Asked(query, error="an item is among the hits twice")
    scores = tuple(score for _, score in hits)
    return Asked(query, tuple(loaded.documents[id_] for id_ in ids), scores)
