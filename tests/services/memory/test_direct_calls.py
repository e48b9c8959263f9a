"""A plain tool call is answered the short way, word for word as the MCP library answers it."""

import json
from typing import Any

import pytest
from cortex.memory.mcp.direct import plain_call
from servers import Mcp

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "someone", "version": "1"},
}
SHORT, LONG = "application/json, text/event-stream", "*/*"
"""Any type is taken by the library alone: so the same call can be sent both ways."""


def message(tool: str, arguments: dict[str, Any], version: str | None) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if version == MODERN:
        params["_meta"] = META
    return {"jsonrpc": "2.0", "id": "né 1", "method": "tools/call", "params": params}


def headers(tool: str, version: str | None, accept: str = SHORT) -> dict[str, str]:
    made = {"content-type": "application/json", "accept": accept}
    if version is not None:
        made["mcp-protocol-version"] = version
    if version == MODERN:
        made |= {"mcp-method": "tools/call", "mcp-name": tool}
    return made


def is_plain(given: dict[str, str], asked: dict[str, Any]) -> bool:
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    return plain_call(raw, asked) is not None


@pytest.mark.parametrize("version", [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", None])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ListProjects", {}),
        ("GetProject", {"project": "no-such-project"}),
        ("FindItems", {"queries": ["Wo liegt der Schlüssel? “key”\n\t\\"], "explain": True}),
        ("FindItems", {"queries": []}),
        ("AddItem", {"project": "x", "titel": "typo"}),
        ("GetItem", {"id": "no-id"}),
    ],
)
def test_both_ways_give_the_same_answer(
    memory: Mcp, project: str, tool: str, arguments: dict[str, Any], version: str | None
) -> None:
    memory(
        "AddItem",
        project=project,
        category="location",
        title="Schlüssel “Keller”",
        content="Der Schlüssel \\ liegt\nbeim Pförtner \u2028 🔑",
        itemName="Schlüssel",
        place="Pförtner",
    )
    if tool == "FindItems":
        arguments = arguments | {"project": project}
    asked = message(tool, arguments, version)
    short, long = headers(tool, version), headers(tool, version, LONG)
    assert is_plain(short, asked)
    assert not is_plain(long, asked)

    answers = [
        memory.http.post("/mcp", headers=given, content=json.dumps(asked))
        for given in (short, long)
    ]

    assert answers[0].json() == answers[1].json()
    assert answers[0].status_code == answers[1].status_code == 200
    assert answers[0].headers["content-type"] == answers[1].headers["content-type"]
    assert "total;dur=" in answers[0].headers["server-timing"]


def test_a_call_that_is_not_plain_in_every_respect_goes_the_library_s_way() -> None:
    good, asked = headers("ListProjects", MODERN), message("ListProjects", {}, MODERN)
    params = asked["params"]
    assert is_plain(good, asked)

    for other in (
        {"mcp-name": "GetProject"},
        {"mcp-method": "tools/list"},
        {"mcp-protocol-version": "1999-01-01"},
        {"mcp-protocol-version": "2025-11-25", "accept": "text/event-stream"},
        {"mcp-param-limit": "5"},
        {"accept": "text/event-stream"},
    ):
        assert not is_plain(good | other, asked), other
    for name in ("mcp-name", "mcp-method", "mcp-protocol-version"):
        some = {key: value for key, value in good.items() if key != name}
        assert is_plain(some, asked) == (name == "mcp-protocol-version"), name
    for changed in (
        asked | {"method": "tools/list"},
        asked | {"more": 1},
        asked | {"params": [1]},
        asked | {"params": {**params, "task": {}}},
        asked | {"params": {**params, "name": "NoSuchTool"}},
        asked | {"params": {**params, "name": 7}},
        asked | {"params": {**params, "arguments": [1]}},
        asked | {"params": {**params, "arguments": None}},
        asked | {"params": {**params, "_meta": {}}},
        asked | {"params": {**params, "_meta": None}},
        asked | {"params": {"name": "ListProjects", "arguments": {}}},
    ):
        assert not is_plain(good, changed), changed


def test_a_header_that_is_there_twice_is_for_the_library_to_refuse() -> None:
    asked = message("ListProjects", {}, MODERN)
    raw = [(k.encode(), v.encode()) for k, v in headers("ListProjects", MODERN).items()]
    assert plain_call(raw, asked) is not None

    assert plain_call([*raw, (b"mcp-name", b"ListProjects")], asked) is None
