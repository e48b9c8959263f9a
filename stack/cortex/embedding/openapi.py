"""The OpenAPI page: which routes there are, and what they read."""

from cortex.embedding.records import Identity

Schema = dict[str, object]

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_IDS: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}}
_INPUT: Schema = {"oneOf": [_TEXT, _IDS, {"type": "array", "items": {"oneOf": [_TEXT, _IDS]}}]}
_WISH: Schema = {
    "truncate": {"type": "boolean", "nullable": True},
    "truncation_direction": {"type": "string", "enum": ["Left", "left", "Right", "right"]},
    "prompt_name": {"type": "string", "nullable": True},
}
_EMBED: Schema = {
    "inputs": _INPUT,
    **_WISH,
    "normalize": {"type": "boolean", "default": True},
    "dimensions": {"type": "integer", "minimum": 1, "nullable": True},
}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_RERANK: Schema = {
    "query": _TEXT,
    "texts": _TEXTS,
    **_WISH,
    "raw_scores": _FLAG,
    "return_text": _FLAG,
}
_OPENAI: Schema = {
    "input": _INPUT,
    "model": {"type": "string", "nullable": True},
    "user": {"type": "string", "nullable": True},
    "encoding_format": {"type": "string", "enum": ["float", "base64"]},
    "dimensions": {"type": "integer", "minimum": 1, "nullable": True},
}
_SIMILARITY: Schema = {
    "inputs": {
        "type": "object",
        "required": ["source_sentence", "sentences"],
        "properties": {"source_sentence": _TEXT, "sentences": _TEXTS},
    },
    "parameters": {"type": "object", "nullable": True, "properties": _WISH},
}

_POSTS: dict[str, tuple[str, Schema, list[str]]] = {
    "/embed": ("One vector a text.", _EMBED, ["inputs"]),
    "/embed_all": ("One vector a token.", _EMBED, ["inputs"]),
    "/embed_sparse": ("Refused: the model is dense.", _EMBED, ["inputs"]),
    "/v1/embeddings": ("One vector a text, in the OpenAI shape.", _OPENAI, ["input"]),
    "/embeddings": ("As /v1/embeddings.", _OPENAI, ["input"]),
    "/similarity": ("Cosine of sentences with a source.", _SIMILARITY, ["inputs"]),
    "/rerank": ("Texts by how well they answer a query.", _RERANK, ["query", "texts"]),
    "/predict": ("Refused: no classifier is served.", {"inputs": _INPUT}, ["inputs"]),
    "/tokenize": (
        "The tokens of texts, with byte offsets.",
        {
            "inputs": {"oneOf": [_TEXT, _TEXTS]},
            "add_special_tokens": {"type": "boolean", "default": True},
            "prompt_name": {"type": "string", "nullable": True},
        },
        ["inputs"],
    ),
    "/decode": (
        "The text that ids stand for.",
        {
            "ids": {"oneOf": [_IDS, {"type": "array", "items": _IDS}]},
            "skip_special_tokens": {"type": "boolean", "default": True},
        },
        ["ids"],
    ),
    "/vertex": (
        "Several requests in one.",
        {"instances": {"type": "array", "items": {"type": "object"}}},
        ["instances"],
    ),
}
_GETS = {
    "/info": "Which model is served, and its limits.",
    "/health": "200 while the service runs.",
    "/ping": "As /health.",
    "/metrics": "Prometheus text.",
}
_REFUSALS = {
    "400": "An input is empty, or the body is no JSON.",
    "413": "The body is too large.",
    "415": "The body's content type is not JSON.",
    "422": "A field is missing, wrong or too long.",
    "424": "The model cannot do this.",
    "429": "Too many texts are in the service.",
}


def openapi_document(identity: Identity) -> Schema:
    """The page as OpenAPI 3.0."""
    paths: Schema = {}
    for path, (summary, fields, required) in _POSTS.items():
        schema = {"type": "object", "required": required, "properties": fields}
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        responses = {code: {"description": why} for code, why in _REFUSALS.items()}
        responses["200"] = {"description": summary}
        paths[path] = {"post": {"summary": summary, "requestBody": body, "responses": responses}}
    for path, summary in _GETS.items():
        paths[path] = {"get": {"summary": summary, "responses": {"200": {"description": summary}}}}
    about = {"title": "Cortex embedding service", "version": identity.version}
    return {"openapi": "3.0.3", "info": about, "paths": paths}
