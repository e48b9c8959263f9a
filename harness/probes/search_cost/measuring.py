"""Measures searches beside their floor, query by query, in one sitting."""

import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.probes.search_cost.asking import Asker, Embedding
from harness.probes.search_cost.floors import Floor, forms

_STAGE = re.compile(r"([\w.-]+);dur=([\d.]+)")
SAME_ANSWER = 0.9
"""Share of a form's ten hits that must be ours as well, for the form to count as a floor: not
all, since items that say the same score the same, and a bare statement orders them by chance."""

FIND = "FindItems"
SAME_SIMILARITY = 2e-6
"""Similarities are answered to six digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where to search: a project's slug, or None for all."""

    name: str
    slug: str | None


@dataclass(slots=True, kw_only=True)
class Figures:
    """One scope and number of query texts: medians in ms, the ratio, recall."""

    scope: str
    texts: int
    queries: int
    find_ms: float = 0.0
    find_p95_ms: float = 0.0
    embed_ms: float = 0.0
    floors_ms: dict[str, float] = field(default_factory=dict)
    agreement: dict[str, float] = field(default_factory=dict)
    ratio: float = 0.0
    recall: float = 0.0
    stages_ms: dict[str, float] = field(default_factory=dict)

    @property
    def floor(self) -> str:
        """The fastest form among those that give the same answer."""
        same = [name for name, share in self.agreement.items() if share >= SAME_ANSWER]
        return min(same or self.floors_ms, key=lambda name: self.floors_ms[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Everything a measurement asks."""

    find: Asker
    vector_only: Asker
    embedding: Embedding
    floor: Floor

    def close(self) -> None:
        """Close every connection."""
        for one in (self.find, self.vector_only, self.embedding, self.floor):
            one.close()


def measure(
    bench: Bench, scope: Scope, texts: int, queries: int, ask: Callable[[], str]
) -> Figures:
    """Distinct queries, each put to the server and to every form, each time another one first."""
    figures = Figures(scope=scope.name, texts=texts, queries=queries)
    where = {"searchAllProjects": True} if scope.slug is None else {"project": scope.slug}
    found_s: list[float] = []
    embed_s: list[float] = []
    floor_s: dict[str, list[float]] = {name: [] for name in forms()}
    shared: dict[str, list[float]] = {name: [] for name in floor_s}
    recalls: list[float] = []
    stages: dict[str, list[float]] = {}
    for number in range(queries + 3):
        asked = [ask() for _ in range(texts)]
        vectors, embed_took = bench.embedding.embed(asked)
        forms_took, took, timing = {}, 0.0, ""
        answers: dict[str, list[str]] = {}
        for name in _turns([FIND, *floor_s], number):
            if name == FIND:
                answer, took, timing = bench.find.timed("FindItems", {"queries": asked, **where})
                answers[FIND] = [hit["item"]["id"] for hit in answer["hits"]]
            else:
                answers[name], forms_took[name] = bench.floor.run(name, scope.slug, asked, vectors)
        for form in floor_s:
            shared[form].append(_share(answers[form], answers[FIND]))
        if number < 3:  # connections, plans and pages are warm after these
            for values in shared.values():
                values.clear()
            continue
        found_s.append(took)
        embed_s.append(embed_took)
        for form, seconds in forms_took.items():
            floor_s[form].append(seconds)
        for name, spent in _STAGE.findall(timing):
            stages.setdefault(name, []).append(float(spent))
        if number % 2:
            near = bench.vector_only.call("FindItems", {"queries": asked, "explain": True, **where})
            exact = bench.floor.exact(scope.slug, vectors, 10)
            found = [hit["parts"]["similarity"] for hit in near["hits"]]
            recalls.append(recall(exact, found))
    return _filled(figures, found_s, embed_s, floor_s, shared, recalls, stages)


def _turns(names: list[str], number: int) -> list[str]:
    """The names in turn, begun elsewhere each time: whoever comes later finds pages warmed."""
    start = number % len(names)
    return names[start:] + names[:start]


def _filled(
    figures: Figures,
    found_s: list[float],
    embed_s: list[float],
    floor_s: dict[str, list[float]],
    shared: dict[str, list[float]],
    recalls: list[float],
    stages: dict[str, list[float]],
) -> Figures:
    figures.find_ms = _ms(found_s)
    figures.find_p95_ms = 1000 * sorted(found_s)[int(0.95 * len(found_s))]
    figures.embed_ms = _ms(embed_s)
    figures.floors_ms = {name: _ms(values) for name, values in floor_s.items()}
    figures.agreement = {name: statistics.mean(values) for name, values in shared.items()}
    figures.ratio = figures.find_ms / (figures.embed_ms + figures.floors_ms[figures.floor])
    figures.recall = statistics.mean(recalls)
    figures.stages_ms = {name: statistics.median(values) for name, values in stages.items()}
    return figures


def recall(exact: list[float], found: list[float]) -> float:
    """Share of the exact ten that were found; equal similarities stand for one another."""
    least = exact[-1] - SAME_SIMILARITY
    return min(1.0, sum(one >= least for one in found) / len(exact))


def _ms(seconds: list[float]) -> float:
    return 1000 * statistics.median(seconds)


def _share(wanted: list[str], found: list[str]) -> float:
    return len(set(wanted) & set(found)) / len(wanted) if wanted else 1.0
