"""Tokens of the memory server: who is let in, who may only read, how often one may call."""

import httpx

from harness.probes.contract.cases import BOTH, Chapter
from harness.probes.contract.scene import At, note
from harness.probes.contract.speaking import Speaker, holds, mentions, same, status
from harness.probes.contract.variants import CALLS_PER_MINUTE, Guarded

CHAPTER = Chapter("memory", eras=BOTH)


def _ask(at: At, guarded: Guarded, **headers: str) -> httpx.Response:
    speaker = at.speak(guarded.server.mcp_url)
    message = speaker.call_message("ListProjects", {"limit": 1})
    return speaker.post(message, speaker.call_headers("ListProjects") | headers)


@CHAPTER.case("a call without a token, or with a wrong one, is 401 with WWW-Authenticate")
def _unknown(at: At) -> None:
    guarded = at.variants.guarded()
    for value in (
        None,
        "Bearer wrong",
        f"Bearer {guarded.full}x",
        f"Bearer {guarded.full[:-1]}",
        f"Basic {guarded.full}",
        guarded.full,
        "Bearer",
    ):
        headers = {} if value is None else {"authorization": value}
        answer = status(_ask(at, guarded, **headers), 401, about=repr(value)[:20])
        mentions(answer.headers.get("www-authenticate", ""), "Bearer")
        holds(guarded.full not in answer.text, "no secret in the answer", answer.text)


@CHAPTER.case("a known token is let in, whatever the case of `Bearer`")
def _known(at: At) -> None:
    guarded = at.variants.guarded()
    for scheme in ("Bearer", "bearer"):
        for token in (guarded.full, guarded.read_only, guarded.limited):
            status(_ask(at, guarded, authorization=f"{scheme} {token}"), 200)


@CHAPTER.case("health and metrics need no token")
def _open(at: At) -> None:
    guarded = at.variants.guarded()
    for path in ("/health", "/health/live", "/metrics"):
        status(at.memory.http.get(guarded.server.url + path), 200, about=path)


@CHAPTER.case("a token that may only read is refused by every tool that writes")
def _read_only(at: At) -> None:
    guarded = at.variants.guarded()
    writer = at.speak(guarded.server.mcp_url, guarded.full)
    reader = at.speak(guarded.server.mcp_url, guarded.read_only)
    project = at.project()
    item = at.add(project, "T", "pump", additionalEmbeddings=[{"label": "l", "text": "t"}])
    for tool, arguments in (
        ("CreateProject", {"name": "x"}),
        ("UpdateProject", {"project": project, "name": "x"}),
        ("AddItem", {"project": project, **note("T", "c")}),
        ("AddItems", {"project": project, "items": [note("T", "c")]}),
        ("UpdateItem", {"id": item["id"], "title": "x"}),
        ("SetItemStatus", {"id": item["id"], "status": "x"}),
        ("DeleteItem", {"id": item["id"]}),
        ("RestoreItem", {"id": item["id"]}),
        ("AddEmbedding", {"id": item["id"], "label": "l", "text": "t"}),
        ("UpdateEmbedding", {"id": item["id"], "position": 1, "text": "x"}),
        ("RemoveEmbedding", {"id": item["id"], "position": 1}),
    ):
        mentions(reader.refusal_of(tool, arguments), "only read", about=tool)
    same(item, reader.call("GetItem", id=item["id"])["item"], "nothing was changed")
    same(1, len(reader.call("FindItems", queries=["pump"], project=project)["hits"]))
    same("x", writer.call("UpdateItem", id=item["id"], title="x")["item"]["title"], "full token")


@CHAPTER.case("a token that calls too often gets 429 with Retry-After, others go on")
def _too_often(at: At) -> None:
    guarded = at.variants.hurried()
    # Each era has a token of its own to use up.
    token = guarded.full if at.era == "handshake" else guarded.read_only
    answers = [_ask(at, guarded, authorization=f"Bearer {token}") for _ in range(12)]
    codes = [answer.status_code for answer in answers]
    same({200, 429}, set(codes), "statuses")
    holds(
        CALLS_PER_MINUTE <= codes.count(200) <= CALLS_PER_MINUTE + 2,
        f"{CALLS_PER_MINUTE} calls let in",
        codes,
    )
    refused = answers[codes.index(429)]
    pause = refused.headers.get("retry-after", "")
    holds(pause.isdigit() and 1 <= int(pause) <= 60, "Retry-After in seconds", pause)
    other: Speaker = at.speak(guarded.server.mcp_url, guarded.limited)
    holds("projects" in other.call("ListProjects"), "another token to be let in", "")
    status(other.http.get(f"{guarded.server.url}/health"), 200)
