"""What suites share in one run: eval sets loaded through the product, and servers over them.

On a stack of the run's own each eval set gets its own database, so that a set's scores do not
depend on which others are there. On a stack of somebody else's the running server is asked, in
projects named after the run, and nothing else is started.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from harness import adapters, mcp, processes, progress
from harness.errors import StackFailed
from harness.evalsets import items
from harness.evalsets.records import Document, EvalSet
from harness.probes import databases, embedding_cache
from harness.probes.embedding_cache import EmbeddingCache
from harness.servers import MEMORY, starting
from harness.targets import Start, Targets

MIGRATED_WITHIN_S = 120.0
LONGEST_SLUG = 100


@dataclass(frozen=True, slots=True)
class Variant:
    """A memory server to start: what it does otherwise than by default, cached or not."""

    name: str
    fusion: str | None = None
    vector_search: str | None = None
    cached: bool = True


@dataclass(frozen=True, slots=True)
class Loaded:
    """An eval set in a memory server: slugs by project, document ids by item id."""

    found: EvalSet
    database_url: str | None
    projects: dict[str, str]
    documents: dict[str, str]


class Workbench:
    """Makes databases, loads sets and starts servers; `closing` takes all of it down."""

    def __init__(
        self, targets: Targets, owned: bool, run: Path, cache: Path, adapter: str = ""
    ) -> None:
        self._targets = adapters.adapted(targets, adapter) if adapter else targets
        self._adapter = adapter
        self.owned = owned
        self._run = run
        self._logs = run / "logs"
        self._run_id = re.sub(r"[^a-z0-9]+", "-", run.name.lower())
        self._cache_file = cache
        self._stack = contextlib.ExitStack()
        self._proxy: tuple[str, EmbeddingCache] | None = None
        self._loaded: dict[tuple[str, bool], Loaded] = {}
        self.started: list[tuple[str, int]] = []
        """The servers that run now beside the stack's own: variant and process."""

    @contextlib.contextmanager
    def closing(self) -> Iterator["Workbench"]:
        """Itself, taken down at the end."""
        with self._stack:
            yield self

    @property
    def can_start_servers(self) -> bool:
        """Whether other strategies can be started beside the stack's own server."""
        return self.owned and self._targets.services.memory.start is not None

    @property
    def has_strategies(self) -> bool:
        """Whether it can: an adapter's server has one way to search."""
        return self.can_start_servers and not self._adapter

    @property
    def says_nothing(self) -> bool:
        """Whether its server can say that nothing is relevant: an adapter has no way to."""
        return not self._adapter

    @contextlib.contextmanager
    def adapted(self, spec: str) -> Iterator["Workbench"]:
        """The same workbench with an adapter's server instead; it shares the cache."""
        other = Workbench(self._targets, self.owned, self._run, self._cache_file, spec)
        self._proxy_url()
        other._proxy = self._proxy
        with other.closing():
            yield other

    @property
    def has_database(self) -> bool:
        """Whether sets get databases of their own in a Postgres."""
        return self.owned and self._targets.services.postgres is not None

    @property
    def cached(self) -> tuple[int, int]:
        """How many texts the cache answered, and how many the service computed."""
        return (self._proxy[1].hits, self._proxy[1].misses) if self._proxy else (0, 0)

    def load(self, found: EvalSet, extras: bool = True) -> Loaded:
        """The set, loaded by `AddItems` once a run; without `extras`, a copy without them."""
        key = (found.name, extras)
        if key not in self._loaded:
            url = self._database(found.name)
            with self.servers(url, [Variant("loader")]) as (client,):
                self._loaded[key] = self._fill(client, found, extras, url)
        return self._loaded[key]

    def copied(self, loaded: Loaded) -> Loaded:
        """The same set in a database that may be written to; on somebody else's stack, itself."""
        services = self._targets.services
        if loaded.database_url is None or services.postgres is None:
            return loaded
        url = databases.create(services.postgres.url, loaded.found.name, loaded.database_url)
        return replace(loaded, database_url=url)

    @contextlib.contextmanager
    def servers(
        self, database_url: str | None, variants: Sequence[Variant]
    ) -> Iterator[list[mcp.Client]]:
        """A client of each variant over one database; started together, gone afterwards."""
        memory = self._targets.services.memory
        with contextlib.ExitStack() as stack:
            if not self.can_start_servers or memory.start is None:
                urls = [memory.mcp_url for _ in variants]
            else:
                stack.callback(self._forget, len(self.started))
                urls = self._start(stack, memory.start, database_url, variants)
            yield [stack.enter_context(mcp.Client(url, memory.token)) for url in urls]

    def _start(
        self,
        stack: contextlib.ExitStack,
        start: Start,
        database_url: str | None,
        variants: Sequence[Variant],
    ) -> list[str]:
        started = [
            stack.enter_context(
                starting(
                    f"memory server {variant.name!r}",
                    MEMORY,
                    start,
                    self._settings(variant, database_url),
                    self._logs / f"memory-{variant.name}.log",
                )
            )
            for variant in variants
        ]
        self.started += [(v.name, s.child.pid) for v, s in zip(variants, started, strict=True)]
        for server in started:
            server.wait_until_ready()
        return [server.mcp_url for server in started]

    def _forget(self, kept: int) -> None:
        del self.started[kept:]

    def _settings(self, variant: Variant, database_url: str | None) -> dict[str, str]:
        changed = {}
        if database_url:
            changed["CORTEX_MEMORY_DATABASE_URL"] = database_url
        if variant.fusion:
            changed["CORTEX_MEMORY_FUSION"] = variant.fusion
        if variant.vector_search:
            changed["CORTEX_MEMORY_VECTOR_SEARCH"] = variant.vector_search
        if variant.cached:
            changed["CORTEX_MEMORY_EMBEDDING_URL"] = self._proxy_url()
        return changed

    def _proxy_url(self) -> str:
        if self._proxy is None:
            upstream = self._targets.services.embedding.url
            self._proxy = self._stack.enter_context(
                embedding_cache.serving(upstream, self._cache_file)
            )
        return self._proxy[0]

    def _database(self, about: str) -> str | None:
        """A migrated database of its own, where there is a Postgres that is ours."""
        services = self._targets.services
        start = services.memory.start
        if not self.owned or start is None:
            return None
        changed, url = dict(start.environment), None
        if services.postgres is not None:
            url = databases.create(services.postgres.url, about)
            changed["CORTEX_MEMORY_DATABASE_URL"] = url
        command = [*start.command[:-1], "migrate"]
        log = self._logs / "memory-migrate.log"
        environment = processes.inherited(MEMORY, changed)
        with processes.running(command, environment, log) as child:
            processes.finish(child, MIGRATED_WITHIN_S, "`cortex memory migrate`", log)
        return url

    def _fill(self, client: mcp.Client, found: EvalSet, extras: bool, url: str | None) -> Loaded:
        prefix = found.name if self.owned else f"eval-{self._run_id}-{found.name}"
        projects: dict[str, str] = {}
        for project in found.projects:
            wanted = _slug(prefix + ("" if extras else "-bare"), project)
            if wanted in projects.values() or not 0 < len(wanted) <= LONGEST_SLUG:
                wanted = f"{wanted[: LONGEST_SLUG - 10]}-{len(projects)}".strip("-")
            made = told(client, "CreateProject", name=wanted, slug=wanted)
            projects[project] = str(made.content["project"]["slug"])
        documents: dict[str, str] = {}
        with progress.steps(f"loading {found.name}", len(found.documents)) as step:
            for project, slug in projects.items():
                inside = [d for d in found.documents if d.project == project]
                for ids, item_ids in _add(client, slug, inside, extras):
                    documents |= dict(zip(item_ids, ids, strict=True))
                    step(len(ids))
        return Loaded(found, url, projects, documents)


def _add(
    client: mcp.Client, slug: str, documents: list[Document], extras: bool
) -> Iterator[tuple[list[str], list[str]]]:
    """Add in order, one batch after the other: ties are then broken the same way every time."""
    for batch in items.batches(documents, extras):
        ids = [id_ for id_, _ in batch]
        about = f" for documents {ids[0]!r} to {ids[-1]!r}"
        arguments = {"project": slug, "items": [item for _, item in batch]}
        answer = told(client, "AddItems", about, **arguments)
        item_ids = [str(item["id"]) for item in answer.content["items"]]
        if len(item_ids) != len(ids):
            raise StackFailed(f"AddItems made {len(item_ids)} items of {len(ids)}{about}")
        yield ids, item_ids


def told(client: mcp.Client, tool: str, about: str = "", **arguments: object) -> mcp.Answer:
    """A tool's answer that the run cannot do without; raises `StackFailed`."""
    try:
        return client.call(tool, **arguments)
    except (mcp.ToolRefused, mcp.BadAnswer, httpx.HTTPError) as err:
        raise StackFailed(f"{tool} failed{about}: {type(err).__name__}: {err}") from err


def _slug(prefix: str, project: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{prefix}-{project}".lower()).strip("-")
