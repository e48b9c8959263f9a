"""Logs as JSON lines on stdout: a fixed event text, facts beside it."""

import json
import logging
import sys
from datetime import UTC, datetime

_to_json = json.JSONEncoder(default=str, ensure_ascii=False).encode
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_STANDARD |= {"color_message"}  # uvicorn's event again, for terminals


class _JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        line.update({k: v for k, v in vars(record).items() if k not in _STANDARD})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _to_json(line)


def set_up_logs(level: str = "info") -> None:
    """Send every logger's lines to stdout as JSON; call once, in `main`."""
    # What no line shows need not be found out for each: threads, processes, tasks, source lines.
    for name in ("logThreads", "logProcesses", "logMultiprocessing", "logAsyncioTasks"):
        setattr(logging, name, False)
    logging._srcfile = None
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_JsonLine())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
    logging.getLogger("uvicorn.access").disabled = True
    for name in ("httpx", "mcp.server.streamable_http"):  # a line a request that says nothing
        logging.getLogger(name).setLevel("WARNING")
