"""What a service says of itself when it is asked: ready, alive though not ready, or nothing."""

import contextlib
from dataclasses import dataclass

import httpx

from cortex.runtime import postgres
from cortex.runtime.services import Plan, Service


@dataclass(frozen=True, slots=True)
class Health:
    """`version` is None where the service is not ready; `lives` where it gave any answer."""

    version: str | None
    lives: bool


def ask(service: Service, plan: Plan, client: httpx.Client) -> Health:
    """A service's health now; takes a few seconds where it gives no answer.

    Raises `Misconfigured` where it can never become ready.
    """
    if service.name == "postgres":
        return Health(*postgres.answers(plan))
    url = plan.url(service.name)
    try:
        answer = client.get(f"{url}{service.health_path}")
    except httpx.HTTPError:
        return Health(None, lives=bool(service.live_path) and _lives(url, service, client))
    if answer.status_code != 200:
        return Health(None, lives=True)
    with contextlib.suppress(ValueError, AttributeError):
        return Health(str(answer.json().get("version", "")), lives=True)
    return Health("", lives=True)


def _lives(url: str, service: Service, client: httpx.Client) -> bool:
    """Whether the process answers, though its health did not come: another service is the cause."""
    try:
        return client.get(f"{url}{service.live_path}").status_code == 200
    except httpx.HTTPError:
        return False
