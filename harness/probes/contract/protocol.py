"""MCP over Streamable HTTP: what a stateless server of JSON answers, kind by kind.

Each case stands for a failure seen in public: streams that never speak, ids that vanish, batches
that slip past a policy, bodies without a bound, hosts checked by their first letters.
"""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from harness.probes.contract import variants
from harness.probes.contract.cases import BOTH, HANDSHAKE, MODERN, Chapter
from harness.probes.contract.raw import chunked, connected, head, raw_status
from harness.probes.contract.scene import At, note
from harness.probes.contract.speaking import (
    HANDSHAKE_VERSIONS,
    error_code,
    holds,
    json_of,
    mentions,
    same,
    status,
)

CHAPTER = Chapter("memory", eras=BOTH)
NOTHING = {"limit": 1}
MIB = 2**20


def _list_projects(at: At, **headers: str) -> httpx.Response:
    sent = {**at.memory.call_headers("ListProjects"), **headers}
    return at.memory.post(at.memory.call_message("ListProjects", NOTHING), sent)


@CHAPTER.case("initialize agrees on each handshake version, and keeps no session", (HANDSHAKE,))
def _initialize(at: At) -> None:
    for asked in (*HANDSHAKE_VERSIONS, "1999-01-01"):
        params = {
            "protocolVersion": asked,
            "capabilities": {},
            "clientInfo": {"name": "harness", "version": "1"},
        }
        message = at.memory.message("initialize", params)
        headers = at.memory.headers("initialize")
        del headers["mcp-protocol-version"]
        answer = status(at.memory.post(message, headers), 200, about=asked)
        result = json_of(answer)["result"]
        wanted = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        same(wanted, result["protocolVersion"], asked)
        holds("tools" in result["capabilities"], "tools among the capabilities", result)
        holds(result["serverInfo"]["version"], "a version", result)
        holds("mcp-session-id" not in answer.headers, "no session id", dict(answer.headers))


@CHAPTER.case("server/discover tells versions, capabilities and instructions", (MODERN,))
def _discover(at: At) -> None:
    result = at.memory.result_of("server/discover")
    holds(MODERN in result["supportedVersions"], MODERN, result)
    holds("tools" in result["capabilities"], "tools among the capabilities", result)
    mentions(result["instructions"], "FindItems", "AddItem")


@CHAPTER.case("ping is answered", (HANDSHAKE,))
def _ping(at: At) -> None:
    same({}, at.memory.result_of("ping"))


@CHAPTER.case("a notification is accepted with 202 and no body")
def _notification(at: At) -> None:
    method = "notifications/initialized"
    message = at.memory.message(method)
    del message["id"]
    answer = status(at.memory.post(message, at.memory.headers(method)), 202)
    same("", answer.text)


@CHAPTER.case("lists of resources and prompts are answered, and empty")
def _empty_lists(at: At) -> None:
    for method, key in (
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ):
        same([], at.memory.result_of(method)[key], method)


@CHAPTER.case("GET is refused with 405 and Allow within a second, never a silent stream")
def _get(at: At) -> None:
    headers = at.memory.headers("tools/list") | {"accept": "text/event-stream"}
    started = time.perf_counter()
    answer = at.memory.http.get(at.memory.url, headers=headers, timeout=5)
    took_s = time.perf_counter() - started
    status(answer, 405)
    mentions(answer.headers.get("allow", ""), "POST", about="Allow")
    holds(took_s < 1, "an answer within 1 s", f"{took_s:.2f} s")


@CHAPTER.case("DELETE, PUT, PATCH, OPTIONS and HEAD are refused with 405")
def _methods(at: At) -> None:
    for method in ("DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"):
        answer = at.memory.http.request(
            method, at.memory.url, headers=at.memory.headers("tools/list")
        )
        status(answer, 405, about=method)
        mentions(answer.headers.get("allow", ""), "POST", about=f"{method}: Allow")


@CHAPTER.case("a loopback Host is answered, with a port and without")
def _loopback_hosts(at: At) -> None:
    for host in ("127.0.0.1", "127.0.0.1:1", "localhost", "localhost:5100", "[::1]", "[::1]:80"):
        status(_list_projects(at, host=host), 200, about=f"Host: {host}")


@CHAPTER.case("a strange Host is refused, also one that begins or ends like ours")
def _strange_hosts(at: At) -> None:
    for host in (
        "evil.example",
        "evil.example:5100",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "localhost:1@evil.example",
        "evil.example@localhost",
        "127.0.0.1:80:evil.example",
        "notlocalhost",
        "[::1].evil.example",
    ):
        status(_list_projects(at, host=host), 421, 403, 400, about=f"Host: {host}")


@CHAPTER.case("a loopback Origin is answered")
def _loopback_origins(at: At) -> None:
    for origin in ("http://localhost:3000", "http://127.0.0.1", "https://localhost"):
        status(_list_projects(at, origin=origin), 200, about=f"Origin: {origin}")


@CHAPTER.case("a strange Origin is refused, also one that begins or ends like ours")
def _strange_origins(at: At) -> None:
    for origin in (
        "http://evil.example",
        "http://localhost:1@evil.example",
        "http://localhost.evil.example",
        "http://localhost:3000.evil.example",
        "http://evil.example/http://localhost",
        "file://localhost",
        "null",
    ):
        status(_list_projects(at, origin=origin), 403, about=f"Origin: {origin}")


@CHAPTER.case("a Host and an Origin of the settings are answered, and nothing near them")
def _configured(at: At) -> None:
    guarded = at.variants.guarded()
    speaker = at.speak(guarded.server.mcp_url, guarded.full)
    message = speaker.call_message("ListProjects", NOTHING)

    def ask(**headers: str) -> httpx.Response:
        return speaker.post(message, speaker.call_headers("ListProjects") | headers)

    for host in (variants.HOST, f"{variants.HOST}:443"):
        status(ask(host=host), 200, about=f"Host: {host}")
    status(ask(origin=variants.ORIGIN), 200, about="Origin")
    for host in (f"{variants.HOST}.evil.example", f"x{variants.HOST}"):
        status(ask(host=host), 421, 403, about=f"Host: {host}")
    for origin in (f"{variants.ORIGIN}.evil.example", f"{variants.ORIGIN}:1@evil.example"):
        status(ask(origin=origin), 403, about=f"Origin: {origin}")


@CHAPTER.case("a protocol version nobody knows is refused with 400")
def _nonsense_version(at: At) -> None:
    for version in ("1999-01-01", "nonsense", "2099-12-31"):
        answer = _list_projects(at, **{"mcp-protocol-version": version})
        status(answer, 400, about=version)
        holds("error" in json_of(answer), "a JSON-RPC error", answer.text, version)


@CHAPTER.case("a request without a protocol version is answered", (HANDSHAKE,))
def _no_version(at: At) -> None:
    headers = at.memory.call_headers("ListProjects")
    del headers["mcp-protocol-version"]
    status(at.memory.post(at.memory.call_message("ListProjects", NOTHING), headers), 200)


@CHAPTER.case("a session id of another server changes nothing")
def _bogus_session(at: At) -> None:
    status(_list_projects(at, **{"mcp-session-id": "not-one-of-ours"}), 200)


@CHAPTER.case("headers that name another method or tool than the body are refused", (MODERN,))
def _mismatch(at: At) -> None:
    message = at.memory.call_message("ListProjects", NOTHING)
    for headers in (
        at.memory.call_headers("GetItem"),
        at.memory.headers("tools/list", "ListProjects"),
    ):
        answer = status(at.memory.post(message, headers), 400)
        error_code(answer, -32020)


@CHAPTER.case("a request without its _meta is refused with 400", (MODERN,))
def _no_meta(at: At) -> None:
    message = at.memory.call_message("ListProjects", NOTHING)
    del message["params"]["_meta"]
    error_code(status(at.memory.post(message, at.memory.call_headers("ListProjects")), 400), -32602)


@CHAPTER.case("any Accept that takes JSON is answered, also none at all")
def _accepts(at: At) -> None:
    for accept in (
        "application/json",
        "application/json, text/event-stream",
        "text/event-stream, application/json;q=0.5",
        "*/*",
    ):
        status(_list_projects(at, accept=accept), 200, about=f"Accept: {accept}")
    # httpx adds an Accept of its own where none is given: this one is written by hand.
    headers = at.memory.call_headers("ListProjects")
    del headers["accept"]
    body = json.dumps(at.memory.call_message("ListProjects", NOTHING)).encode()
    same(200, raw_status(at.memory, headers, body), "no Accept")


@CHAPTER.case("an Accept of event streams alone is refused with 406")
def _accepts_streams_only(at: At) -> None:
    status(_list_projects(at, accept="text/event-stream"), 406)


@CHAPTER.case("a body that is not sent as JSON is refused")
def _content_types(at: At) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp"):
        status(_list_projects(at, **{"content-type": kind}), 400, 415, about=kind)


@CHAPTER.case("a client that takes gzip gets an answer it can read")
def _gzip(at: At) -> None:
    for encoding in ("gzip", "gzip, deflate, br", "identity"):
        answer = status(_list_projects(at, **{"accept-encoding": encoding}), 200, about=encoding)
        holds("result" in json_of(answer), "a result", answer.text, encoding)


@CHAPTER.case("/mcp and /mcp/ both answer, without a redirect")
def _slash(at: At) -> None:
    message = at.memory.call_message("ListProjects", NOTHING)
    for path in ("", "/"):
        status(at.memory.post(message, at.memory.call_headers("ListProjects"), path), 200)


@CHAPTER.case("the same id twice in flight: each call gets its own answer")
def _same_id(at: At) -> None:
    projects = [at.project() for _ in range(2)]
    for project in projects:
        at.add(project, f"Only in {project}", "the lighthouse lamp")

    def ask(project: str) -> httpx.Response:
        arguments = {"queries": [f"lighthouse lamp of {project}"], "project": project}
        return at.memory.tool_answer("FindItems", arguments)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, projects * 4))
    for project, answer in zip(projects * 4, answers, strict=True):
        found = json_of(status(answer, 200))
        same(1, found["id"])
        hits = found["result"]["structuredContent"]["hits"]
        same([f"Only in {project}"], [hit["item"]["title"] for hit in hits])


@CHAPTER.case("an id of a string or an integer comes back as it was sent")
def _good_ids(at: At) -> None:
    for id_ in (0, -1, 2**53 - 1, "", "a", "1"):
        message = at.memory.call_message("ListProjects", NOTHING, id_)
        answer = status(at.memory.post(message, at.memory.call_headers("ListProjects")), 200)
        found = json_of(answer)["id"]
        holds(found == id_ and type(found) is type(id_), repr(id_), repr(found))


@CHAPTER.case("an id that is null, a fraction, a boolean, a list or an object is refused")
def _bad_ids(at: At) -> None:
    project = at.project()
    for id_ in (None, 1.5, True, [1], {"a": 1}):
        arguments = {"project": project, **note("Never", "kept")}
        message = at.memory.call_message("AddItem", arguments, id_)
        answer = at.memory.post(message, at.memory.call_headers("AddItem"))
        error_code(status(answer, 400, about=repr(id_)), -32600, repr(id_))
    same([], at.call("ListItems", project=project)["items"], "no call ran")


@CHAPTER.case("a batch is refused, and none of its calls runs")
def _batches(at: At) -> None:
    project = at.project()
    one = at.memory.call_message("AddItem", {"project": project, **note("Never", "kept")})
    for batch in ([one], [one, {**one, "id": 2}], []):
        answer = at.memory.post(batch, at.memory.call_headers("AddItem"))
        error_code(status(answer, 400), -32600, f"a batch of {len(batch)}")
    same([], at.call("ListItems", project=project)["items"], "no call ran")


@CHAPTER.case("another JSON-RPC version, or none, is refused")
def _rpc_versions(at: At) -> None:
    for version in ("1.0", 2, None):
        message = at.memory.call_message("ListProjects", NOTHING) | {"jsonrpc": version}
        answer = at.memory.post(message, at.memory.call_headers("ListProjects"))
        error_code(status(answer, 400), -32600, repr(version))


@CHAPTER.case("a body that is no JSON, no UTF-8 or has a lone surrogate is refused with 400")
def _bad_json(at: At) -> None:
    good = json.dumps(at.memory.call_message("ListProjects", NOTHING)).encode()
    bodies = {
        "nothing": b"",
        "half a message": good[: len(good) // 2],
        "words": b"hello",
        "bad UTF-8": good.replace(b"ListProjects", b"List\xff\xfe"),
        "a surrogate in UTF-8": good.replace(b"ListProjects", b"List\xed\xa0\x80"),
        "a lone surrogate": good.replace(b"ListProjects", b"List\\ud800"),
        "two messages": good + good,
    }
    for name, body in bodies.items():
        answer = at.memory.post(body, at.memory.call_headers("ListProjects"))
        error_code(status(answer, 400, about=name), -32700, name)


@CHAPTER.case("a method nobody knows is a JSON-RPC error")
def _unknown_method(at: At) -> None:
    for method in ("nope", "tools/nope"):
        error_code(status(at.memory.ask(method), 200, 404), -32601, method)


@CHAPTER.case("a tool nobody knows is a tool error that names it")
def _unknown_tool(at: At) -> None:
    mentions(at.memory.refusal("ForgetEverything"), "ForgetEverything")


@CHAPTER.case("arguments that are no object are a JSON-RPC error")
def _bad_arguments(at: At) -> None:
    for arguments in ([1], "x", 5):
        answer = at.memory.tool_answer("ListProjects", arguments)
        error_code(status(answer, 200, 400), -32602, repr(arguments))


@CHAPTER.case("a body of 3.9 MB is read and answered as any other")
def _large_body(at: At) -> None:
    arguments = {"project": "contract-none", **note("Long", "x" * int(3.9 * MIB))}
    mentions(at.memory.refusal_of("AddItem", arguments), "content", "100000")


@CHAPTER.case("a body of 4.3 MB is refused with 413, by its length and when it is chunked")
def _too_large_body(at: At) -> None:
    arguments = {"project": "contract-none", **note("Long", "x" * int(4.3 * MIB))}
    body = json.dumps(at.memory.call_message("AddItem", arguments)).encode()
    headers = at.memory.call_headers("AddItem")
    same(413, raw_status(at.memory, headers, body, sent=0), "told by its length, before it is read")
    in_chunks = headers | {"transfer-encoding": "chunked"}
    same(413, raw_status(at.memory, in_chunks, chunked(body)), "chunked")
    status(_list_projects(at), 200, about="and the server goes on")


@CHAPTER.case("a client that leaves in the middle of a call harms nobody")
def _disconnect(at: At) -> None:
    project = at.project()
    arguments = {"project": project, **note("Left", "while it was kept")}
    body = json.dumps(at.memory.call_message("AddItem", arguments)).encode()
    for sent in (len(body), len(body) // 2):
        with connected(at.memory) as link:
            link.sendall(
                head(at.memory, at.memory.call_headers("AddItem"), len(body)) + body[:sent]
            )
    status(_list_projects(at), 200)
    kept = at.call("ListItems", project=project)["items"]
    holds(len(kept) <= 1, "at most the one whole call to have run", kept)
