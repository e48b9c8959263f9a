"""FindItems: ask both arms, fuse, say how the answer came to be."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cortex.memory.actions.caller import Caller
from cortex.memory.actions.embedder import Embedder, OtherModel
from cortex.memory.actions.projects import as_uuid, no_such_project
from cortex.memory.core.exactness import VectorSearch, search_width
from cortex.memory.core.fusion import VECTOR_WEIGHT, Scored, best_first, foremost, fuse
from cortex.memory.core.operators import Operators, read_operators
from cortex.memory.core.relevance import is_relevant
from cortex.memory.core.snippets import snippet, words_of
from cortex.memory.core.texts import added_words
from cortex.memory.records import Found, Hit, ItemFilter
from cortex.memory.store import SearchStore
from cortex.memory.store.search import Along, Best, Both, Narrowing, Near, Scope, Where, WordsFound
from cortex.shared.errors import Unavailable
from cortex.shared.stages import stage

UNAVAILABLE = "embedding service unavailable"

LEAST_CANDIDATES = 50
"""Items asked of each arm at the least; from 30 to 200 the scores of three sets are equal."""

LONGEST_ECHO = 100
"""Characters of an ignored word that are told."""

SPARE_ITEMS = 2
"""Items beyond the limit that come along with the candidates, since they are chosen by a guess."""

MOST_TIES = 50
"""Hits of one score beyond the limit that are read to order them by time."""

Embedded = tuple[list[Sequence[float]], str | None]
"""The queries' vectors (none: words alone), and why there are none, if that is a failing."""


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
class _Asked:
    """A wish, read: where to look, the texts, and what narrows the items (None: nothing)."""

    wish: SearchWish
    where: Where
    texts: Sequence[str]
    narrowing: Narrowing | None

    @property
    def most(self) -> int:
        """Candidates each arm is asked for; an index search may bring some fewer."""
        return max(LEAST_CANDIDATES, 2 * self.wish.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """Both arms' outcome; `whole` are the items that came along with it."""

    scored: Sequence[Scored]
    scope: Scope
    words: WordsFound | None
    vectors: Sequence[Sequence[float]]
    degraded: str | None
    whole: Mapping[int, Best]


class Search:
    """Finds memory items by words and by meaning."""

    def __init__(
        self,
        store: SearchStore,
        embedder: Embedder,
        strategy: str,
        language: str,
        vector_search: VectorSearch = "auto",
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._strategy = strategy
        self._language = language
        self._vector_search: VectorSearch = vector_search

    async def find(self, caller: Caller, wish: SearchWish) -> Found:
        """The best items for one to four queries."""
        operators = [read_operators(query) for query in wish.queries]
        texts = [one.text for one in operators]
        embedding = asyncio.ensure_future(self._embed(texts))
        try:
            await asyncio.sleep(0)  # the longest wait is asked for before all else
            where = _where(caller, wish)
            narrowing = await self._narrowed(wish, where, operators)
            asked = _Asked(wish=wish, where=where, texts=texts, narrowing=narrowing)
            ranked = await self._rank(asked, embedding)
        finally:
            if not embedding.done():
                embedding.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await embedding
        return await self._answer(asked, ranked)

    async def _embed(self, texts: Sequence[str]) -> Embedded:
        if self._strategy == "text-only":
            return [], None
        with stage("embed"):
            try:
                return await self._embedder.queries(texts), None
            except OtherModel as err:
                return [], str(err)
            except Unavailable:
                return [], UNAVAILABLE

    async def _narrowed(
        self, wish: SearchWish, where: Where, operators: Sequence[Operators]
    ) -> Narrowing | None:
        """What filters and meant operators leave, or None where nothing narrows."""
        meant = any(one.required or one.excluded for one in operators)
        if not (meant or wish.filter.narrows()):
            return None
        with stage("filter"):
            scope = await self._store.scope(where)
            required, excluded = "", ""
            if meant:
                alone = len(operators) == 1
                required, excluded = await self._store.phrase_conditions(
                    [phrase for one in operators for phrase in one.required if alone],
                    [phrase for one in operators for phrase in one.excluded],
                    self._language,
                )
            narrowing = Narrowing(filter=wish.filter, required=required, excluded=excluded)
            return await self._store.narrowed(scope.projects, narrowing)

    async def _rank(self, asked: _Asked, embedding: "asyncio.Future[Embedded]") -> _Ranked:
        words: WordsFound | None = None
        if self._strategy == "vector-only":
            scope = await self._store.scope(asked.where)
        else:
            scope, words = await self._by_words(asked)
        if asked.wish.project is not None and not scope.projects:
            raise no_such_project(asked.wish.project)
        vectors, degraded = await embedding
        if words is None and not vectors:  # vector-only, and there are none: still an answer
            scope, words = await self._by_words(asked)
        texts = {} if words is None else dict(zip(words.items, words.parts, strict=True))
        similarities: dict[int, float] = {}
        whole: Mapping[int, Best] = {}
        if vectors:
            near = Near(
                vectors=vectors,
                scope=scope,
                narrowing=asked.narrowing,
                words=words,
                most=asked.most,
                along=self._along(asked.wish),
            )
            with stage("vector"):
                both = await self._by_meaning(asked, near)
            whole = both.whole
            for item, (similarity, part) in both.scores.items():
                similarities[item] = similarity
                if part is not None:
                    texts[item] = part
        with stage("fuse"):
            scored = fuse(self._strategy if vectors else "text-only", similarities, texts)
        return _Ranked(
            scored=scored,
            scope=scope,
            words=words,
            vectors=vectors,
            degraded=degraded,
            whole=whole,
        )

    def _along(self, wish: SearchWish) -> Along:
        weight = 1.0 if self._strategy == "vector-only" else VECTOR_WEIGHT
        return Along(
            items=wish.limit + SPARE_ITEMS,
            vector_weight=weight,
            most_characters=wish.most_characters,
        )

    async def _by_words(self, asked: _Asked) -> tuple[Scope, WordsFound]:
        texts = [f"{text} {added_words(text)}" for text in asked.texts]
        words = list(dict.fromkeys(word for text in asked.texts for word in words_of(text)))
        with stage("text"):
            return await self._store.by_words(
                texts, words[:64], asked.where, asked.narrowing, self._language, asked.most
            )

    async def _by_meaning(self, asked: _Asked, near: Near) -> Both:
        scope = near.scope
        every = asked.where.every and asked.where.allowed is None
        vectors = near.most + near.most // 5
        width = search_width(
            self._vector_search, scope.live_vectors, scope.share, len(near.vectors), vectors
        )
        listed = near.narrowing is not None and near.narrowing.items is not None
        if listed or width is None:
            return await self._store.exactly(near)
        found = await self._store.nearest(near, vectors, width, every_project=every)
        if found.brought < min(near.most // 2, scope.live_items):  # many vectors of few items
            return await self._store.exactly(near)
        return found

    async def _answer(self, asked: _Asked, ranked: _Ranked) -> Found:
        wish = asked.wish
        relevant = self._strategy == "vector-only" or _is_relevant(ranked)
        shown = [one for one in ranked.scored if one.score >= wish.min_score] if relevant else []
        top = foremost(shown, wish.limit)[: wish.limit + MOST_TIES]
        with stage("fetch"):
            best = {one.item: ranked.whole[one.item] for one in top if one.item in ranked.whole}
            missing = [one.item for one in top if one.item not in best]
            if missing:
                best |= await self._store.hits(missing, ranked.vectors, wish.most_characters)
        known = {number: (one.item.updated_at, one.item.id) for number, one in best.items()}
        words = [word for query in wish.queries for word in words_of(query)]
        hits = tuple(
            _hit(one, best[one.item], words, wish.most_characters)
            for one in best_first(top, known)[: wish.limit]
        )
        return Found(
            hits=hits,
            degraded=ranked.degraded,
            nothing_relevant=not relevant,
            hidden_by_min_score=len(ranked.scored) - len(shown) if relevant else 0,
            ignored_words=tuple(one[:LONGEST_ECHO] for one in ranked.words.ignored)
            if ranked.words
            else (),
            notes=tuple(await self._notes(asked, ranked, answered=bool(hits))),
        )

    async def _notes(self, asked: _Asked, ranked: _Ranked, *, answered: bool) -> list[str]:
        notes = []
        if ranked.words is not None and ranked.words.asked_terms == 0:
            notes.append(
                "the query has no usable words (only stop words or punctuation); "
                "it was answered by meaning alone"
            )
        if ranked.vectors:
            notes += [
                f"query {place + 1} is longer than the embedding model reads: its meaning is that "
                "of its beginning, its words all count"
                for place in await self._embedder.too_long(asked.texts)
            ]
        if answered:
            return notes
        if ranked.scope.live_items == 0:
            notes.append("there are no memory items here yet")
        elif asked.wish.filter.narrows() and asked.narrowing and asked.narrowing.items == []:
            notes += await self._unmatched(asked.wish, ranked.scope)
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


def _where(caller: Caller, wish: SearchWish) -> Where:
    if wish.project is None:
        return Where(every=True, allowed=caller.projects)
    return Where(slug=wish.project, project_id=as_uuid(wish.project), allowed=caller.projects)


def _is_relevant(ranked: _Ranked) -> bool:
    if ranked.words is not None and ranked.words.asked_terms == 0:
        return True
    known = [one.similarity for one in ranked.scored if one.similarity is not None]
    covered = ranked.words.covered if ranked.words is not None else 0.0
    return bool(ranked.scored) and is_relevant(max(known, default=None), covered)


def _hit(scored: Scored, best: Best, words: Sequence[str], most_characters: int) -> Hit:
    item = best.item
    if most_characters < best.content_length:
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
