"""FindItems: ask both arms, fuse, say how the answer came to be."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cortex.memory.actions.caller import Caller
from cortex.memory.actions.embedder import Embedder, OtherModel
from cortex.memory.actions.projects import Projects
from cortex.memory.core.fusion import Scored, best_first, fuse
from cortex.memory.core.operators import Operators, read_operators
from cortex.memory.core.relevance import is_relevant
from cortex.memory.core.snippets import snippet, words_of
from cortex.memory.core.texts import added_words
from cortex.memory.records import Found, Hit, ItemFilter, Project
from cortex.memory.store import SearchStore
from cortex.memory.store.search import Best, Scope, WordsFound
from cortex.shared.errors import Unavailable
from cortex.shared.stages import stage

UNAVAILABLE = "embedding service unavailable"

LEAST_CANDIDATES = 100
MOST_POSTINGS = 30_000
"""Postings that are read to find candidates; see `find_by_words`."""

EXACT_UP_TO = 6_000
"""Vectors in scope up to which every one is compared; see docs/decisions/0005-vector-arm.md."""

EXACT_AT_MOST = 60_000
"""Vectors in scope up to which comparing all is the way out where the index finds too little."""

MOST_EF_SEARCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchWish:
    """What a caller wants found; `project` None means in every project the caller may see."""

    queries: Sequence[str]
    project: str | None
    filter: ItemFilter = field(default_factory=ItemFilter)
    limit: int = 10
    most_characters: int = 2_000
    min_score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """Both arms' outcome, before whole items are read."""

    order: Sequence[Scored]
    words: WordsFound | None
    vectors: Sequence[Sequence[float]]
    degraded: str | None


class Search:
    """Finds memory items by words and by meaning."""

    def __init__(
        self,
        store: SearchStore,
        projects: Projects,
        embedder: Embedder,
        strategy: str,
        language: str,
    ) -> None:
        self._store = store
        self._projects = projects
        self._embedder = embedder
        self._strategy = strategy
        self._language = language

    async def find(self, caller: Caller, wish: SearchWish) -> Found:
        """The best items for one to four queries."""
        operators = [read_operators(query) for query in wish.queries]
        embedding = asyncio.ensure_future(self._embed([one.text for one in operators]))
        try:
            with stage("scope"):
                scope = await self._scope(caller, wish, operators)
            ranked = await self._rank(wish, operators, scope, embedding)
        finally:
            if not embedding.done():
                embedding.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await embedding
        return await self._answer(wish, scope, ranked)

    async def _embed(self, texts: Sequence[str]) -> tuple[list[Sequence[float]], str | None]:
        if self._strategy == "text-only":
            return [], None
        with stage("embed"):
            try:
                return await self._embedder.queries(texts), None
            except OtherModel as err:
                return [], str(err)
            except Unavailable:
                return [], UNAVAILABLE

    async def _scope(
        self, caller: Caller, wish: SearchWish, operators: Sequence[Operators]
    ) -> Scope:
        if wish.project is not None:
            projects = [await self._projects.get(caller, wish.project)]
        else:
            projects = await self._projects.every(caller)
        scope = _scope_of(projects, every=wish.project is None and caller.projects is None)
        required, excluded = "", ""
        if any(one.required or one.excluded for one in operators):
            single = len(operators) == 1
            required, excluded = await self._store.phrase_conditions(
                [phrase for one in operators for phrase in one.required if single],
                [phrase for one in operators for phrase in one.excluded],
                self._language,
            )
        if wish.filter.narrows() or required or excluded:
            items = await self._store.filtered_items(
                scope.projects, wish.filter, required, excluded
            )
            scope = replace(scope, items=items)
        return scope

    async def _rank(
        self,
        wish: SearchWish,
        operators: Sequence[Operators],
        scope: Scope,
        embedding: "asyncio.Future[tuple[list[Sequence[float]], str | None]]",
    ) -> _Ranked:
        most = max(LEAST_CANDIDATES, 2 * wish.limit)
        words = None
        if self._strategy != "vector-only":
            with stage("text"):
                words = await self._by_words(operators, scope, most)
        vectors, degraded = await embedding
        if words is None and not vectors:  # vector-only, and there are none: still an answer
            words = await self._by_words(operators, scope, most)
        texts = {} if words is None else dict(zip(words.items, words.parts, strict=True))
        with stage("vector"):
            similarities = await self._by_meaning(vectors, scope, list(texts), most)
        if words is not None and words.cut and similarities:
            rest = [item for item in similarities if item not in texts]
            with stage("text"):
                texts |= await self._store.score_words(words, scope, rest)
        strategy = self._strategy if vectors else "text-only"
        with stage("fuse"):
            scored = fuse(strategy, similarities, texts)
            known = await self._store.tie_breakers([one.item for one in scored])
            order = best_first(scored, known)
        return _Ranked(order=order, words=words, vectors=vectors, degraded=degraded)

    async def _by_words(
        self, operators: Sequence[Operators], scope: Scope, most: int
    ) -> WordsFound:
        texts = [f"{one.text} {added_words(one.text)}" for one in operators]
        words = list(dict.fromkeys(word for one in operators for word in words_of(one.text)))
        return await self._store.by_words(
            texts, words[:64], scope, self._language, most, MOST_POSTINGS
        )

    async def _by_meaning(
        self, vectors: Sequence[Sequence[float]], scope: Scope, text_items: list[int], most: int
    ) -> Mapping[int, float]:
        if not vectors:
            return {}
        if scope.items is not None or scope.live_vectors <= EXACT_UP_TO:
            return await self._store.exactly(vectors, scope, text_items, most)
        share = 1.0
        if not scope.every_project:
            share = scope.live_vectors / max(1, await self._projects.all_vectors())
        wanted = most + most // 2
        ef_search = int(min(MOST_EF_SEARCH, max(wanted, wanted / share)))
        found = await self._store.nearest(vectors, scope, text_items, wanted, ef_search)
        enough = min(most // 2, scope.live_items)
        if len(found) - len(text_items) < enough and scope.live_vectors <= EXACT_AT_MOST:
            return await self._store.exactly(vectors, scope, text_items, most)
        return found

    async def _answer(self, wish: SearchWish, scope: Scope, ranked: _Ranked) -> Found:
        relevant = _is_relevant(ranked)
        shown = [one for one in ranked.order if one.score >= wish.min_score] if relevant else []
        hidden = len(ranked.order) - len(shown) if relevant else 0
        top = shown[: wish.limit]
        with stage("fetch"):
            best = (
                await self._store.hits(
                    [one.item for one in top], ranked.vectors, wish.most_characters
                )
                if top
                else {}
            )
        words = [word for query in wish.queries for word in words_of(query)]
        hits = tuple(
            _hit(one, best[one.item], words, wish.most_characters)
            for one in top
            if one.item in best
        )
        return Found(
            hits=hits,
            degraded=ranked.degraded,
            nothing_relevant=not relevant,
            hidden_by_min_score=hidden,
            ignored_words=tuple(ranked.words.ignored) if ranked.words else (),
            notes=tuple(await self._notes(wish, scope, ranked, bool(hits))),
        )

    async def _notes(
        self, wish: SearchWish, scope: Scope, ranked: _Ranked, answered: bool
    ) -> list[str]:
        notes = []
        if ranked.words is not None and ranked.words.asked_terms == 0:
            notes.append(
                "the query has no usable words (only stop words or punctuation); "
                "it was answered by meaning alone"
            )
        if answered:
            return notes
        if scope.live_items == 0:
            notes.append("there are no memory items here yet")
        elif wish.filter.narrows() and not scope.items:
            notes += await self._unmatched(wish, scope)
        return notes

    async def _unmatched(self, wish: SearchWish, scope: Scope) -> list[str]:
        """Which filter values stand on no item; or that no item has all of them."""
        seen = await self._store.filter_values_seen(scope.projects, wish.filter)
        wanted = {
            "category": (wish.filter.categories, seen["categories"]),
            "status": (wish.filter.statuses, seen["statuses"]),
            "tag": (wish.filter.tags, seen["tags"]),
        }
        notes = [
            f"no memory item here has {name} {value!r}"
            for name, (asked, there) in wanted.items()
            for value in asked
            if value not in there
        ]
        return notes or ["each filter value occurs here, but no memory item matches all of them"]


def _is_relevant(ranked: _Ranked) -> bool:
    if ranked.words is not None and ranked.words.asked_terms == 0:
        return True
    known = [one.similarity for one in ranked.order if one.similarity is not None]
    covered = ranked.words.covered if ranked.words is not None else 0.0
    return bool(ranked.order) and is_relevant(max(known, default=None), covered)


def _scope_of(projects: Sequence[Project], *, every: bool) -> Scope:
    live_items = sum(project.live_items for project in projects)
    live_words = sum(project.live_words for project in projects)
    return Scope(
        projects=[project.number for project in projects],
        every_project=every,
        live_items=live_items,
        mean_words=live_words / live_items if live_items else 0.0,
        live_vectors=sum(project.live_vectors for project in projects),
    )


def _hit(scored: Scored, best: Best, words: Sequence[str], most_characters: int) -> Hit:
    item = best.item
    if 0 <= most_characters < best.content_length:
        mark = f" … [cut: {most_characters} of {best.content_length} characters]"
        item = replace(item, content=item.content + mark)
    return Hit(
        item=item,
        score=scored.score,
        similarity=scored.similarity,
        text=scored.text,
        query=best.query or 0,
        position=best.position,
        label=best.label,
        snippet=snippet(best.text if best.text is not None else item.content, words),
    )
