"""Where each service of a stack answers: the one file the harness knows a stack by."""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import pydantic

from harness import misfits
from harness.errors import UsageMistake

SCHEMA = "cortex.targets/1"


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore", frozen=True)


class Stack(_Shape):
    """Which stack it is."""

    name: str
    runtime: str
    profile: str
    revision: str = "unknown"
    started_at: str = ""


class Start(_Shape):
    """How the stack started a server, so that a variant of it can be started beside it."""

    command: tuple[str, ...] = pydantic.Field(min_length=1)
    environment: dict[str, str] = {}


def _http(url: str) -> str:
    try:
        parts = urlsplit(url)
        told = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as err:
        raise ValueError(f"{url!r} is no address: {err}") from err
    if not told:
        raise ValueError(f"{url!r} is no address; want http://HOST:PORT")
    return url


HttpUrl = Annotated[str, pydantic.AfterValidator(_http)]


class Service(_Shape):
    """One service: where it answers, which version, which processes, its log where it is a file."""

    url: str
    version: str = "unknown"
    pids: tuple[int, ...] = ()
    log: Path | None = None


class EmbeddingService(Service):
    """The embedding service and the model it serves; `start` as the memory server's."""

    url: HttpUrl
    model: str = "unknown"
    start: Start | None = None


class MemoryService(Service):
    """The memory server; `start` is absent where the harness cannot start another one."""

    url: HttpUrl
    mcp_url: HttpUrl
    token: str | None = None
    start: Start | None = None


class Services(_Shape):
    """The services a stack of the memory profile has."""

    memory: MemoryService
    embedding: EmbeddingService
    postgres: Service | None = None


class Targets(_Shape):
    """A running stack as `cortex up --out` describes it."""

    schema_: Literal["cortex.targets/1"] = pydantic.Field(alias="schema")
    stack: Stack
    services: Services


def read(path: Path) -> Targets:
    """The stack a file describes; what is wrong with the file is named by its place in it."""
    try:
        return Targets.model_validate_json(path.read_bytes())
    except OSError as err:
        raise UsageMistake(
            f"{path}: cannot be read ({err.strerror}); is it a targets file?"
        ) from err
    except pydantic.ValidationError as err:
        misfit = misfits.first(err)
        place = misfit.place or "the file"
        raise UsageMistake(f"{path}: {place}: {misfit.why}; expected schema {SCHEMA}") from err
