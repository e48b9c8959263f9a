"""What a case is played on: the stack, speakers of each era, server variants, new projects."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import httpx

from harness.probes.contract.speaking import TIMEOUT_S, TLS, Era, Speaker
from harness.probes.contract.variants import CannotRun, Variants
from harness.targets import Targets

__all__ = ["At", "CannotRun", "Scene"]


class Scene:
    """One stack, as all cases of a run share it."""

    def __init__(self, targets: Targets, owned: bool, logs: Path, seed: int) -> None:
        self.targets = targets
        self.owned = owned
        self.seed = seed
        self.logs = logs
        self._open = ExitStack()
        self._speakers: dict[tuple[str, Era, str | None], Speaker] = {}
        self.variants = Variants(targets, owned, logs)

    @contextmanager
    def playing(self) -> Iterator["Scene"]:
        """Itself, with everything closed and stopped at the end."""
        with self._open:
            self._open.callback(self.variants.stop)
            yield self

    def at(self, era: Era | Literal[""]) -> "At":
        """What one case gets."""
        return At(scene=self, era=era or "2026-07-28")

    def speaker(self, era: Era, url: str | None = None, token: str | None = None) -> Speaker:
        """A client of the stack's memory server, or of another one, kept for the next case."""
        memory = self.targets.services.memory
        key = (url or memory.mcp_url, era, token if url else memory.token)
        if key not in self._speakers:
            made = Speaker(key[0], era, key[2])
            self._open.callback(made.close)
            self._speakers[key] = made
        return self._speakers[key]

    @cached_property
    def embedding(self) -> httpx.Client:
        """A client of the embedding service."""
        url = self.targets.services.embedding.url
        client = httpx.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False, verify=TLS)
        self._open.callback(client.close)
        return client

    @cached_property
    def model(self) -> dict[str, Any]:
        """What the embedding service says about its model."""
        found: dict[str, Any] = self.embedding.get("/info").raise_for_status().json()
        return found

    @cached_property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The listed tools by name, read once."""
        listed = self.speaker("2026-07-28").result_of("tools/list")["tools"]
        return {tool["name"]: tool for tool in listed}


@dataclass(frozen=True, slots=True)
class At:
    """What one case gets: the memory server in the case's era, and all of the scene."""

    scene: Scene
    era: Era

    @property
    def memory(self) -> Speaker:
        """The stack's memory server."""
        return self.scene.speaker(self.era)

    @property
    def embedding(self) -> httpx.Client:
        """The stack's embedding service."""
        return self.scene.embedding

    @property
    def variants(self) -> Variants:
        """Servers started beside the stack's."""
        return self.scene.variants

    def speak(self, mcp_url: str, token: str | None = None) -> Speaker:
        """Another memory server, in the case's era."""
        return self.scene.speaker(self.era, mcp_url, token)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """A tool of the stack's memory server."""
        return self.memory.call(tool, **arguments)

    def project(self) -> str:
        """The slug of a new, empty project."""
        slug = new_slug()
        self.call("CreateProject", name=f"Contract {slug}", slug=slug)
        return slug

    def add(self, project: str, title: str, content: str, **more: Any) -> dict[str, Any]:
        """A note, added; the item."""
        found: dict[str, Any] = self.call(
            "AddItem", project=project, **note(title, content, **more)
        )
        return dict(found["item"])

    def add_all(self, project: str, notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Notes, added in one call."""
        return list(self.call("AddItems", project=project, items=notes)["items"])

    def find(self, project: str, *queries: str, **more: Any) -> dict[str, Any]:
        """The answer of FindItems."""
        return self.call("FindItems", queries=list(queries), project=project, **more)


def new_slug() -> str:
    """A project's slug nobody has used."""
    return f"contract-{secrets.token_hex(6)}"


def note(title: str, content: str, **more: Any) -> dict[str, Any]:
    """A note as AddItem takes it; its own fields repeat the title."""
    base = {"category": "note", "title": title, "content": content}
    return base | {"subject": title, "body": title} | more


def titles(found: dict[str, Any]) -> list[str]:
    """The titles of a search's hits, best first."""
    return [str(hit["item"]["title"]) for hit in found["hits"]]
