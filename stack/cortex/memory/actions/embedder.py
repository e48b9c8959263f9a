"""Texts into vectors: whole texts cut into windows, only by the model the store was made with."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from cortex.clients.embedding import EmbeddingClient
from cortex.contracts.embedding import ModelInfo
from cortex.memory.actions import clock
from cortex.memory.core.windows import Window, cut, guessed_spans
from cortex.memory.records import Model, VectorRow
from cortex.memory.store import ProjectStore
from cortex.shared.errors import Unavailable
from cortex.shared.stages import stage

log = logging.getLogger(__name__)

LOOK_AGAIN_S = 5.0
"""How long the service's word on its model is trusted: a swapped service is noticed after it."""

LOOK_FOR_IT_EVERY_S = 3.0
"""While the service is away one search in this time looks for it; the others do not wait."""

SPECIAL_TOKENS = 2

SPARE_TOKENS = 10
"""Left free in a window: two special tokens, and some for a word that a cut made two of."""

MOST_PREFIX_TOKENS = 64
"""A window of an item's own text starts with its title, cut to this."""


class OtherModel(Unavailable):
    """The embedding service runs another model than the stored vectors were made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text to embed for a position of an item; `prefix` is set before each later window."""

    position: int
    label: str
    text: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A window, and the text that is embedded for it."""

    window: Window
    embedded: str


class Embedder:
    """Embeds for one store."""

    def __init__(
        self, client: EmbeddingClient, store: ProjectStore, search_s: float, write_s: float
    ) -> None:
        self._client = client
        self._store = store
        self._search_s = search_s
        self._write_s = write_s
        self._model: Model | None = None
        self._trusted_until = 0.0
        self._away: str | None = None
        self._next_look = 0.0

    async def queries(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """One vector a query; raises `Unavailable`, or `OtherModel` where they'd mean nothing."""
        try:
            async with asyncio.timeout(self._search_s):
                await self._look_if_away()
                await self._check_model(settle=False)
                vectors = await self._client.embed_queries(texts, deadline_s=self._search_s)
        except TimeoutError as err:
            late = Unavailable(f"no embeddings within {self._search_s:g} s")
            self._failed(late)
            raise late from err
        except Unavailable as err:
            self._failed(err)
            raise
        self._away = None
        return list(vectors)

    async def too_long(self, texts: Sequence[str]) -> list[int]:
        """The places of texts that the model reads only the beginning of, if it can be asked."""
        try:
            room = (await self._client.info()).max_input_tokens - SPECIAL_TOKENS
            long = [place for place, text in enumerate(texts) if len(text) > room]
            spans = await self._client.token_spans([texts[place] for place in long]) if long else []
        except Unavailable:  # the answer stands without this note
            return []
        return [place for place, own in zip(long, spans or [], strict=False) if len(own) > room]

    async def _look_if_away(self) -> None:
        """Raise at once where the service is known to be away, but for one caller that looks."""
        if self._away is None:
            return
        now = time.monotonic()
        if now < self._next_look:
            raise Unavailable(self._away)
        self._next_look = now + LOOK_FOR_IT_EVERY_S
        await self._client.healthy()

    async def rows(self, texts: Sequence[Text]) -> tuple[Model, list[list[VectorRow]]]:
        """The vectors of each text, window by window; one batched call for all of them."""
        try:
            with stage("embed"):
                model = await self._check_model(settle=True)
                info = await self._client.info()
                pieces = await self._windows(texts, info)
                wanted = [piece.embedded for some in pieces for piece in some]
                vectors = await self._client.embed(wanted, deadline_s=self._write_s)
        except Unavailable as err:
            self._failed(err)
            raise
        self._away = None
        left = iter(vectors)
        return model, [
            [_row(text, number, piece.window, next(left)) for number, piece in enumerate(some)]
            for text, some in zip(texts, pieces, strict=True)
        ]

    def _failed(self, err: Unavailable) -> None:
        self._trusted_until = 0.0
        if isinstance(err, OtherModel):  # it is there, and is asked again by the next one
            return
        if self._away is None:
            log.warning("the embedding service is away", extra={"why": str(err)})
            self._next_look = time.monotonic() + LOOK_FOR_IT_EVERY_S
        self._away = str(err)

    async def _check_model(self, *, settle: bool) -> Model:
        """The model of the store, which must be the service's; the first write settles it."""
        if self._model is not None and time.monotonic() < self._trusted_until:
            return self._model
        info = await self._client.info(fresh=True)
        model = await self._store.active_model()
        if model is None and settle:
            model = await self._store.settle_model(info.model_id, info.revision, info.pooling)
        if model is None:  # nothing is stored yet, so nothing can be compared with wrongly
            return Model(
                number=0, model_id=info.model_id, revision=info.revision, pooling=info.pooling
            )
        running = (info.model_id, info.revision, info.pooling)
        if running != (model.model_id, model.revision, model.pooling):
            raise OtherModel(
                f"the embedding service runs {info.model_id}@{info.revision or 'unknown'}, stored "
                f"vectors are of {model.name()}; run `cortex memory reembed`, or start that model"
            )
        self._model = model
        self._trusted_until = time.monotonic() + LOOK_AGAIN_S
        return model

    async def _windows(self, texts: Sequence[Text], info: ModelInfo) -> list[list[_Piece]]:
        room = info.max_input_tokens - SPARE_TOKENS
        pieces = [[_Piece(Window(0, len(text.text)), text.text)] for text in texts]
        # A token is one character at the least, so a short text needs no asking.
        long = [index for index, text in enumerate(texts) if len(text.text) > room]
        if not long:
            return pieces
        asked = [texts[index].text for index in long] + [texts[index].prefix for index in long]
        spans = await self._client.token_spans(asked)
        if spans is None:
            spans = [guessed_spans(text) for text in asked]
        for index, own, title in zip(long, spans[: len(long)], spans[len(long) :], strict=True):
            if len(own) > room:
                pieces[index] = _pieces(texts[index], own, title[:MOST_PREFIX_TOKENS], room)
        return pieces


def _pieces(
    text: Text, own: Sequence[tuple[int, int]], title: Sequence[tuple[int, int]], room: int
) -> list[_Piece]:
    prefix = text.prefix[: title[-1][1]] + "\n" if title else ""
    return [
        _Piece(window, ("" if window.start == 0 else prefix) + text.text[window.start : window.end])
        for window in cut(text.text, own, room - len(title))
    ]


def _row(text: Text, number: int, window: Window, vector: Sequence[float]) -> VectorRow:
    return VectorRow(
        id=clock.new_id(),
        position=text.position,
        window=number,
        label=text.label,
        text=text.text if number == 0 else None,
        start=window.start,
        end=window.end,
        vector=vector,
    )
