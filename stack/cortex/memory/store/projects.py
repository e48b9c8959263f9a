"""Projects, and the embedding model their vectors were made with."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from cortex.memory.records import Model, Project
from cortex.memory.store.connection import Database, run
from cortex.shared.errors import Conflict

Slugs = Collection[str] | None
"""The projects a caller may see; None means all."""


class ProjectStore:
    """Reads and writes projects."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, after: str | None, limit: int, allowed: Slugs) -> list[Project]:
        """Projects by slug, from the one after `after`."""
        values = {"after": after, "limit": limit, "allowed": listed(allowed)}
        async with self._database.reading() as connection:
            return [Project(**row) for row in await run(connection, "list_projects", values)]

    async def find(self, slug: str, project_id: UUID | None) -> Project | None:
        """The project with this slug, else with this id."""
        async with self._database.reading() as connection:
            rows = await run(connection, "find_project", {"slug": slug, "id": project_id})
            return Project(**rows[0]) if rows else None

    async def add(self, project_id: UUID, name: str, slug: str, now: datetime) -> Project:
        """A new project; raises `Conflict` where the slug is taken."""
        values = {"id": project_id, "name": name, "slug": slug, "now": now}
        async with self._database.writing() as connection:
            rows = await run(connection, "add_project", values)
        if not rows:
            raise Conflict(f"slug {slug!r} is taken; choose another, or use that project")
        return Project(**rows[0])

    async def update(
        self, project_id: UUID, name: str | None, slug: str | None, now: datetime
    ) -> Project:
        """The project with a new name or slug; raises `Conflict` where the slug is taken."""
        values = {"id": project_id, "name": name, "slug": slug, "now": now}
        try:
            async with self._database.writing() as connection:
                rows = await run(connection, "update_project", values)
        except Conflict as err:
            raise Conflict(f"slug {slug!r} is taken; choose another") from err
        return Project(**rows[0])

    async def active_model(self) -> Model | None:
        """The model stored vectors were made with; None before the first vector."""
        async with self._database.reading() as connection:
            rows = await run(connection, "active_model", {})
            return Model(**rows[0]) if rows else None

    async def settle_model(self, model_id: str, revision: str, pooling: str) -> Model:
        """The model of stored vectors: the given one, if there was none yet."""
        values = {"model_id": model_id, "revision": revision, "pooling": pooling}
        async with self._database.writing() as connection:
            await run(connection, "add_model", values)
            rows = await run(connection, "active_model", {})
            return Model(**rows[0])


def listed(allowed: Slugs) -> list[str] | None:
    """The slugs as the queries take them."""
    return None if allowed is None else sorted(allowed)
