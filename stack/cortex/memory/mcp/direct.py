"""The short way of a plain tool call: the library's answer without a session made for it.

For each request the library makes a connection, a dispatcher and a span, and walks a large answer
five times on its way out (measured: docs/decisions/0007-direct-calls.md). What the protocol says
stays the library's: its own rules decide whether a call is in order, and one that is not plain in
every respect goes its way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.methods import validate_client_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from cortex.memory.actions import Caller
from cortex.memory.mcp.calls import call
from cortex.memory.mcp.server import SERVER_INFO
from cortex.memory.mcp.tools import TOOLS, Actions

METHOD = "tools/call"
_MESSAGE = {"jsonrpc", "id", "method", "params"}
_PARAMETERS = {"name", "arguments", "_meta"}
_PARAMETER_HEADER = "mcp-param-"
_SERVER_INFO = b',"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":%s}' % (
    orjson.dumps(SERVER_INFO)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCall:
    """A call of one of our tools that is in order; `modern`: of the era without a handshake."""

    id: str | int
    tool: str
    arguments: Mapping[str, Any]
    modern: bool


def plain_call(
    headers: Sequence[tuple[bytes, bytes]], message: Mapping[str, Any]
) -> PlainCall | None:
    """The call, if it is plain in every respect; None is for the library to answer or refuse."""
    parameters = message.get("params")
    if message.keys() != _MESSAGE or message["method"] != METHOD:
        return None
    if not isinstance(parameters, dict) or not parameters.keys() <= _PARAMETERS:
        return None
    tool, arguments = parameters.get("name"), parameters.get("arguments", {})
    if not isinstance(tool, str) or tool not in TOOLS or not isinstance(arguments, dict):
        return None
    given = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    if len(given) != len(headers) or not _takes_json(given.get("accept", "application/json")):
        return None
    version = given.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
    modern = version in MODERN_PROTOCOL_VERSIONS
    if not (_is_in_order(given, message) if modern else version in HANDSHAKE_PROTOCOL_VERSIONS):
        return None
    try:
        validate_client_request(METHOD, version, parameters)
    except (KeyError, ValueError):
        return None
    return PlainCall(id=message["id"], tool=tool, arguments=arguments, modern=modern)


def _takes_json(accept: str) -> bool:
    return any(
        part.partition(";")[0].strip().lower() == "application/json" for part in accept.split(",")
    )


def _is_in_order(given: Mapping[str, str], message: Mapping[str, Any]) -> bool:
    if any(name.startswith(_PARAMETER_HEADER) for name in given):
        return False
    return not isinstance(classify_inbound_request(message, headers=given), InboundLadderRejection)


async def answer(actions: Actions, caller: Caller, asked: PlainCall) -> bytes:
    """The JSON-RPC answer to a plain call, as the library would write it."""
    answered = await call(actions, caller, asked.tool, asked.arguments)
    structured = b"" if answered.is_error else b',"structuredContent":' + answered.text.encode()
    return b"".join(
        (
            b'{"jsonrpc":"2.0","id":',
            orjson.dumps(asked.id),
            b',"result":{"content":[{"type":"text","text":',
            orjson.dumps(answered.text),
            b'}],"isError":',
            b"true" if answered.is_error else b"false",
            structured,
            _SERVER_INFO if asked.modern else b"",
            b"}}",
        )
    )
