"""The plan a load run follows, and the result it leaves: the two files shared with the harness."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SCHEMA = "cortex.load-result/3"

Shape = Literal["mcp", "search", "write", "embed"]
"""How an answer is read: any tool's result, one with hits, one with an item, a list of vectors."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it goes over the wire; `workload` and `shape` say what it is an example of."""

    url: str
    headers: dict[str, str]
    body: str
    workload: str
    shape: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to send: closed (`users`, `warm_up` calls) or open (`moments`, `warm_up_s`)."""

    model: Literal["closed", "open"]
    calls: list[Call]
    users: int = 1
    warm_up: int = 0
    think_s: float = 0.0
    moments: list[float]
    warm_up_s: float = 0.0
    pool: int = 64
    processes: int = 1
    limit_s: float = 600.0

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """The plan in a file."""
        found = json.loads(path.read_bytes())
        calls = [Call(**call) for call in found.pop("calls")]
        return cls(calls=calls, **found)

    def share(self, index: int) -> "list[tuple[int, float, Call]]":
        """One process's part: every so-manieth call, with its number and its moment."""
        moments = self.moments or [0.0] * len(self.calls)
        numbered = [
            (number, moment, call)
            for number, (moment, call) in enumerate(zip(moments, self.calls, strict=True))
        ]
        return numbered[index :: self.processes]
