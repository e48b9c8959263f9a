"""The plan a load run follows, and the result it leaves: the two files shared with the harness."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SCHEMA = "cortex.load-result/1"


@dataclass(frozen=True, slots=True)
class Call:
    """One search as it goes over the wire."""

    headers: dict[str, str]
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to send: closed (`users`, `warm_up` searches) or open (`moments`, `warm_up_s`)."""

    model: Literal["closed", "open"]
    url: str
    calls: list[Call]
    users: int = 1
    warm_up: int = 0
    think_s: float = 0.0
    moments: list[float]
    warm_up_s: float = 0.0
    pool: int = 64
    limit_s: float = 600.0

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """The plan in a file."""
        found = json.loads(path.read_bytes())
        calls = [Call(**call) for call in found.pop("calls")]
        return cls(calls=calls, **found)

    def numbered(self) -> Iterator[tuple[int, Call]]:
        """The calls in order, each once."""
        return enumerate(self.calls)
