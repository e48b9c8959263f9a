"""Projects: list, find, create, rename."""

from uuid import UUID

from cortex.memory.actions import clock
from cortex.memory.actions.caller import Caller
from cortex.memory.core.slugs import slug_of
from cortex.memory.records import Project
from cortex.memory.store import ProjectStore
from cortex.shared.errors import Forbidden, InvalidInput, NotFound


class Projects:
    """What a caller can ask about projects."""

    def __init__(self, store: ProjectStore) -> None:
        self._store = store

    async def page(
        self, caller: Caller, limit: int, after: str | None
    ) -> tuple[list[Project], str | None]:
        """A page of projects by slug, and the cursor of the next."""
        found = await self._store.page(after, limit + 1, caller.projects)
        page = found[:limit]
        return page, page[-1].slug if len(found) > limit else None

    async def get(self, caller: Caller, reference: str) -> Project:
        """The project with this slug or id; `NotFound` also where the caller may not see it."""
        project = await self._store.find(reference, as_uuid(reference))
        if project is None or not caller.may_see(project):
            raise no_such_project(reference)
        return project

    async def create(self, caller: Caller, name: str, slug: str | None) -> Project:
        """A new project; the slug is made of the name where none is given."""
        caller.must_write()
        slug = slug or slug_of(name)
        if not slug:
            raise InvalidInput(f"name {name!r} gives no slug; give one of letters a-z, digits, '-'")
        _must_not_spell_an_id(slug)
        if caller.projects is not None and slug not in caller.projects:
            raise Forbidden(f"this token may not make a project {slug!r}")
        return await self._store.add(clock.new_id(), name, slug, clock.now())

    async def update(
        self, caller: Caller, reference: str, name: str | None, slug: str | None
    ) -> Project:
        """A project with a new name, slug or both."""
        caller.must_write()
        if name is None and slug is None:
            raise InvalidInput("nothing to change; give name, slug or both")
        if slug is not None:
            _must_not_spell_an_id(slug)
        project = await self.get(caller, reference)
        if slug is not None and slug != project.slug and caller.projects is not None:
            raise Forbidden("this token is bound to its projects' slugs; it may not change one")
        return await self._store.update(project.id, name, slug, clock.now())


def no_such_project(reference: str) -> NotFound:
    """The error for a project that is not there, or not for this caller."""
    return NotFound(f"there is no project {reference!r}; ListProjects names them all")


def _must_not_spell_an_id(slug: str) -> None:
    """A slug that is another project's id would name two projects."""
    if as_uuid(slug) is not None:
        raise InvalidInput(f"slug {slug!r} spells an id; give one that does not, as 'p-{slug[:8]}'")


def as_uuid(text: str) -> UUID | None:
    """The id a text spells, or None."""
    try:
        return UUID(text)
    except ValueError:
        return None
