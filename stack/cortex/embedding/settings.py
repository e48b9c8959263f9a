"""The embedding service's knobs."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from cortex.shared.settings import ServiceSettings


class Settings(ServiceSettings):
    """Every knob, its default and its meaning; `docs/settings.md` is made from this."""

    model_config = SettingsConfigDict(env_prefix="CORTEX_EMBEDDING_", frozen=True)

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 picks one.")
    model: str = Field(
        default="BAAI/bge-small-en-v1.5",
        min_length=1,
        description="A folder, a hub id, or `bundled` for the all-MiniLM-L6-v2 that needs no hub.",
    )
    revision: str | None = Field(default=None, description="Hub revision of the model.")
    served_model_name: str | None = Field(
        default=None, description="Name in answers; the model's own when unset."
    )
    reranker_model: str | None = Field(
        default=None, description="A folder or hub id of a cross-encoder for `/rerank`."
    )
    reranker_revision: str | None = Field(default=None, description="Hub revision of that model.")
    dimension: int = Field(
        default=384, ge=1, description="Width the schema expects; a model of another is refused."
    )
    pooling: Literal["cls", "mean", "max", "lasttoken"] | None = Field(
        default=None, description="Overrides the pooling that the model's own files name."
    )
    precision: Literal["fp32", "int8"] = Field(
        default="fp32",
        description="`int8` is faster, less exact, and runs one text at a time so as to repeat.",
    )
    api_key: SecretStr | None = Field(
        default=None, min_length=1, description="Bearer token that callers must send."
    )
    max_concurrent_requests: int = Field(
        default=512, ge=1, description="Texts in the service at once; more are answered 429."
    )
    max_client_batch_size: int = Field(default=32, ge=1, description="Most texts in one request.")
    max_batch_tokens: int = Field(
        default=16384, ge=1, description="Most tokens, padding included, that run as one batch."
    )
    auto_truncate: bool = Field(
        default=True, description="Cut long texts unless the request says otherwise."
    )
    payload_limit_bytes: int = Field(
        default=2_000_000, ge=1, description="Largest request body; more is answered 413."
    )
    lanes: int | None = Field(
        default=None, ge=1, description="Batches that run side by side; the cores when unset."
    )
    threads: int = Field(default=1, ge=1, description="ONNX Runtime threads of one batch.")
    cache_folder: Path = Field(
        default=Path("~/.cache/cortex"), description="Where exported graphs are kept."
    )
    drain_s: int = Field(
        default=30, ge=0, description="Seconds that open requests get to finish after SIGTERM."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe log line that is written."
    )
