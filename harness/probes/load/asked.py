"""What the calls of a load run are made of."""

from dataclasses import dataclass

from harness.probes.workbench import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An eval set that is loaded, where to send, a project to write to, a seed of their own."""

    loaded: Loaded
    memory_url: str
    embedding_url: str
    token: str | None
    scratch_project: str
    seed: int
    own_queries: bool = True
    """Whether the set's own queries may be among the searches: of a server not asked them yet."""
    texts: int | None = None
    """Texts of a search; None as the set has them."""
