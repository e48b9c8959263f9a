"""What a client and a server of the embedding interface agree on: names, limits, error kinds.

The interface is that of Text Embeddings Inference 1.9 (https://github.com/huggingface/text-embeddings-inference),
so either side may be swapped for somebody else's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

EMBED, TOKENIZE, INFO = "/embed", "/tokenize", "/info"

CHARACTERS_PER_TOKEN = 250
"""A text longer than this many characters for each token the model reads is cut or refused."""

STAGES = ("tokenize", "queue", "inference")
"""The stages a server names in `Server-Timing`, in the order a text passes them."""


class ErrorKind(StrEnum):
    """Why a server refused, as its JSON body spells it; `status` is the HTTP status beside it."""

    EMPTY = "Empty"
    VALIDATION = "Validation"
    TOKENIZER = "Tokenizer"
    BACKEND = "Backend"
    OVERLOADED = "Overloaded"
    UNHEALTHY = "Unhealthy"

    @property
    def status(self) -> int:
        """The HTTP status that goes with this kind."""
        return _STATUS[self]


_STATUS = {
    ErrorKind.EMPTY: 400,
    ErrorKind.VALIDATION: 422,
    ErrorKind.TOKENIZER: 422,
    ErrorKind.BACKEND: 424,
    ErrorKind.OVERLOADED: 429,
    ErrorKind.UNHEALTHY: 503,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """Which model answers and how much it takes at once.

    `revision` is a hub commit or a checksum of the weights; "" where the server does not say.
    `pooling` is "" for a server of the OpenAI shape, which does not say either.
    """

    model_id: str
    revision: str
    pooling: str
    max_input_tokens: int
    max_client_batch_size: int
    max_concurrent_requests: int
    max_batch_tokens: int
    auto_truncate: bool

    @classmethod
    def of_tei(cls, info: Mapping[str, Any]) -> "ModelInfo":
        """Read from the answer of `GET /info`; raises `KeyError`, `TypeError` or `ValueError`."""
        model_type = info["model_type"]
        embedding = model_type.get("embedding") if isinstance(model_type, dict) else None
        return cls(
            model_id=str(info["model_id"]),
            revision=str(info.get("model_sha") or ""),
            pooling=str((embedding or {}).get("pooling", "")),
            max_input_tokens=int(info["max_input_length"]),
            max_client_batch_size=int(info["max_client_batch_size"]),
            max_concurrent_requests=int(info["max_concurrent_requests"]),
            max_batch_tokens=int(info["max_batch_tokens"]),
            auto_truncate=bool(info.get("auto_truncate", False)),
        )
