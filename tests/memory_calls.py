"""Short words for tests that call a memory server."""

import uuid
from collections.abc import Callable
from typing import Any

from servers import Mcp

Start = Callable[..., Mcp]


def new_project(memory: Mcp) -> str:
    slug = f"p-{uuid.uuid4().hex[:12]}"
    memory("CreateProject", name=slug, slug=slug)
    return slug


def note(title: str, content: str, **more: Any) -> dict[str, Any]:
    """A note as AddItem takes it."""
    return {
        "category": "note",
        "title": title,
        "content": content,
        "subject": title,
        "body": title,
        **more,
    }
