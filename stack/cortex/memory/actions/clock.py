"""Time and new ids for the actions: the one place of them that asks the machine."""

import secrets
import time
from datetime import UTC, datetime
from uuid import UUID

from cortex.memory.core.identifiers import IdMaker

_maker = IdMaker()


def now() -> datetime:
    """This moment, in UTC, to the microsecond."""
    return datetime.now(UTC)


def new_id() -> UUID:
    """A UUIDv7 above every one this process made before."""
    return _maker.make(time.time_ns() // 1_000_000, secrets.randbits(74))
