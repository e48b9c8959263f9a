"""One log line a request, written a few at a time: a line by itself costs what a short text does.

Lines keep the moment of their request; they come a quarter of a second late.
"""

import asyncio
import logging
import time

from cortex.embedding.records import Timings

log = logging.getLogger(__name__)

_LATE_S = 0.25


class RequestLog:
    """Collects what happened and writes it when the event loop next has a quiet moment."""

    def __init__(self) -> None:
        self._noted: list[tuple[float, str, int, Timings | None]] = []

    def note(self, path: str, status: int, timings: Timings | None) -> None:
        """Remember one answered request; call it from the event loop."""
        if not self._noted:
            asyncio.get_running_loop().call_later(_LATE_S, self.write)
        self._noted.append((time.time(), path, status, timings))

    def write(self) -> None:
        """Write what is remembered; the last call is at shutdown."""
        noted, self._noted = self._noted, []
        if not log.isEnabledFor(logging.INFO):
            return
        for moment, path, status, timings in noted:
            facts: dict[str, object] = {"path": path, "status": status}
            if timings is not None:
                facts["texts"] = timings.texts
                facts["tokens"] = timings.tokens
                facts["took_ms"] = round(timings.total_s * 1000, 1)
            line = log.makeRecord(
                log.name, logging.INFO, "", 0, "request answered", (), None, extra=facts
            )
            line.created = moment
            log.handle(line)
