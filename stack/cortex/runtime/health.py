"""What a service says of itself when it is asked: ready, alive though not ready, or nothing."""

import contextlib
from dataclasses import dataclass

import httpx

from cortex.runtime import postgres
from cortex.runtime.services import Plan, Service

PATIENCE_S = (2.0, 10.0, 2.0)
"""How long each look waits before a service counts as hung. A slow one answers the long look; the
last one is for a machine that stood still itself, after which a sound service answers at once."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a service said: `version` is None where it is not ready, `lives` where it said anything.

    `hangs` where it took calls and answered none for the whole of `PATIENCE_S`.
    """

    version: str | None
    lives: bool
    hangs: bool = False


def ask(service: Service, plan: Plan, client: httpx.Client) -> Health:
    """A service's health now; takes `PATIENCE_S` where it gives no answer.

    Raises `Misconfigured` where it can never become ready.
    """
    if service.name == "postgres":
        return Health(*postgres.answers(plan))
    url = plan.url(service.name)
    try:
        answer = client.get(f"{url}{service.health_path}", timeout=PATIENCE_S[0])
    except httpx.HTTPError:
        return _looked_again(f"{url}{service.live_path or service.health_path}", client)
    if answer.status_code != 200:
        return Health(None, lives=True)
    with contextlib.suppress(ValueError, AttributeError):
        return Health(str(answer.json().get("version", "")), lives=True)
    return Health("", lives=True)


def _looked_again(url: str, client: httpx.Client) -> Health:
    """Whether the process answers, though its health did not come: slow, or for another's sake."""
    hangs = True
    for patience_s in PATIENCE_S[1:]:
        try:
            return Health(None, lives=client.get(url, timeout=patience_s).status_code == 200)
        except httpx.TimeoutException:
            continue
        except httpx.HTTPError:  # refused or broken off: it goes, or is about to
            hangs = False
    return Health(None, lives=False, hangs=hangs)
