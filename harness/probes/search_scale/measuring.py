"""Searches at one size: percentiles, stages and recall, and what the index cost to build."""

import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from harness import mcp
from harness.measures.latency import Latencies
from harness.probes.search_cost.asking import Asker, Embedding
from harness.probes.search_cost.floors import Floor
from harness.probes.search_cost.measuring import recall

WARM_UP = 20
NEAREST = 10
FAILURES = (mcp.ToolRefused, mcp.BadAnswer)
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(slots=True, kw_only=True)
class Cell:
    """One scope at one size; times in ms."""

    vectors: int
    scope: str
    scope_vectors: int
    texts: int
    queries: int
    narrowed: str = ""
    failed: int = 0
    find_ms: dict[str, float] = field(default_factory=dict)
    stages_ms: dict[str, float] = field(default_factory=dict)
    embed_ms: float = 0.0
    recall: float = 0.0
    recall_queries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What stands in the database at one size, and what building its indexes took."""

    vectors: int
    items: int
    postings: int
    load_s: float
    index_s: dict[str, float]
    index_bytes: dict[str, int]
    table_bytes: dict[str, int]
    database_bytes: int
    peak_pss_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The servers that are asked, and the connection exact answers are read by."""

    find: Asker
    vector_only: Asker
    embedding: Embedding
    floor: Floor


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How a cell's queries are made and asked; `condition` is the filter in SQL on an item, `m`."""

    ask: Callable[[], str]
    slug: str | None = None
    filter: dict[str, object] = field(default_factory=dict)
    condition: str = ""

    def arguments(self, texts: list[str]) -> dict[str, object]:
        """Those of FindItems."""
        where = {"searchAllProjects": True} if self.slug is None else {"project": self.slug}
        return {"queries": texts, **where, **self.filter}


def measure(asked: Asked, cell: Cell, question: Question, exact_queries: int) -> Cell:
    """Distinct queries one after the other; recall on some further ones, every vector compared.

    A call that fails or degrades, or finds nothing where nothing narrows it, is counted in `failed`
    and has no time.
    """
    times, stages, embeds = Latencies(), dict[str, list[float]](), list[float]()
    for number in range(cell.queries + WARM_UP):
        if number % 4 == 0:
            _, embed_s = asked.embedding.embed([question.ask() for _ in range(cell.texts)])
            embeds.append(1000 * embed_s)
        texts = [question.ask() for _ in range(cell.texts)]
        try:
            answer, took_s, timing = asked.find.timed("FindItems", question.arguments(texts))
        except FAILURES:
            cell.failed += 1
            continue
        if answer["degraded"] or not (answer["hits"] or question.condition):
            cell.failed += 1
        elif number >= WARM_UP:
            times.record(took_s)
            for name, spent in mcp.stages_of(timing).items():
                stages.setdefault(name, []).append(spent)
    if not times.n:
        raise AssertionError(f"{cell.scope}, {cell.narrowed or 'not narrowed'}: every call failed")
    cell.find_ms = {name: times.quantile(share).value_ms for name, share in QUANTILES.items()}
    cell.stages_ms = {name: statistics.median(values) for name, values in stages.items()}
    cell.embed_ms = statistics.median(embeds)
    recalls = [_recall(asked, question, cell.texts) for _ in range(exact_queries)]
    cell.recall, cell.recall_queries = statistics.mean(recalls), len(recalls)
    return cell


def _recall(asked: Asked, question: Question, texts: int) -> float:
    """Of one call; one that fails found nothing."""
    queries = [question.ask() for _ in range(texts)]
    vectors, _ = asked.embedding.embed([_plain(one) for one in queries])
    exact = asked.floor.exact(question.slug, vectors, NEAREST, question.condition)
    arguments = question.arguments(queries) | {"explain": True}
    try:
        found = asked.vector_only.call("FindItems", arguments)
    except FAILURES:
        return 0.0
    return recall(exact, [hit["parts"]["similarity"] for hit in found["hits"]])


def _plain(query: str) -> str:
    """A query without the word it excludes, which is not searched for."""
    return re.sub(r" -\w+$", "", query)


class Peak:
    """The most memory some processes held together, in bytes: PSS, shared pages by their share."""

    def __init__(self) -> None:
        self.bytes = 0


@contextmanager
def watched(pids: tuple[int, ...]) -> Iterator[Peak]:
    """Look at Postgres' memory (PSS) twice a second while inside."""
    peak, ended = Peak(), threading.Event()

    def look() -> None:
        while not ended.wait(0.5):
            peak.bytes = max(peak.bytes, sum(_pss(pid) for pid in pids))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _pss(pid: int) -> int:
    """A process's and its children's PSS, in bytes: a page shared by n of them counts 1/n each."""
    total = 0
    try:
        parent = psutil.Process(pid)
        for one in (parent, *parent.children(recursive=True)):
            info = one.memory_full_info()
            total += int(info.pss)
    except psutil.NoSuchProcess:
        pass
    return total


def timed(what: Callable[[], object]) -> float:
    """Seconds something takes."""
    started = time.perf_counter()
    what()
    return time.perf_counter() - started
