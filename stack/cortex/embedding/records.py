"""The nouns of the embedding service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from cortex.contracts.embedding import ErrorKind
from cortex.shared.errors import StackError

Floats = npt.NDArray[np.float32]
Pooling = Literal["cls", "mean", "max", "lasttoken"]
Input = str | tuple[int, ...]
"""One text, or the token ids of one."""


class Refused(StackError):
    """A request this interface answers with a kind of its own and the status that goes with it."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.error_kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """A model on disk: where its parts lie and what they say of themselves."""

    name: str
    revision: str
    graph_source: Path
    tokenizer: Path
    pooling: Pooling
    normalizes: bool
    max_input_tokens: int
    prompts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text as a model reads it; `type_ids` is None where all are nought."""

    ids: Sequence[int]
    type_ids: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text: byte offsets into its UTF-8, none for special tokens."""

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None


@dataclass(slots=True)
class Timings:
    """Seconds that the texts of one request spent in each stage, summed; and what they held."""

    texts: int = 0
    characters: int = 0
    tokens: int = 0
    tokenize_s: float = 0.0
    queue_s: float = 0.0
    inference_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a caller asks of an embedding, the texts aside."""

    truncate: bool | None = None
    truncate_left: bool = False
    normalize: bool | None = None
    dimensions: int | None = None
    prompt_name: str | None = None


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of one request, in the order of its texts; `tokens` counts each text's."""

    vectors: Floats
    timings: Timings


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """One (tokens, width) array for each text of a request."""

    vectors: list[Floats]
    timings: Timings


@dataclass(frozen=True, slots=True)
class Scores:
    """Numbers for the texts of one request, in their order."""

    scores: list[float]
    timings: Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much the service takes."""

    max_concurrent_requests: int = 512
    max_client_batch_size: int = 32
    max_batch_tokens: int = 16384
    auto_truncate: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What `/info` says of the model."""

    model_id: str
    revision: str
    served_name: str
    dtype: str
    pooling: str
    max_input_tokens: int
    batch_texts: int
    tokenization_workers: int
    version: str
    reranker: str | None = field(default=None)
