"""When to send: moments planned as numbers before anything is sent."""

import random
from collections.abc import Iterator
from typing import Literal

Law = Literal["poisson", "steady"]


def arrivals(per_second: float, seconds: float, seed: int, law: Law = "poisson") -> Iterator[float]:
    """Moments to send at, in seconds from the start, as independent callers would.

    `poisson` has exponential gaps; `steady` has equal ones. Moments are absolute: an error in
    waiting for one does not move the next.
    """
    if per_second <= 0 or seconds <= 0:
        raise ValueError(f"rate {per_second}/s for {seconds} s; both must be above 0")
    chance = random.Random(seed)
    moment = 0.0
    while True:
        moment += chance.expovariate(per_second) if law == "poisson" else 1 / per_second
        if moment >= seconds:
            return
        yield moment
