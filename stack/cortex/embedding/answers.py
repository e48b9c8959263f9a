"""How the service's results look on the wire: JSON bodies and the headers beside them."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from cortex.contracts.embedding import STAGES, ErrorKind
from cortex.embedding.core.parsing import RerankRequest
from cortex.embedding.records import (
    Embeddings,
    Floats,
    Identity,
    Limits,
    Scores,
    Timings,
    Token,
)

_MS = 1000
Headers = list[tuple[bytes, bytes]]


def as_json(value: object) -> bytes:
    """JSON without spaces; float32 arrays print as few digits as give the same float32 back."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def openai_answer(found: Embeddings, model: str, as_base64: bool) -> bytes:
    """The body of an OpenAI embeddings answer; base64 holds little-endian float32."""
    rows: Sequence[object] = list(found.vectors)
    if as_base64:
        rows = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in found.vectors]
    tokens = found.timings.tokens
    data = [
        {"object": "embedding", "embedding": row, "index": place} for place, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return as_json({"object": "list", "data": data, "model": model, "usage": usage})


def ranks(asked: RerankRequest, found: Scores) -> list[dict[str, Any]]:
    """The texts of a rerank request, best first."""
    order = sorted(range(len(found.scores)), key=lambda place: -found.scores[place])
    return [
        {
            "index": place,
            **({"text": asked.texts[place]} if asked.return_text else {}),
            "score": np.float32(found.scores[place]),
        }
        for place in order
    ]


def similarity_answer(found: Scores) -> bytes:
    """The body of a similarity answer."""
    return as_json(np.asarray(found.scores, np.float32))


def token_lists(found: Sequence[Sequence[Token]]) -> bytes:
    """The body of a tokenize answer."""
    return as_json(found)


def all_states(found: Sequence[Floats]) -> bytes:
    """The body of an embed_all answer."""
    return as_json(found)


def error_answer(kind: ErrorKind, message: str, openai: bool) -> bytes:
    """The body of a refusal, in the shape of the route that refused."""
    if openai:
        return as_json({"message": message, "code": kind.status, "type": kind})
    return as_json({"error": message, "error_type": kind})


def info(identity: Identity, limits: Limits) -> bytes:
    """The body of `/info`."""
    return as_json(
        {
            "model_id": identity.model_id,
            "model_sha": identity.revision,
            "model_dtype": identity.dtype,
            "served_model_name": identity.served_name,
            "model_type": {"embedding": {"pooling": identity.pooling}},
            "max_concurrent_requests": limits.max_concurrent_requests,
            "max_input_length": identity.max_input_tokens,
            "max_batch_tokens": limits.max_batch_tokens,
            "max_batch_requests": identity.batch_texts,
            "max_client_batch_size": limits.max_client_batch_size,
            "auto_truncate": limits.auto_truncate,
            "tokenization_workers": identity.tokenization_workers,
            "version": identity.version,
            "sha": None,
            "docker_label": None,
        }
    )


def compute_headers(timings: Timings) -> Headers:
    """What the request took: whole milliseconds as the interface has them, and `Server-Timing`."""
    texts = timings.texts or 1
    stages = (timings.tokenize_s, timings.queue_s, timings.inference_s)
    read_ms, queue_ms, inference_ms = (seconds / texts * _MS for seconds in stages)
    total_ms = timings.total_s * _MS
    means = zip(STAGES, (read_ms, queue_ms, inference_ms), strict=True)
    parts = [*(f"{name};dur={value:.3f}" for name, value in means), f"total;dur={total_ms:.3f}"]
    total = b"%d" % total_ms
    return [
        (b"x-compute-type", b"gpu+optimized"),
        (b"x-compute-time", total),
        (b"x-compute-characters", b"%d" % timings.characters),
        (b"x-compute-tokens", b"%d" % timings.tokens),
        (b"x-total-time", total),
        (b"x-tokenization-time", b"%d" % read_ms),
        (b"x-queue-time", b"%d" % queue_ms),
        (b"x-inference-time", b"%d" % inference_ms),
        (b"server-timing", ", ".join(parts).encode()),
    ]
