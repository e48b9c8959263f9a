"""Wires the embedding service and serves it; only here are all parts known."""

import gc
import logging
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import uvicorn

from cortex.embedding.actions import EmbeddingService, Models
from cortex.embedding.backends.graph_cache import graph_of
from cortex.embedding.backends.model_files import find_model
from cortex.embedding.backends.onnx import OnnxModel
from cortex.embedding.backends.tokenizing import Tokens
from cortex.embedding.core.batching import MICRO_BATCH_TEXTS, MICRO_BATCH_TOKENS
from cortex.embedding.engine import Embedder, Reranker
from cortex.embedding.http import EmbeddingApp
from cortex.embedding.intake import Intake
from cortex.embedding.lanes import Lanes
from cortex.embedding.metrics import Metrics
from cortex.embedding.records import Encoded, Identity, Limits, ModelFiles, Refused
from cortex.embedding.settings import Settings
from cortex.shared.errors import Misconfigured
from cortex.shared.logs import set_up_logs

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Built:
    """A service ready to be served, and what to close after it."""

    app: EmbeddingApp
    lanes: Lanes
    threads: ThreadPoolExecutor

    def close(self) -> None:
        """End the worker threads."""
        self.lanes.close()
        self.threads.shutdown()


def build(settings: Settings) -> Built:
    """Load and warm everything; raises `Misconfigured` with what to change."""
    cores = len(os.sched_getaffinity(0))
    threads = ThreadPoolExecutor(cores, thread_name_prefix="reader")
    files = find_model(settings.model, settings.revision, settings.pooling)
    limits = Limits(
        max_concurrent_requests=settings.max_concurrent_requests,
        max_client_batch_size=settings.max_client_batch_size,
        max_batch_tokens=settings.max_batch_tokens,
        auto_truncate=settings.auto_truncate,
    )
    if files.max_input_tokens > limits.max_batch_tokens:
        raise Misconfigured(
            f"max_batch_tokens is {limits.max_batch_tokens}; {files.name} reads texts of "
            f"{files.max_input_tokens} tokens, so use that or more"
        )
    # An int8 graph scales its activations by the whole batch: only alone does a text repeat.
    batch_texts = MICRO_BATCH_TEXTS if settings.precision == "fp32" else 1
    metrics = Metrics()
    lanes = Lanes(
        settings.lanes or cores,
        max_texts=batch_texts,
        max_tokens=min(MICRO_BATCH_TOKENS, limits.max_batch_tokens),
        metrics=metrics,
    )
    models = _load(settings, files, threads)
    identity = Identity(
        model_id=files.name,
        revision=files.revision,
        served_name=settings.served_model_name or files.name,
        dtype="float32" if settings.precision == "fp32" else "int8",
        pooling=models.embedder.pooling,
        max_input_tokens=files.max_input_tokens,
        batch_texts=batch_texts,
        tokenization_workers=cores,
        version=version("cortex-stack"),
        reranker=settings.reranker_model,
    )
    service = EmbeddingService(
        models=models,
        identity=identity,
        limits=limits,
        lanes=lanes,
        threads=threads,
        metrics=metrics,
    )
    key = settings.api_key.get_secret_value() if settings.api_key else None
    app = EmbeddingApp(service, api_key=key, payload_limit_bytes=settings.payload_limit_bytes)
    return Built(app, lanes, threads)


def _load(settings: Settings, files: ModelFiles, threads: ThreadPoolExecutor) -> Models:
    began = time.perf_counter()
    model = _graph(settings, files)
    tokens = Tokens(files.tokenizer, files.max_input_tokens)
    embedder = Embedder(model, files.pooling)
    width = _warm(embedder, files.max_input_tokens)
    if width != settings.dimension:
        raise Misconfigured(
            f"{files.name} gives vectors of {width} dimensions, the schema expects "
            f"{settings.dimension}; set another model, or CORTEX_EMBEDDING_DIMENSION={width}"
        )
    pair_intake = reranker = None
    if settings.reranker_model:
        pair_files = find_model(settings.reranker_model, settings.reranker_revision)
        reranker = Reranker(_graph(settings, pair_files))
        pair_intake = _intake(settings, pair_files, threads)
    log.info("model loaded", extra={"took_ms": round((time.perf_counter() - began) * 1000)})
    return Models(
        intake=Intake(
            tokens, auto_truncate=settings.auto_truncate, prompts=files.prompts, threads=threads
        ),
        embedder=embedder,
        normalizes=files.normalizes,
        width=width,
        pair_intake=pair_intake,
        reranker=reranker,
    )


def _intake(settings: Settings, files: ModelFiles, threads: ThreadPoolExecutor) -> Intake:
    tokens = Tokens(files.tokenizer, files.max_input_tokens)
    return Intake(
        tokens, auto_truncate=settings.auto_truncate, prompts=files.prompts, threads=threads
    )


def _graph(settings: Settings, files: ModelFiles) -> OnnxModel:
    path = graph_of(files.graph_source, settings.cache_folder.expanduser(), settings.precision)
    log.info("model found", extra={"model": files.name, "graph": str(path)})
    return OnnxModel(path, settings.threads)


def _warm(embedder: Embedder, max_tokens: int) -> int:
    """The width of the model's vectors, found by running a short and a full-length text."""
    for length in (3, max_tokens):
        text = Encoded([1] * length)
        vectors = np.stack(embedder.pooled([text]))
    return int(vectors.shape[1])


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; open requests are finished first."""
    set_up_logs(settings.log_level)
    built = build(settings)
    # What is loaded stays: the collector need not walk through it again and again.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        built.app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        loop="uvloop",
        http="httptools",
        ws="none",
        # Longer than clients keep a connection: one that closes first breaks a request under way.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=settings.drain_s,
    )
    # uvicorn drains on a signal, then raises it again for whoever handled it before: nobody else.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    try:
        uvicorn.Server(config).run()
    finally:
        built.close()


def main() -> int:
    """Read the settings and serve; the exit code of the process."""
    try:
        settings = Settings.read()
        serve(settings)
    except (Misconfigured, Refused) as err:
        print(f"cortex embedding: {err}", file=sys.stderr)
        return 2
    return 0
