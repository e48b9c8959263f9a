"""Nonsense, made from the run's seed: the memory server refuses it, and never breaks."""

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from harness.probes.contract.cases import BOTH, HANDSHAKE, Chapter
from harness.probes.contract.scene import At, note
from harness.probes.contract.speaking import Broken, Speaker, holds, same, status
from harness.probes.contract.tools import TOOLS

CHAPTER = Chapter("memory", eras=BOTH)
BODIES = 200
CALLS = 200
AT_ONCE = 4

_WORDS = ("", "x", "\x00", "null", "' --", "🎉", "数" * 50, "-1", "1e999", "true", "a" * 3_000)
_NUMBERS = (0, -1, 1, 1.5, 2**31, 2**63, -(2**63) - 1, 10**30, 1e308)


def _value(chance: random.Random, depth: int = 0) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: None,
        lambda: chance.choice((True, False)),
        lambda: chance.choice(_NUMBERS),
        lambda: chance.choice(_WORDS),
    ]
    if depth < 3:
        many = range(chance.randrange(4))
        kinds += [
            lambda: [_value(chance, depth + 1) for _ in many],
            lambda: {chance.choice(_WORDS) or "k": _value(chance, depth + 1) for _ in many},
        ]
    return chance.choice(kinds)()


def _arguments(chance: random.Random, schema: dict[str, Any], good: dict[str, Any]) -> Any:
    """Mostly a tool's own arguments, some of them right, with values from anywhere."""
    if chance.random() < 0.05:
        return _value(chance)
    names = [name for name in schema.get("properties", {}) if chance.random() < 0.6]
    given = {
        name: good[name] if name in good and chance.random() < 0.6 else _value(chance)
        for name in names
    }
    if chance.random() < 0.1:
        given[chance.choice(_WORDS)] = _value(chance)
    return given


def _mutated(chance: random.Random, body: bytes) -> bytes:
    """A good message with bytes lost, doubled or changed, or with one part replaced."""
    if chance.random() < 0.5:
        message = json.loads(body)
        place = chance.choice(("jsonrpc", "id", "method", "params"))
        message[place] = _value(chance)
        return json.dumps(message).encode()
    changed = bytearray(body)
    for _ in range(chance.randrange(1, 6)):
        index = chance.randrange(len(changed))
        changed[index : index + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
    return bytes(changed)


def _is_sound(answer: httpx.Response, sent: object) -> None:
    """Hold an answer to be no 5xx, and JSON where it has a body of that type."""
    if answer.status_code >= 500:
        raise Broken("never a 5xx", f"{answer.status_code} {answer.text[:300]}", f"{sent!r}"[:600])
    if answer.headers.get("content-type", "").startswith("application/json") and answer.content:
        told = answer.json()
        text = json.dumps(told)
        holds("InternalError" not in text, "no internal error", text, f"{sent!r}"[:600])
    for inside in ("Traceback", "psycopg", "site-packages"):
        holds(inside not in answer.text, f"no {inside}", answer.text, f"{sent!r}"[:600])


def _all(work: Callable[[int], None], count: int) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for _ in threads.map(work, range(count)):
            pass


@CHAPTER.case(f"{BODIES} broken bodies are refused, and none breaks the server")
def _bodies(at: At) -> None:
    speaker: Speaker = at.memory
    good = json.dumps(speaker.call_message("ListProjects", {"limit": 1})).encode()

    def send(number: int) -> None:
        chance = random.Random(f"{at.scene.seed} body {number}")
        body = _mutated(chance, good)
        _is_sound(speaker.post(body, speaker.call_headers("ListProjects")), body)

    _all(send, BODIES)
    status(speaker.tool_answer("ListProjects", {"limit": 1}), 200, about="afterwards")


@CHAPTER.case(f"{CALLS} calls with arguments from anywhere are answered or refused by field")
def _calls(at: At) -> None:
    project = at.project()
    item = at.add(project, "Kept", "a pump", additionalEmbeddings=[{"label": "l", "text": "t"}])
    # Tools that make or rename projects would leave those behind.
    tools = [name for name in TOOLS if name not in ("CreateProject", "UpdateProject")]
    good = {"id": item["id"], "project": project, "queries": ["pump"], "ids": [item["id"]]}
    good |= {**note("T", "c"), "position": 1, "label": "l", "text": "t", "limit": 3}
    good |= {"items": [note("T", "c")], "tags": ["a"], "status": "s", "expectedVersion": 1}

    def send(number: int) -> None:
        chance = random.Random(f"{at.scene.seed} call {number}")
        tool = tools[number % len(tools)]
        arguments = _arguments(chance, at.scene.tools[tool]["inputSchema"], good)
        _is_sound(at.memory.tool_answer(tool, arguments), (tool, arguments))

    _all(send, CALLS)
    same(item["id"], at.call("GetItem", id=item["id"])["item"]["id"], "afterwards")


@CHAPTER.case("headers from anywhere are refused, and none breaks the server", (HANDSHAKE,))
def _headers(at: At) -> None:
    names: tuple[str, ...] = (
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
        "accept",
    )
    names += ("content-type", "origin", "authorization", "accept-encoding", "last-event-id")
    values = ("", "x", "*/*;q=", "a" * 4_000, "2026-07-28", ",;=", '"', "%00", "http://[::1", "://")
    message = at.memory.call_message("ListProjects", {"limit": 1})

    def send(number: int) -> None:
        chance = random.Random(f"{at.scene.seed} header {number}")
        extra = {name: chance.choice(values) for name in chance.sample(names, 2)}
        headers = at.memory.call_headers("ListProjects") | extra
        _is_sound(at.memory.post(message, headers), extra)

    _all(send, 60)
    status(at.memory.tool_answer("ListProjects", {"limit": 1}), 200, about="afterwards")
