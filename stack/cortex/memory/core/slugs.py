"""Slugs: how a project is named in addresses and calls."""

import re

from cortex.memory.core.words import unaccented

LONGEST = 100


def slug_of(name: str) -> str:
    """A slug made of a name; empty where the name has no Latin letter or digit."""
    return re.sub(r"[^a-z0-9]+", "-", unaccented(name).lower()).strip("-")[:LONGEST].strip("-")
