"""Who asks, and what that caller may do."""

from dataclasses import dataclass

from cortex.memory.records import Project
from cortex.shared.errors import Forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A caller: limited to the projects with these slugs (None: no limit), or to reading."""

    name: str = "anonymous"
    projects: frozenset[str] | None = None
    read_only: bool = False

    def must_write(self) -> None:
        """Raise `Forbidden` where this caller may only read."""
        if self.read_only:
            raise Forbidden("this token may only read; use one that may write")

    def may_see(self, project: Project) -> bool:
        """Whether a project exists for this caller."""
        return self.projects is None or project.slug in self.projects


EVERYBODY = Caller()
