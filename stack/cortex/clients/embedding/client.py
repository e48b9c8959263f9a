"""The client of an embedding service: texts in, checked vectors out."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from cortex.clients.embedding.splitting import Span, batches, character_spans, pieces
from cortex.clients.embedding.vectors import QueryCache, Vector, read_openai, read_tei
from cortex.clients.embedding.wire import Wire
from cortex.contracts.embedding import CHARACTERS_PER_TOKEN, EMBED, INFO, TOKENIZE, ModelInfo
from cortex.shared.errors import InvalidInput, Unavailable

_HEALTHY_WITHIN_S = 2.0
_INFO_WITHIN_S = 5.0
_SPANS_WITHIN_S = 30.0
_AT_ONCE = 4
"""Requests of one call in flight together: enough to keep a service busy, not to crowd it."""

_OPENAI_LIMITS = ModelInfo(
    model_id="",
    revision="",
    pooling="",
    max_input_tokens=512,
    max_client_batch_size=32,
    max_concurrent_requests=512,
    max_batch_tokens=16384,
    auto_truncate=True,
)
"""What a service of the OpenAI shape is taken to bear; it has no way to say so itself."""


class EmbeddingClient:
    """Asks one embedding service; every method raises `Unavailable` when it does not answer.

    With `model_name` the service is spoken to in the OpenAI shape, and `base_url` is what comes
    before `/embeddings`; without, in that of Text Embeddings Inference. `dimension` is the length
    every vector must have. One client may serve any number of tasks of one event loop.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        model_name: str | None = None,
        dimension: int | None = None,
        cached_queries: int = 2048,
    ) -> None:
        self.shape: Literal["tei", "openai"] = "tei" if model_name is None else "openai"
        self._model_name = model_name
        self._dimension = dimension
        self._wire = Wire(base_url, api_key)
        self._cache = QueryCache(cached_queries)
        self._info: ModelInfo | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    async def healthy(self) -> None:
        """Return if the service answers; raises `Unavailable` within seconds if it does not."""
        if self.shape == "tei":
            await self._wire.get("/health", _HEALTHY_WITHIN_S)
        else:
            await self._request(["ping"], _HEALTHY_WITHIN_S)

    async def info(self, *, fresh: bool = False) -> ModelInfo:
        """Which model answers and its limits; asked once, or again if `fresh`.

        When another model answers than before, the cached query vectors are let go.
        """
        if self._info is not None and not fresh:
            return self._info
        return await self._look(_INFO_WITHIN_S)

    async def _look(self, within_s: float) -> ModelInfo:
        found = await self._ask_info(within_s)
        if self._info is not None and found != self._info:
            self._cache.clear()
        self._info = found
        return found

    async def embed(self, texts: Sequence[str], deadline_s: float = 30.0) -> list[Vector]:
        """One vector of unit length a text, in order; raises `InvalidInput` for an empty text."""
        if not texts:
            return []
        if not all(texts):
            raise InvalidInput(f"text {list(texts).index('')} is empty; nothing can be embedded")
        info = self._info or await self._look(min(deadline_s, _INFO_WITHIN_S))
        most = min(info.max_client_batch_size, info.max_concurrent_requests)
        parts = list(batches(texts, most))
        if len(parts) == 1:
            return await self._request(texts, deadline_s)
        gate = asyncio.Semaphore(_AT_ONCE)

        async def some(places: range) -> list[Vector]:
            async with gate:
                return await self._request([texts[place] for place in places], deadline_s)

        try:
            # A little more than the wire has, so that its reason is the one that is told.
            async with asyncio.timeout(deadline_s + 0.25), asyncio.TaskGroup() as group:
                tasks = [group.create_task(some(places)) for places in parts]
        except TimeoutError as err:
            raise Unavailable(
                f"{self._wire.base_url} did not embed {len(texts)} texts in {deadline_s:g} s"
            ) from err
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors.exceptions[0].__cause__
        return [vector for task in tasks for vector in task.result()]

    async def embed_queries(self, texts: Sequence[str], deadline_s: float = 10.0) -> list[Vector]:
        """As `embed`, but a text asked lately is answered from memory."""
        known = {text: found for text in texts if (found := self._cache.get(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for text, vector in zip(missing, await self.embed(missing, deadline_s), strict=True):
            known[text] = vector
            self._cache.put(text, vector)
        return [known[text] for text in texts]

    async def token_spans(self, texts: Sequence[str]) -> list[list[Span]] | None:
        """For each text the character range of every token, as the model will cut it.

        None for a service of the OpenAI shape, which does not tell. A text longer than the
        service reads at once is asked in pieces.
        """
        if self.shape == "openai":
            return None
        info = await self.info()
        longest = info.max_input_tokens * CHARACTERS_PER_TOKEN
        parts = [
            (owner, start, text[start:end])
            for owner, text in enumerate(texts)
            for start, end in pieces(text, longest)
        ]
        spans: list[list[Span]] = [[] for _ in texts]
        asked = [part for _, _, part in parts]
        for places in batches(asked, info.max_client_batch_size):
            found = await self._tokenize([asked[place] for place in places])
            for place, own in zip(places, found, strict=True):
                owner, shift, _ = parts[place]
                spans[owner] += [(start + shift, stop + shift) for start, stop in own]
        return spans

    async def _ask_info(self, within_s: float) -> ModelInfo:
        if self.shape == "openai":
            return replace(_OPENAI_LIMITS, model_id=self._model_name or "")
        body = await self._wire.get(INFO, within_s)
        try:
            return ModelInfo.of_tei(body)
        except (KeyError, TypeError, ValueError) as err:
            raise Unavailable(
                f"{self._wire.base_url}{INFO} does not say which model it is: is it an embedding"
                " service?"
            ) from err

    async def _request(self, texts: Sequence[str], deadline_s: float) -> list[Vector]:
        if self.shape == "tei":
            body = await self._wire.post(EMBED, {"inputs": texts}, deadline_s)
            return read_tei(body, len(texts), self._dimension)
        asked: dict[str, Any] = {
            "input": texts,
            "model": self._model_name,
            # A fifth of the bytes of printed numbers, and no numbers to parse.
            "encoding_format": "base64",
        }
        body = await self._wire.post("/embeddings", asked, deadline_s)
        return read_openai(body, len(texts), self._dimension)

    async def _tokenize(self, texts: Sequence[str]) -> list[list[Span]]:
        asked = {"inputs": texts, "add_special_tokens": False}
        body = await self._wire.post(TOKENIZE, asked, _SPANS_WITHIN_S)
        try:
            return [
                character_spans(
                    text, [(one["start"], one["stop"]) for one in tokens if not one["special"]]
                )
                for text, tokens in zip(texts, body, strict=True)
            ]
        except (KeyError, TypeError, ValueError) as err:
            raise Unavailable(f"{self._wire.base_url}{TOKENIZE} answered no token lists") from err
