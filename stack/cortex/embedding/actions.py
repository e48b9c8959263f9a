"""What a caller can ask of the embedding service; read this first."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from cortex.contracts.embedding import ErrorKind
from cortex.embedding.core.parsing import (
    DecodeRequest,
    EmbedRequest,
    RerankRequest,
    SimilarityRequest,
    Texts,
    TokenizeRequest,
)
from cortex.embedding.core.pooling import rows, shape, similarities
from cortex.embedding.engine import Embedder, Reranker
from cortex.embedding.intake import Intake
from cortex.embedding.lanes import Lanes, Work
from cortex.embedding.metrics import Metrics
from cortex.embedding.records import (
    Embeddings,
    Encoded,
    Identity,
    Input,
    Limits,
    Refused,
    Scores,
    Timings,
    Token,
    TokenVectors,
    Wish,
)

Given = TypeVar("Given")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What the service has loaded."""

    intake: Intake
    embedder: Embedder
    normalizes: bool
    width: int
    pair_intake: Intake | None = None
    reranker: Reranker | None = None


class EmbeddingService:
    """Embeds, compares, ranks and tokenizes texts; raises `Refused` with the kind of refusal.

    Every text of a request takes a permit before any work is done on it: when too few are free
    the request is refused at once, so that nobody waits in a queue that only grows.
    """

    def __init__(
        self,
        *,
        models: Models,
        identity: Identity,
        limits: Limits,
        lanes: Lanes,
        threads: ThreadPoolExecutor,
        metrics: Metrics,
    ) -> None:
        self.identity = identity
        self.limits = limits
        self.metrics = metrics
        self._models = models
        self._lanes = lanes
        self._threads = threads
        self._free = limits.max_concurrent_requests

    async def embed(self, asked: EmbedRequest) -> Embeddings:
        """One vector a text."""
        texts, wish = asked.texts, asked.wish
        began = time.perf_counter()
        with self._admitted(len(texts.items), texts.batched):
            self._check_dimensions(wish.dimensions)
            results, timings = await self._through(texts, wish, self._models.embedder.pooled)
            normalize = self._models.normalizes if wish.normalize is None else wish.normalize
            vectors = shape(rows(results), wish.dimensions, normalize=normalize)
            self._record(timings, began)
        return Embeddings(vectors, timings)

    async def embed_all(self, asked: EmbedRequest) -> TokenVectors:
        """One vector a token, for each text."""
        texts = asked.texts
        began = time.perf_counter()
        with self._admitted(len(texts.items), texts.batched):
            states, timings = await self._through(texts, asked.wish, self._models.embedder.states)
            self._record(timings, began)
        return TokenVectors(states, timings)

    async def similarity(self, asked: SimilarityRequest) -> Scores:
        """The cosine of each sentence with the source."""
        if not asked.sentences:
            raise Refused(ErrorKind.EMPTY, "`inputs.sentences` cannot be empty")
        items: list[Input] = [asked.source, *asked.sentences]
        wish = Wish(
            truncate=asked.wish.truncate,
            truncate_left=asked.wish.truncate_left,
            prompt_name=asked.wish.prompt_name,
            normalize=True,
        )
        found = await self.embed(EmbedRequest(Texts(items, batched=True), wish))
        return Scores(similarities(found.vectors), found.timings)

    async def rerank(self, asked: RerankRequest) -> Scores:
        """How well each text answers the query; between 0 and 1 unless raw scores are asked."""
        if not asked.texts:
            raise Refused(ErrorKind.EMPTY, "`texts` cannot be empty")
        reranker, intake = self._models.reranker, self._models.pair_intake
        if reranker is None or intake is None:
            raise Refused(ErrorKind.BACKEND, "Backend error: model is not a re-ranker model")
        began = time.perf_counter()
        with self._admitted(len(asked.texts), True):
            encoded = await intake.encode_pairs(asked.query, asked.texts, asked.wish)
            read_s = time.perf_counter() - began
            scores, timings = await self._lanes.run(reranker.scores, encoded)
            timings.characters = sum(map(len, asked.texts)) + len(asked.query) * len(asked.texts)
            self._fill(timings, encoded, read_s)
            self._record(timings, began)
        if any(math.isnan(score) for score in scores):
            raise Refused(ErrorKind.BACKEND, "score is NaN")
        return Scores(scores if asked.raw_scores else [_sigmoid(one) for one in scores], timings)

    async def list_tokens(self, asked: TokenizeRequest) -> list[list[Token]]:
        """Every token of each text; takes no permit."""
        if asked.batched:
            self._check_batch(len(asked.texts))
        return await self._models.intake.list_tokens(
            asked.texts, asked.add_special_tokens, asked.prompt_name
        )

    async def decode(self, asked: DecodeRequest) -> list[str]:
        """The texts that ids stand for; takes no permit."""
        self._check_batch(len(asked.ids))
        return await self._models.intake.decode(asked.ids, asked.skip_special_tokens)

    async def beside_loop(self, work: Callable[[Given], Answer], given: Given) -> Answer:
        """Do something long without holding up the other requests."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, given)

    def not_a_classifier(self) -> Refused:
        """Why no prediction can be made."""
        return Refused(ErrorKind.BACKEND, "Backend error: Model is not a classifier model")

    def not_sparse(self) -> Refused:
        """Why no sparse vector can be made."""
        message = "Backend error: Model is not an embedding model with SPLADE pooling"
        return Refused(ErrorKind.BACKEND, message)

    async def _through(self, texts: Texts, wish: Wish, work: Work) -> tuple[list, Timings]:  # type: ignore[type-arg]
        """Tokens made, then the texts run."""
        began = time.perf_counter()
        encoded = await self._models.intake.encode(texts.items, wish)
        read_s = time.perf_counter() - began
        self.metrics.embed_count.add(times=len(encoded))
        results, timings = await self._lanes.run(work, encoded)
        timings.characters = sum(map(len, texts.items))
        self._fill(timings, encoded, read_s)
        return results, timings

    def _fill(self, timings: Timings, encoded: Sequence[Encoded], read_s: float) -> None:
        lengths = [len(text.ids) for text in encoded]
        timings.texts = len(lengths)
        timings.tokens = sum(lengths)
        timings.tokenize_s = read_s * len(lengths)  # read together, so each took the whole
        for length in lengths:
            self.metrics.request_input_length.observe(length)

    def _check_dimensions(self, dimensions: int | None) -> None:
        if dimensions is None:
            return
        prefix = "Input validation error: `dimensions` should be "
        if dimensions == 0:
            raise Refused(ErrorKind.VALIDATION, prefix + "positive")
        if dimensions > self._models.width:
            raise Refused(
                ErrorKind.VALIDATION, prefix + "smaller than the maximum embedding dimension."
            )

    def _check_batch(self, count: int) -> None:
        if count == 0:
            raise Refused(ErrorKind.EMPTY, "`inputs` cannot be empty")
        limit = self.limits.max_client_batch_size
        if count > limit:
            raise Refused(
                ErrorKind.VALIDATION, f"batch size {count} > maximum allowed batch size {limit}"
            )

    @contextmanager
    def _admitted(self, count: int, batched: bool) -> Iterator[None]:
        """Count a request, and hold its permits while it is worked on."""
        method = "batch" if batched else "single"
        self.metrics.request_count.add(method)
        held = 0
        try:
            if batched:
                self._check_batch(count)
            if count > self._free:
                raise Refused(ErrorKind.OVERLOADED, "Model is overloaded")
            self._free -= count
            held = count
            yield
            self.metrics.request_success.add(method)
        except Refused as refused:
            self.metrics.request_failure.add(refused.error_kind.lower())
            raise
        finally:
            self._free += held

    def _record(self, timings: Timings, began: float) -> None:
        """Enter what one request took into the histograms, means a text for its stages."""
        timings.total_s = time.perf_counter() - began
        metrics, texts = self.metrics, timings.texts
        read_s, queue_s = timings.tokenize_s / texts, timings.queue_s / texts
        inference_s = timings.inference_s / texts
        metrics.request_duration.observe(timings.total_s)
        metrics.request_tokenization.observe(read_s)
        metrics.request_queue.observe(queue_s)
        metrics.request_inference.observe(inference_s)
        metrics.embed_success.add(times=texts)
        for _ in range(texts):
            metrics.embed_duration.observe(read_s + queue_s + inference_s)
            metrics.embed_tokenization.observe(read_s)
            metrics.embed_queue.observe(queue_s)
            metrics.embed_inference.observe(inference_s)


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))
