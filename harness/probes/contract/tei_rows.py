"""What Text Embeddings Inference 1.9 answers, request by request: the table the service keeps to.

Bodies of application errors are exact; a parser's free text is held to its beginning alone.
"""

from dataclasses import dataclass
from typing import Any

JSON = "application/json"
TEXT = "text/plain"
UNREADABLE = "Failed to parse the request body as JSON"
MISSHAPEN = "Failed to deserialize the JSON body into the target type"
UNTYPED = "Expected request with `Content-Type: application/json`"
TOO_LONG = "Failed to buffer the request body: length limit exceeded"
NO_INPUTS = "Input validation error: `inputs` cannot be empty"
BATCH = "batch size {over} > maximum allowed batch size {most}"
DIMENSIONS = "Input validation error: `dimensions` should be "
TOO_WIDE = DIMENSIONS + "smaller than the maximum embedding dimension."
OVERLOADED = "Model is overloaded"
NOT_A_CLASSIFIER = "Backend error: Model is not a classifier model"
NOT_A_RERANKER = "Backend error: model is not a re-ranker model"
NOT_SPARSE = "Backend error: Model is not an embedding model with SPLADE pooling"

INFO_KEYS = [
    *("model_id", "model_sha", "model_dtype", "served_model_name", "model_type"),
    *("max_concurrent_requests", "max_input_length", "max_batch_tokens", "max_batch_requests"),
    *("max_client_batch_size", "auto_truncate", "tokenization_workers"),
    *("version", "sha", "docker_label"),
]
TIMES = [
    *("x-compute-time", "x-compute-characters", "x-compute-tokens", "x-total-time"),
    *("x-tokenization-time", "x-queue-time", "x-inference-time"),
]
METRICS = [
    *("te_request_count", "te_request_success", "te_embed_count", "te_embed_success"),
    *("te_queue_size", "te_request_duration", "te_request_tokenization_duration"),
    *("te_request_queue_duration", "te_request_inference_duration", "te_request_input_length"),
    *("te_embed_duration", "te_embed_tokenization_duration", "te_embed_queue_duration"),
    *("te_embed_inference_duration", "te_batch_next_size", "te_batch_next_tokens"),
]
STATUS = {"Empty": 400, "Validation": 422, "Backend": 424, "Overloaded": 429}


@dataclass(frozen=True, slots=True)
class Row:
    """A request and the refusal it gets; `body` is sent as JSON, bytes as they are."""

    name: str
    path: str
    body: Any
    status: int
    message: str
    kind: str = ""
    content_type: str = JSON


def _refused(name: str, path: str, body: Any, kind: str, message: str) -> Row:
    return Row(name, path, body, STATUS[kind], message, kind)


def _unread(name: str, path: str, body: Any, message: str = UNREADABLE) -> Row:
    return Row(name, path, body, 400, message, content_type=TEXT)


def _misshapen(name: str, path: str, body: Any) -> Row:
    return Row(name, path, body, 422, MISSHAPEN, content_type=TEXT)


def refusals(most: int) -> list[Row]:
    """Every refusal of a default server whose largest batch has `most` texts."""
    many = ["hi"] * (most + 1)
    batch = BATCH.format(over=most + 1, most=most)
    return [*_of_embed(many, batch), *_of_openai(many, batch), *_of_the_others(many, batch)]


def _of_embed(many: list[str], batch: str) -> list[Row]:
    return [
        _refused("an empty text", "/embed", {"inputs": ""}, "Empty", NO_INPUTS),
        _refused(
            "a batch with an empty text", "/embed", {"inputs": ["hi", ""]}, "Empty", NO_INPUTS
        ),
        _refused("an empty batch", "/embed", {"inputs": []}, "Empty", NO_INPUTS),
        _refused("an empty list of ids", "/embed", {"inputs": [[]]}, "Empty", NO_INPUTS),
        _refused("too large a batch", "/embed", {"inputs": many}, "Validation", batch),
        _refused(
            "no dimensions",
            "/embed",
            {"inputs": "hi", "dimensions": 0},
            "Validation",
            DIMENSIONS + "positive",
        ),
        _refused(
            "too many dimensions",
            "/embed",
            {"inputs": "hi", "dimensions": 9999},
            "Validation",
            TOO_WIDE,
        ),
        _misshapen("inputs that are null", "/embed", {"inputs": None}),
        _misshapen("inputs that are a number", "/embed", {"inputs": 5}),
        _misshapen("inputs that are missing", "/embed", {}),
        _misshapen("inputs that are an object", "/embed", {"inputs": {"a": 1}}),
        _misshapen("inputs two lists deep", "/embed", {"inputs": [["hi"]]}),
        _misshapen("a negative token id", "/embed", {"inputs": [101, -1, 102]}),
        _misshapen("truncate of another type", "/embed", {"inputs": "hi", "truncate": "yes"}),
        _misshapen("normalize of null", "/embed", {"inputs": "a", "normalize": None}),
        _misshapen("a field twice", "/embed", b'{"inputs":"a","inputs":"b"}'),
        _misshapen("a body that is a string", "/embed", "x"),
        _unread("half a body", "/embed", b'{"inputs": "hi"'),
        _unread("a body of words", "/embed", b"not json"),
        _unread("no body", "/embed", b""),
        _unread("bad UTF-8", "/embed", b'{"inputs":"\xff\xfe"}'),
        _unread("a lone surrogate", "/embed", b'{"inputs":"\\ud800"}'),
        Row("2.1 MB", "/embed", {"inputs": "a" * 2_100_000}, 413, TOO_LONG, content_type=TEXT),
    ]


def _of_openai(many: list[str], batch: str) -> list[Row]:
    return [
        _refused("an empty text", "/v1/embeddings", {"input": ""}, "Empty", NO_INPUTS),
        _refused(
            "a batch with an empty text",
            "/v1/embeddings",
            {"input": ["hi", ""]},
            "Empty",
            NO_INPUTS,
        ),
        _refused("an empty batch", "/v1/embeddings", {"input": []}, "Empty", NO_INPUTS),
        _refused("too large a batch", "/v1/embeddings", {"input": many}, "Validation", batch),
        _refused(
            "too many dimensions",
            "/v1/embeddings",
            {"input": "hi", "dimensions": 9999},
            "Validation",
            TOO_WIDE,
        ),
        _misshapen("input that is missing", "/v1/embeddings", {"model": "m"}),
        _misshapen("inputs for input", "/v1/embeddings", {"inputs": "hi"}),
        _misshapen(
            "another encoding", "/v1/embeddings", {"input": "hi", "encoding_format": "int8"}
        ),
        _unread("half a body", "/v1/embeddings", b"{"),
    ]


def _of_the_others(many: list[str], batch: str) -> list[Row]:
    return [
        _refused("an empty text", "/tokenize", {"inputs": ""}, "Empty", NO_INPUTS),
        _refused(
            "an empty batch", "/tokenize", {"inputs": []}, "Empty", "`inputs` cannot be empty"
        ),
        _refused("too large a batch", "/tokenize", {"inputs": many}, "Validation", batch),
        _misshapen("inputs that are a number", "/tokenize", {"inputs": 1}),
        _refused(
            "no ids",
            "/decode",
            {"ids": []},
            "Empty",
            "Input validation error: `input_ids` cannot be empty",
        ),
        _refused("an embedder", "/predict", {"inputs": "hi"}, "Backend", NOT_A_CLASSIFIER),
        _refused(
            "an embedder", "/rerank", {"query": "a", "texts": ["b"]}, "Backend", NOT_A_RERANKER
        ),
        _refused("a dense model", "/embed_sparse", {"inputs": "hi"}, "Backend", NOT_SPARSE),
        _refused(
            "no sentences",
            "/similarity",
            {"inputs": {"source_sentence": "cat", "sentences": []}},
            "Empty",
            "`inputs.sentences` cannot be empty",
        ),
        _refused(
            "an empty source",
            "/similarity",
            {"inputs": {"source_sentence": "", "sentences": ["a"]}},
            "Empty",
            NO_INPUTS,
        ),
        _refused(
            "too many sentences",
            "/similarity",
            {"inputs": {"source_sentence": "a", "sentences": many[:-1]}},
            "Validation",
            batch,
        ),
    ]
