"""UUIDv7 (RFC 9562): ids that sort by when they were made, even within one millisecond."""

import uuid


class IdMaker:
    """Makes UUIDv7 that rise strictly; `milliseconds` and `chance` come from the caller."""

    def __init__(self) -> None:
        self._last = 0

    def make(self, milliseconds: int, chance: int) -> uuid.UUID:
        """A new id: 48 bits of time, 74 bits of `chance`; above every id made before."""
        wanted = (milliseconds << 74) | (chance & ((1 << 74) - 1))
        if wanted <= self._last:
            wanted = self._last + 1 + (chance & 0xFFFF)
        self._last = wanted
        time, rest = wanted >> 74, wanted & ((1 << 74) - 1)
        upper, lower = rest >> 62, rest & ((1 << 62) - 1)
        return uuid.UUID(int=(time << 80) | (7 << 76) | (upper << 64) | (2 << 62) | lower)
