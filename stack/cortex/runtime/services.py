"""The one table of services: what each is called, where it answers, what it needs, how it starts.

A service added later is a row here; nothing else in the runtime knows services by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from cortex.runtime.plan import Plan
from cortex.runtime.programs.neo4j import Neo4j
from cortex.runtime.programs.own import OwnService
from cortex.runtime.programs.postgres import Postgres
from cortex.runtime.programs.program import Program
from cortex.runtime.programs.seaweedfs import SeaweedFS
from cortex.runtime.programs.valkey import Valkey


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One row: a service as the runtime sees it."""

    name: str
    ports: Mapping[str, int]
    """Default ports by name; the one that bears the service's own name comes first."""
    profiles: frozenset[str]
    program: Program
    needs: tuple[str, ...] = ()
    ready_within_s: float = 120.0


PROFILES = ("memory", "agent", "full")
EVERYWHERE = frozenset(PROFILES)


def _embedding_environment(plan: Plan) -> Mapping[str, str]:
    return {
        "CORTEX_EMBEDDING_HOST": plan.host,
        "CORTEX_EMBEDDING_PORT": str(plan.ports["embedding"]),
    }


def _memory_environment(plan: Plan) -> Mapping[str, str]:
    return {
        "CORTEX_MEMORY_HOST": plan.host,
        "CORTEX_MEMORY_PORT": str(plan.ports["memory"]),
        "CORTEX_MEMORY_DATABASE_URL": plan.database_url(),
        "CORTEX_MEMORY_EMBEDDING_URL": plan.url("embedding"),
    }


def _model(url: str) -> Mapping[str, Any]:
    """Which model the embedding service runs, and the version it says it is of."""
    try:
        body = httpx.get(f"{url}/info", timeout=5, trust_env=False).json()
        return {"model": str(body["model_id"]), "version": str(body["version"])}
    except (httpx.HTTPError, ValueError, KeyError):
        return {"model": "unknown"}


def _mcp(url: str) -> Mapping[str, Any]:
    return {"mcp_url": f"{url}/mcp", "token": None}


SERVICES: tuple[Service, ...] = (
    Service(name="postgres", ports={"postgres": 5432}, profiles=EVERYWHERE, program=Postgres()),
    Service(
        name="neo4j",
        ports={"neo4j": 7474, "neo4j-bolt": 7687},
        profiles=frozenset({"full"}),
        program=Neo4j(),
    ),
    Service(
        name="storage",
        ports={"storage": 9000},
        profiles=frozenset({"agent", "full"}),
        program=SeaweedFS(),
    ),
    Service(
        name="redis",
        ports={"redis": 6379},
        profiles=frozenset({"agent", "full"}),
        program=Valkey(),
    ),
    Service(
        name="embedding",
        ports={"embedding": 8080},
        profiles=EVERYWHERE,
        program=OwnService(
            name="embedding",
            command=("embedding", "serve"),
            live_path="/ping",
            environment=_embedding_environment,
            # The product's default is on a hub, which a bare machine may not reach.
            defaults={"CORTEX_EMBEDDING_MODEL": "bundled"},
            says=_model,
        ),
    ),
    Service(
        name="memory",
        ports={"memory": 5100},
        profiles=EVERYWHERE,
        needs=("postgres", "embedding"),
        program=OwnService(
            name="memory",
            command=("memory", "serve"),
            before=(("memory", "migrate"),),
            live_path="/health/live",
            environment=_memory_environment,
            says=_mcp,
        ),
    ),
)

SECRETS = tuple(name for service in SERVICES for name in service.program.secrets)


def select(profile: str, names: tuple[str, ...] = ()) -> tuple[Service, ...]:
    """The rows of a profile, or the named ones with all they need, in the table's order."""
    by_name = {service.name: service for service in SERVICES}
    if not names:
        return tuple(service for service in SERVICES if profile in service.profiles)
    wanted: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue.extend(by_name[name].needs)
    return tuple(service for service in SERVICES if service.name in wanted)
