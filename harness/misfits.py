"""What of a file or a table does not have the shape it should have, in words for its author."""

from dataclasses import dataclass
from typing import Any

import pydantic


@dataclass(frozen=True, slots=True)
class Misfit:
    """What does not fit: where it stands (empty: the whole), what it is, and why it does not."""

    place: str
    value: Any
    why: str


def first(err: pydantic.ValidationError) -> Misfit:
    """The first of what was found; a check of ours speaks in its own words alone."""
    fault = err.errors(include_url=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    return Misfit(place, fault["input"], fault["msg"].removeprefix("Value error, "))
