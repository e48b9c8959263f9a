"""Loads the synthetic memory through the memory server's own tools."""

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from harness.probes.search_cost.asking import Asker
from harness.probes.search_cost.corpus import DELETED_SHARE, Sizes, Writer

AT_ONCE = 2
ITEMS_A_CALL = 100


@dataclass(slots=True)
class Loaded:
    """What stands in the memory: a few texts of each project to make queries of."""

    slugs: dict[int, str] = field(default_factory=dict)
    texts: dict[int, list[str]] = field(default_factory=dict)
    items: int = 0


class Loader:
    """Fills the projects; the first ones asked for are whole before the others."""

    def __init__(
        self, mcp: Asker, sizes: Sizes, writer: Writer, say: Callable[[str], None]
    ) -> None:
        self._mcp = mcp
        self._say = say
        self._left = {
            project: writer.items(project, count) for project, count in enumerate(sizes.items)
        }
        self.sizes = sizes
        self.loaded = Loaded()

    def load(self, projects: list[int], until: int) -> None:
        """Add all of `projects`, then some of each other one, until so many items stand there."""
        for project in projects:
            self._add(project, self._left[project])
        rest = [project for project in self._left if project not in projects]
        missing = max(0, until - self.loaded.items)
        left = sum(self.sizes.items[project] for project in rest)
        for project in rest:
            share = self.sizes.items[project] / max(1, left)
            self._add(project, itertools.islice(self._left[project], int(missing * share) + 1))

    def _add(self, project: int, items: Iterator[dict[str, Any]]) -> None:
        slug = f"cost-{project}"
        if project not in self.loaded.slugs:
            self._mcp.call("CreateProject", {"name": slug, "slug": slug})
            self.loaded.slugs[project] = slug
            self.loaded.texts[project] = []
        batches = iter(lambda: list(itertools.islice(items, ITEMS_A_CALL)), [])
        started, before = time.monotonic(), self.loaded.items
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for _ in threads.map(lambda batch: self._add_batch(project, slug, batch), batches):
                pass
        took = time.monotonic() - started
        added = self.loaded.items - before
        self._say(f"{slug}: {added} items in {took:.0f} s, {self.loaded.items} in all")

    def _add_batch(self, project: int, slug: str, batch: list[dict[str, Any]]) -> None:
        answer = self._mcp.call("AddItems", {"project": slug, "items": batch})
        ids = [one["id"] for one in answer["items"]]
        for item_id in ids[:: round(1 / DELETED_SHARE)]:
            self._mcp.call("DeleteItem", {"id": item_id})
        self.loaded.items += len(batch)
        if len(self.loaded.texts[project]) < 2_000:
            self.loaded.texts[project] += [one["content"] for one in batch[1::7]]
