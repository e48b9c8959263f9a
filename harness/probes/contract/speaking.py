"""Speaks MCP over plain HTTP as the specification writes it, in either era; judges answers."""

import json
import ssl
from collections.abc import Mapping
from typing import Any, Literal

import httpx

from harness.mcp import PROTOCOL

Era = Literal["handshake", "2026-07-28"]
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ACCEPTS = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "cortex-harness", "version": "1"},
}
TIMEOUT_S = 60.0
TLS = ssl.create_default_context()
"""Made once: reading the machine's certificates takes longer than most cases."""


class Broken(Exception):
    """A promise that does not hold: what was promised, what came, and about what."""

    def __init__(self, expected: object, actual: object, about: str = "") -> None:
        self.expected = _text(expected)
        self.actual = _text(actual)
        self.about = about
        super().__init__(f"{about}: expected {self.expected}, got {self.actual}")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=repr)


def same(expected: object, actual: object, about: str = "") -> None:
    """Hold two values to be equal."""
    if expected != actual:
        raise Broken(expected, actual, about)


def holds(claim: object, expected: str, actual: object, about: str = "") -> None:
    """Hold a claim to be true; `expected` says it in words."""
    if not claim:
        raise Broken(expected, actual, about)


def status(answer: httpx.Response, *wanted: int, about: str = "") -> httpx.Response:
    """Hold an answer to have one of the statuses."""
    if answer.status_code not in wanted:
        actual = f"{answer.status_code} {answer.text[:300]!r}"
        raise Broken(f"status {' or '.join(map(str, wanted))}", actual, about)
    return answer


def json_of(answer: httpx.Response) -> dict[str, Any]:
    """The JSON object of an answer."""
    kind = answer.headers.get("content-type", "")
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not kind.startswith("application/json") or not isinstance(found, dict):
        raise Broken("a JSON object", f"{answer.status_code} {kind} {answer.text[:300]!r}")
    return found


class Speaker:
    """A client of one MCP server in one era, with one token or none."""

    def __init__(self, mcp_url: str, era: Era, token: str | None = None) -> None:
        self.url = mcp_url
        self.era = era
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.Client(
            timeout=TIMEOUT_S,
            trust_env=False,
            verify=TLS,
            headers=headers,
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=32),
        )

    @property
    def origin(self) -> str:
        """The server's address without a path."""
        return self.url.removesuffix("/mcp")

    def headers(self, method: str, name: str | None = None) -> dict[str, str]:
        """The headers of a message of this era."""
        base = {"content-type": "application/json", "accept": ACCEPTS}
        if self.era == "handshake":
            return base | {"mcp-protocol-version": HANDSHAKE_VERSIONS[-1]}
        modern = {"mcp-protocol-version": PROTOCOL, "mcp-method": method}
        return base | modern | ({"mcp-name": name} if name else {})

    def message(
        self, method: str, params: Mapping[str, Any] | None = None, id_: object = 1
    ) -> dict[str, Any]:
        """A JSON-RPC request of this era."""
        given = dict(params or {})
        if self.era != "handshake":
            given["_meta"] = META
        return {"jsonrpc": "2.0", "id": id_, "method": method, "params": given}

    def call_message(self, tool: str, arguments: object, id_: object = 1) -> dict[str, Any]:
        """A `tools/call` request."""
        return self.message("tools/call", {"name": tool, "arguments": arguments}, id_)

    def call_headers(self, tool: str) -> dict[str, str]:
        """The headers of a `tools/call` request."""
        return self.headers("tools/call", tool)

    def post(self, body: object, headers: Mapping[str, str], path: str = "") -> httpx.Response:
        """Send a body (bytes as they are, all else as JSON); redirects are never followed."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.post(self.url + path, content=content, headers=dict(headers))

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> httpx.Response:
        """Send one request as a client would."""
        return self.post(self.message(method, params), self.headers(method))

    def result_of(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request that must succeed."""
        answer = status(self.ask(method, params), 200, about=method)
        return _result(json_of(answer), method)

    def tool_answer(self, tool: str, arguments: object) -> httpx.Response:
        """The HTTP answer of a tool call."""
        return self.post(self.call_message(tool, arguments), self.call_headers(tool))

    def tool_result(self, tool: str, arguments: object) -> dict[str, Any]:
        """The result of a tool call, error or not."""
        answer = status(self.tool_answer(tool, arguments), 200, about=tool)
        return _result(json_of(answer), tool)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured content of a tool call that must succeed."""
        result = self.tool_result(tool, arguments)
        if result.get("isError"):
            raise Broken(f"{tool} succeeds", _said(result), about=tool)
        found = result.get("structuredContent")
        if not isinstance(found, dict):
            raise Broken(f"{tool} answers structuredContent", result, about=tool)
        return found

    def refusal(self, tool: str, /, **arguments: Any) -> str:
        """The text of a tool call that must be refused."""
        return self.refusal_of(tool, arguments)

    def refusal_of(self, tool: str, arguments: object) -> str:
        """The text of a tool call, with arguments of any shape, that must be refused."""
        result = self.tool_result(tool, arguments)
        if result.get("isError") is not True:
            raise Broken(f"{tool} answers isError: true", result, about=tool)
        return _said(result)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()


def _result(message: dict[str, Any], about: str) -> dict[str, Any]:
    found = message.get("result")
    if not isinstance(found, dict):
        raise Broken("a JSON-RPC result", message, about)
    return found


def _said(result: Mapping[str, Any]) -> str:
    return " ".join(str(part.get("text", "")) for part in result.get("content", []))


def error_code(answer: httpx.Response, wanted: int, about: str = "") -> dict[str, Any]:
    """Hold an answer to be a JSON-RPC error of this code; the error."""
    error = json_of(answer).get("error")
    if not isinstance(error, dict) or error.get("code") != wanted:
        raise Broken(f"JSON-RPC error {wanted}", f"{answer.status_code} {answer.text[:300]}", about)
    return error


def mentions(text: str, *words: str, about: str = "") -> None:
    """Hold a text to contain each of the words."""
    for word in words:
        if word.lower() not in text.lower():
            raise Broken(f"a text that names {word!r}", text, about)
