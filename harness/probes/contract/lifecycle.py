"""What befalls a stack: servers that start late, an embedding service that dies, restarts.

Played last, since it disturbs the stack; on one that is not ours nothing is disturbed.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psutil

from harness.errors import StackFailed
from harness.probes import databases
from harness.probes.contract.cases import MODERN, Chapter
from harness.probes.contract.scene import At, CannotRun, new_slug, note, titles
from harness.probes.contract.speaking import Broken, Speaker, holds, json_of, mentions, same, status
from harness.targets import EmbeddingService, MemoryService

CHAPTER = Chapter("memory", eras=(MODERN,))
BACK_WITHIN_S = 30.0
DEGRADED = "embedding service unavailable"


def _until(what: str, check: Callable[[], bool], within_s: float = BACK_WITHIN_S) -> None:
    deadline = time.monotonic() + within_s
    while not check():
        if time.monotonic() > deadline:
            raise Broken(f"{what} within {within_s:.0f} s", "it did not come")
        time.sleep(0.1)


@CHAPTER.case("a server just started gives the same hits as one that has served for long")
def _just_started(at: At) -> None:
    project = at.project()
    at.add_all(project, [note(f"n{i}", f"pump {i} and valve {i % 5}") for i in range(40)])
    asked = {"queries": ["valve of the pump", "pump 7"], "project": project, "limit": 50}
    wanted = at.memory.call("FindItems", **asked)
    fresh = at.speak(at.variants.memory("just-started", {}).mcp_url)
    same(wanted, fresh.call("FindItems", **asked))


@CHAPTER.case("on a schema it does not know the server refuses to start, and names the command")
def _unknown_schema(at: At) -> None:
    postgres = at.scene.targets.services.postgres
    if postgres is None or not at.scene.owned:
        raise CannotRun("a database is made only beside a stack that this run brought up")
    empty = databases.create(postgres.url, "contract-empty")
    try:
        at.variants.memory("no-schema", {"CORTEX_MEMORY_DATABASE_URL": empty})
    except StackFailed as err:
        mentions(str(err), "cortex memory migrate", about="the server's last words")
    else:
        raise Broken("a server that does not start", "it started on an empty database")


@CHAPTER.case("with a setting nobody knows the server refuses to start, and names it")
def _unknown_setting(at: At) -> None:
    try:
        at.variants.memory("unknown-setting", {"CORTEX_MEMORY_TOKENS": "x"})
    except StackFailed as err:
        mentions(str(err), "CORTEX_MEMORY_TOKENS", about="the server's last words")
    else:
        raise Broken("a server that does not start", "it took CORTEX_MEMORY_TOKENS for nothing")


def _cut_off(at: At) -> Speaker:
    """A memory server whose embedding service is gone."""
    mortal = at.variants.mortal()
    mortal.go()
    return at.speak(mortal.server.mcp_url)


def _connected(at: At) -> Speaker:
    """A memory server whose embedding service is there, again if need be."""
    mortal = at.variants.mortal()
    mortal.come()
    speaker = at.speak(mortal.server.mcp_url)
    _until("a search by meaning", lambda: _degraded(speaker) is None)
    return speaker


def _degraded(speaker: Speaker) -> str | None:
    """What a search with words not asked before says about the embedding service."""
    word = new_slug()
    found = speaker.call("FindItems", queries=[f"a word {word}"], searchAllProjects=True, limit=1)
    told: str | None = found["degraded"]
    return told


@CHAPTER.case("without the embedding service a search answers by words, and says so")
def _degraded_search(at: At) -> None:
    project = at.project()
    at.add(project, "Deploys", "Workers crash after each deploy because of a stale socket")
    asked = {"queries": [f"deploy crash {new_slug()}"], "project": project}
    found = _cut_off(at).call("FindItems", **asked)
    same((["Deploys"], DEGRADED), (titles(found), found["degraded"]))
    same(None, at.memory.call("FindItems", **asked)["degraded"], "where the service is up")


@CHAPTER.case("once the embedding service is known to be away, searches do not wait for it")
def _quick_without(at: At) -> None:
    speaker = _cut_off(at)
    same(DEGRADED, _degraded(speaker), "the search that learns of it")
    took_s = []
    for _ in range(5):
        started = time.monotonic()
        same(DEGRADED, _degraded(speaker))
        took_s.append(time.monotonic() - started)
    # One in a few seconds looks whether the service is back.
    holds(sorted(took_s)[3] < 1, "4 of 5 searches within 1 s", [round(one, 2) for one in took_s])


@CHAPTER.case(
    "without the embedding service a write fails whole, with a word that it may be retried"
)
def _failed_writes(at: At) -> None:
    project = at.project()
    item = at.add(project, "Old", "the old version")
    speaker = _cut_off(at)
    here = {"project": project}
    writes: list[tuple[str, dict[str, Any]]] = [
        ("AddItem", {**here, **note("New", "never kept")}),
        ("AddItems", {**here, "items": [note("New", "never kept")] * 2}),
        ("UpdateItem", {"id": item["id"], "content": "half a version", "title": "Half"}),
        ("AddEmbedding", {"id": item["id"], "label": "l", "text": "never kept"}),
    ]
    with ThreadPoolExecutor(len(writes)) as threads:
        told = list(threads.map(lambda one: speaker.refusal_of(*one), writes))
    for (tool, _), text in zip(writes, told, strict=True):
        mentions(text, "embedding", "unavailable", "may succeed later", about=tool)
    same(item, at.call("GetItem", id=item["id"])["item"], "the old version, whole")
    listed = at.call("ListItems", project=project, includeDeleted=True)["items"]
    same(["Old"], [one["title"] for one in listed], "nothing half written")


@CHAPTER.case("without the embedding service reads, lists, statuses, deletes and restores go on")
def _reads_go_on(at: At) -> None:
    project = at.project()
    item = at.add(project, "Kept", "a pump")
    speaker = _cut_off(at)
    same(item, speaker.call("GetItem", id=item["id"])["item"])
    same(1, len(speaker.call("ListItems", project=project)["items"]))
    same("done", speaker.call("SetItemStatus", id=item["id"], status="done")["item"]["status"])
    speaker.call("DeleteItem", id=item["id"])
    same("done", speaker.call("RestoreItem", id=item["id"])["item"]["status"])
    slug = new_slug()
    speaker.call("CreateProject", name="Made meanwhile", slug=slug)
    health = json_of(status(speaker.http.get(f"{speaker.origin}/health"), 200, about="/health"))
    same("degraded", health["status"], "/health")
    holds(health["embedding"] != "ok", "/health to name the embedding service", health)


@CHAPTER.case("an embedding service that hangs does not hang a search")
def _hanging(at: At) -> None:
    speaker = _connected(at)
    mortal = at.variants.mortal()
    with mortal.hanging():
        started = time.monotonic()
        same(DEGRADED, _degraded(speaker))
        took_s = time.monotonic() - started
    holds(took_s < 15, "an answer within 15 s", f"{took_s:.1f} s")


@CHAPTER.case("searches and writes come back by themselves when the embedding service does")
def _recovers(at: At) -> None:
    project = at.project()
    _cut_off(at)
    speaker = _connected(at)
    speaker.call("AddItem", project=project, **note("Back", "kept again"))
    same(["Back"], titles(speaker.call("FindItems", queries=["kept again"], project=project)))


def _process_of(at: At, service: EmbeddingService | MemoryService) -> psutil.Process:
    """The process that the stack runs a service with, where it is ours to kill."""
    if not at.scene.owned or service.start is None:
        raise CannotRun("services are killed only on a stack that this run brought up")
    port = httpx.URL(service.url).port
    for process in psutil.process_iter():
        if _serves(process, port, service.start.command):
            return process
    raise CannotRun(f"no process {' '.join(service.start.command)} listens on {port}")


def _serves(process: psutil.Process, port: int | None, command: tuple[str, ...]) -> bool:
    try:
        if tuple(process.cmdline()) != command:
            return False
        return any(one.laddr.port == port for one in process.net_connections("tcp"))
    except psutil.Error:
        return False


@CHAPTER.case("an embedding service that is killed is restarted, and search recovers within 30 s")
def _restarted(at: At) -> None:
    process = _process_of(at, at.scene.targets.services.embedding)
    project = at.project()
    at.add(project, "Before", "a pump")
    process.kill()
    process.wait(10)
    _until("a search that is not degraded", lambda: _degraded(at.memory) is None)
    at.add(project, "After", "a pump")
    same(["After", "Before"], sorted(titles(at.find(project, "pump"))))
    health = json_of(at.memory.http.get(f"{at.memory.origin}/health"))
    same("ok", health["status"], "/health")


@CHAPTER.case("a memory server that is killed is restarted within 30 s, with all it acknowledged")
def _memory_restarted(at: At) -> None:
    process = _process_of(at, at.scene.targets.services.memory)
    project = at.project()
    kept = [at.add(project, f"n{i}", "a pump")["id"] for i in range(3)]
    process.kill()
    process.wait(10)
    _until("a health check", lambda: _answers(at.memory))
    listed = at.call("ListItems", project=project)["items"]
    same(kept, [one["id"] for one in listed])
    same(3, len(at.find(project, "pump")["hits"]))


def _answers(speaker: Speaker) -> bool:
    try:
        return speaker.http.get(f"{speaker.origin}/health").status_code == 200
    except httpx.TransportError:
        return False
