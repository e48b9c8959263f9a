"""A service of ours: commands of `cortex`, a health address, an environment of its own."""

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

from cortex.runtime.plan import Plan
from cortex.runtime.programs.program import Health, Program, Start, answered, looked_at


@dataclass(frozen=True, kw_only=True)
class OwnService(Program):
    """A service that `cortex` itself serves.

    `live_path` tells that the process works though it is slow, or something it needs does not.
    """

    name: str
    command: tuple[str, ...]
    environment: Callable[[Plan], Mapping[str, str]]
    before: tuple[tuple[str, ...], ...] = ()
    health_path: str = "/health"
    live_path: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    says: Callable[[str], Mapping[str, Any]] = field(default=lambda _url: {})
    """What else `targets.json` tells of it, given its address."""

    lives_apart = True

    def begin(self, plan: Plan, environment: Mapping[str, str], *, again: bool) -> Start:
        """What comes before a service is done once: a restart must not wait for it."""
        words = [self.command] if again else [*self.before, self.command]
        return Start(
            commands=tuple(_cortex(command) for command in words),
            environment=self._environment(plan, environment),
        )

    def _environment(self, plan: Plan, environment: Mapping[str, str]) -> dict[str, str]:
        """The caller's environment, less other services' settings, plus what the stack sets."""
        mine = f"CORTEX_{self.name.upper()}_"
        inherited = {
            name: value
            for name, value in environment.items()
            if not name.startswith("CORTEX_") or name.startswith(mine)
        }
        return dict(self.defaults) | inherited | dict(self.environment(plan))

    def ask(self, plan: Plan, client: httpx.Client) -> Health:
        """By its health; one that does not answer so may still tell that it lives."""
        url = plan.url(self.name)
        return looked_at(
            partial(_well, f"{url}{self.health_path}", client),
            partial(_lives, f"{url}{self.live_path}", client),
        )

    def target(self, plan: Plan) -> dict[str, Any]:
        """With the command and environment to start one more of it."""
        url = plan.url(self.name)
        start = dict(self.defaults) | dict(self.environment(plan))
        return {
            "url": url,
            "start": {"command": list(_cortex(self.command)), "environment": start},
            **self.says(url),
        }


def _cortex(words: tuple[str, ...]) -> tuple[str, ...]:
    return (sys.executable, "-m", "cortex.cli", *words)


def _well(url: str, client: httpx.Client, within_s: float) -> Health:
    answer = answered(url, client, within_s)
    if answer.status_code != 200:
        return Health(None, lives=True)
    with contextlib.suppress(ValueError, AttributeError):
        return Health(str(answer.json().get("version", "")), lives=True)
    return Health("", lives=True)


def _lives(url: str, client: httpx.Client, within_s: float) -> Health:
    """Whether the process answers, though its health did not come: slow, or for another's sake."""
    return Health(None, lives=answered(url, client, within_s).status_code == 200)
