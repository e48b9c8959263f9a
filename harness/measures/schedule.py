"""When to send: moments planned as numbers before anything is sent."""

import random
from collections.abc import Iterator
from typing import Literal

Law = Literal["poisson", "steady"]


def arrivals(per_second: float, seconds: float, seed: int, law: Law = "poisson") -> Iterator[float]:
    """Moments to send at, in seconds from the start, as independent callers would.

    `poisson` is a Poisson process given its count, so that the rate is exactly the one asked: that
    many moments, each equally likely anywhere (Ross 2019, 5.3.5). `steady` has equal gaps. Moments
    are absolute: an error in waiting for one does not move the next.
    """
    count = round(per_second * seconds)
    if per_second <= 0 or seconds <= 0 or count < 1:
        raise ValueError(f"{per_second}/s for {seconds} s are {count} arrivals; want at least one")
    chance = random.Random(seed)
    if law == "steady":
        return iter([(place + 0.5) / per_second for place in range(count)])
    return iter(sorted(chance.uniform(0, seconds) for _ in range(count)))
