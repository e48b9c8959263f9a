"""What a caller can ask of the memory server; read this first.

`Projects` and `Items` keep, `Search` finds; each takes a `Caller`, who may be limited to some
projects or to reading. They are put together in `main`.
"""

from cortex.memory.actions.caller import EVERYBODY, Caller
from cortex.memory.actions.embedder import Embedder
from cortex.memory.actions.finding import Search, SearchWish
from cortex.memory.actions.items import EmbeddingDraft, ItemChange, ItemDraft, Items
from cortex.memory.actions.listing import ListWish
from cortex.memory.actions.projects import Projects

__all__ = [
    "EVERYBODY",
    "Caller",
    "Embedder",
    "EmbeddingDraft",
    "ItemChange",
    "ItemDraft",
    "Items",
    "ListWish",
    "Projects",
    "Search",
    "SearchWish",
]
