"""Other memory servers, measured as ours is: an adapter is one small class that speaks for one.

The harness serves it over HTTP with the tools it calls (`harness/adapters/serving.py`), so that the
relevance and load suites need not know what stands behind. The one that comes along is
`postgres-recipe`: what one would copy from a tutorial.
"""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from harness.errors import UsageMistake
from harness.targets import Start, Targets

RECIPE = "postgres-recipe"
SHIPPED = {RECIPE: ("harness.adapters.postgres_recipe", "PostgresRecipe")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a run offers an adapter: a database of its own (empty at first), an embedding service.

    A server that runs elsewhere needs neither; it reads its address from its own variables.
    """

    database_url: str
    embedding_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What is to be kept; `extras` are further texts it should be found by."""

    title: str
    content: str
    category: str = ""
    tags: tuple[str, ...] = ()
    status: str = ""
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A search: one to four texts for the same thing; `project` None is all of them."""

    texts: tuple[str, ...]
    project: str | None
    limit: int
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An item found, by the id `add` gave it; a higher score is a better hit."""

    id: str
    score: float
    content: str = ""


class Adapter(Protocol):
    """Speaks for one memory server; made once a process, called from several threads at a time."""

    def prepare(self) -> None:
        """Make tables, collections, what there must be before the first item; called once a set."""

    def add(self, project: str, items: Sequence[Item]) -> Sequence[str]:
        """Keep items; their ids, in order. They must be findable when it returns."""

    def find(self, wanted: Wanted) -> Sequence[Hit]:
        """The best hits, best first, at most `wanted.limit`."""


Maker = Callable[[Place], Adapter]


def made(spec: str, place: Place) -> Adapter:
    """The adapter a spec names: one that comes along, or `FILE.py:CLASS`."""
    return _class(spec)(place)


def check(spec: str) -> None:
    """Raise `UsageMistake` where a spec names no adapter."""
    _class(spec)


def adapted(targets: Targets, spec: str) -> Targets:
    """A stack whose memory server is the one an adapter speaks for."""
    memory = targets.services.memory
    environment = memory.start.environment if memory.start else {}
    command = (sys.executable, "-m", "harness.adapters.serving", spec, "serve")
    ours = memory.model_copy(
        update={
            "version": spec,
            "token": None,
            "start": Start(command=command, environment=_passed(environment)),
        }
    )
    services = targets.services.model_copy(update={"memory": ours})
    return targets.model_copy(update={"services": services})


def _passed(environment: dict[str, str]) -> dict[str, str]:
    """What an adapter's server gets of the memory server's settings."""
    names = ("CORTEX_MEMORY_DATABASE_URL", "CORTEX_MEMORY_EMBEDDING_URL", "CORTEX_MEMORY_PORT")
    return {name: environment[name] for name in names if name in environment}


def _class(spec: str) -> Maker:
    file, _, name = spec.rpartition(":")
    if spec in SHIPPED:
        module, name = SHIPPED[spec]
        found: object = getattr(importlib.import_module(module), name)
    elif file:
        found = getattr(_module(Path(file)), name, None)
    else:
        shipped = ", ".join(SHIPPED)
        raise UsageMistake(f"{spec!r} is no adapter; want FILE.py:CLASS, or one of {shipped}")
    lacking = [word for word in ("prepare", "add", "find") if not hasattr(found, word)]
    if not callable(found) or lacking:
        what = f"lacks {', '.join(lacking)}" if found is not None else "is not there"
        raise UsageMistake(f"{spec}: the class {name} {what}; see docs/guides/other-servers.md")
    return cast("Maker", found)


def _module(path: Path) -> object:
    if not path.is_file():
        raise UsageMistake(f"{path}: there is no such file; want FILE.py:CLASS")
    spec = importlib.util.spec_from_file_location(f"adapter_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageMistake(f"{path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as err:
        raise UsageMistake(f"{path}: cannot be imported: {type(err).__name__}: {err}") from err
    return module
