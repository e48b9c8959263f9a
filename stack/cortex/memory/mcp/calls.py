"""One tool call, from its arguments to its answer; whatever carried it here."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from cortex.memory.actions import Caller
from cortex.memory.mcp.outputs import to_json
from cortex.memory.mcp.refusals import explain
from cortex.memory.mcp.tools import TOOLS, Actions
from cortex.shared.errors import StackError
from cortex.shared.stages import stage

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a tool answered: JSON, or in words why it did not."""

    text: str
    is_error: bool = False


async def call(
    actions: Actions, caller: Caller, name: str, arguments: Mapping[str, Any] | None
) -> Answered:
    """Call the tool `name`; every failure is an answer, and none tells of the inside."""
    tool = TOOLS.get(name)
    if tool is None:
        return _error(f"there is no tool {name[:60]!r}; tools/list names them all")
    try:
        asked = tool.takes.model_validate(arguments or {})
    except ValidationError as err:
        return _error(explain(err, tool.takes))
    try:
        answer = await tool.answer(actions, caller, asked)
        with stage("serialise"):
            return Answered(to_json(answer))
    except StackError as err:
        retry = " (nothing was changed; the same call may succeed later)" if err.retryable else ""
        return _error(f"{err.kind}: {err}{retry}")
    except Exception:
        log.exception("a tool failed", extra={"tool": tool.name})
        return _error("InternalError: the server failed at this call; its log says why")


def _error(text: str) -> Answered:
    return Answered(text, is_error=True)
