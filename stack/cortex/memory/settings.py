"""Every knob of the memory server; `docs/settings.md` is made from this."""

from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from cortex.shared.settings import ServiceSettings

Fusion = Literal["convex", "reciprocal-rank", "text-only", "vector-only"]


class Settings(ServiceSettings):
    """Settings of `cortex memory serve` and `cortex memory migrate`."""

    model_config = SettingsConfigDict(env_prefix="CORTEX_MEMORY_", frozen=True)

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=5100, ge=0, le=65535, description="Port to listen on.")
    database_url: SecretStr = Field(description="Postgres to keep memory items in.")
    pool_size: int = Field(default=8, ge=1, le=200, description="Most connections to Postgres.")
    embedding_url: str = Field(
        default="http://127.0.0.1:8080", description="Address of the embedding service."
    )
    embedding_api_key: SecretStr | None = Field(
        default=None, description="Key the embedding service asks for."
    )
    embedding_timeout_s: float = Field(
        default=3.0,
        gt=0,
        le=600,
        description="Longest wait for one search's embeddings, in seconds.",
    )
    write_timeout_s: float = Field(
        default=120.0,
        gt=0,
        le=3600,
        description="Longest wait for one write's embeddings, in seconds.",
    )
    fusion: Fusion = Field(
        default="convex",
        description="How the two arms are combined; the default is what the evals show to be best.",
    )
    vector_search: Literal["auto", "exact", "indexed"] = Field(
        default="auto",
        description=(
            "How the nearest vectors are found: by whichever of the two is cheaper, by comparing "
            "all, or by the HNSW index wherever no filter forbids it."
        ),
    )
    text_language: str = Field(
        default="english",
        pattern=r"^[a-z_]{2,40}$",
        description="Postgres text search configuration of queries and of newly written items.",
    )
    token: SecretStr | None = Field(
        default=None,
        description=(
            "Bearer tokens, none: open. Several are separated by ';', each "
            "`TOKEN[ projects=a,b][ read-only]`."
        ),
    )
    calls_per_minute: int = Field(
        default=0, ge=0, description="Most calls a minute for each token; 0: no limit."
    )
    allowed_hosts: str = Field(
        default="", description="Further `Host` values to answer to, separated by commas."
    )
    allowed_origins: str = Field(
        default="", description="Further browser origins to answer to, separated by commas."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level that is logged."
    )
    drain_timeout_s: int = Field(
        default=5, ge=1, le=300, description="How long calls in flight may end after a SIGTERM."
    )
