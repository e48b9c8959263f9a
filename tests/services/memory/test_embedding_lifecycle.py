"""When the embedding service goes away, comes back, or comes back as another model."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from memory_calls import Start, new_project, note
from servers import Mcp, ToolFailed, wait_for


class Embedding:
    """A small real server of the TEI shape: may be stopped, counts, and can be another model."""

    def __init__(self) -> None:
        self.model = "words"
        self.embedded: list[str] = []
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    def start(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(outer.info() if self.path == "/info" else None)

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path == "/tokenize":
                    self._answer([outer.tokens(text) for text in asked["inputs"]])
                    return
                outer.embedded += asked["inputs"]
                self._answer([outer.vector(text) for text in asked["inputs"]])

            def _answer(self, body: Any) -> None:
                if outer._server is None:  # stopped: kept connections get no answer either
                    self.close_connection = True
                    return
                content = b"" if body is None else json.dumps(body).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def info(self) -> dict[str, Any]:
        return {
            "model_id": self.model,
            "model_sha": "1",
            "model_type": {"embedding": {"pooling": "mean"}},
            "max_input_length": 256,
            "max_client_batch_size": 32,
            "max_concurrent_requests": 512,
            "max_batch_tokens": 16384,
        }

    def tokens(self, text: str) -> list[dict[str, Any]]:
        words, start = [], 0
        for word in text.split():
            at = len(text[: text.index(word, start)].encode())
            words.append(
                {
                    "id": 1,
                    "text": word,
                    "special": False,
                    "start": at,
                    "stop": at + len(word.encode()),
                }
            )
            start = text.index(word, start) + len(word)
        return words

    def vector(self, text: str) -> list[float]:
        values = [0.01] * 384
        for word in text.lower().split():
            values[sum(word.encode()) % 384] += 1.0
        length = sum(value * value for value in values) ** 0.5
        return [value / length for value in values]


@contextmanager
def running(service: Embedding) -> Iterator[Embedding]:
    service.start()
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture
def embedding() -> Iterator[Embedding]:
    with running(Embedding()) as service:
        yield service


@pytest.fixture
def database_url(backing: dict[str, Any], template: str) -> Iterator[str]:
    """A database of this test alone: its vectors are of a model of its own."""
    from servers import fresh_database

    with fresh_database(backing["postgres"]["url"], template) as url:
        yield url


@pytest.fixture
def memory(start: Start, embedding: Embedding) -> Mcp:
    return start(
        embedding_url=f"http://127.0.0.1:{embedding.port}",
        embedding_timeout_s=1.0,
        write_timeout_s=1.0,
    )


def test_without_embeddings_search_falls_back_to_words_and_recovers_by_itself(
    memory: Mcp, embedding: Embedding
) -> None:
    project = new_project(memory)
    item = memory("AddItem", project=project, **note("Pump", "the pump in the cellar"))["item"]
    embedding.stop()

    answer = memory("FindItems", queries=["cellar"], project=project)

    assert answer["degraded"] == "embedding service unavailable"
    assert [hit["item"]["id"] for hit in answer["hits"]] == [item["id"]]
    assert memory("GetItem", id=item["id"])["item"] == item
    assert memory.http.get("/health").json()["status"] == "degraded"
    embedding.start()
    wait_for(
        "an answer by meaning",
        lambda: memory("FindItems", queries=["garage"], project=project)["degraded"] is None,
    )


def test_a_write_without_embeddings_fails_whole_and_says_it_may_be_tried_again(
    memory: Mcp, embedding: Embedding
) -> None:
    project = new_project(memory)
    item = memory("AddItem", project=project, **note("Old", "old words"))["item"]
    embedding.stop()

    for tool, arguments in {
        "AddItem": {"project": project, **note("New", "new words")},
        "UpdateItem": {"id": item["id"], "content": "other words"},
        "AddEmbedding": {"id": item["id"], "label": "l", "text": "t"},
    }.items():
        with pytest.raises(ToolFailed, match=r"Unavailable.*the same call may succeed later"):
            memory(tool, **arguments)

    assert memory("ListItems", project=project)["items"] == [item]
    found = memory("FindItems", queries=["old"], project=project)["hits"]
    assert [hit["item"]["content"] for hit in found] == ["old words"]


def test_what_changes_no_text_costs_no_embedding(memory: Mcp, embedding: Embedding) -> None:
    project = new_project(memory)
    item = memory("AddItem", project=project, **note("Pump", "the pump"))["item"]
    embedding.embedded.clear()

    memory("SetItemStatus", id=item["id"], status="done")
    memory("UpdateItem", id=item["id"], title="Pump", content="the pump", tags=[])
    memory("DeleteItem", id=item["id"])
    memory("RestoreItem", id=item["id"])

    assert embedding.embedded == []
    memory("UpdateItem", id=item["id"], tags=["wet"])
    assert len(embedding.embedded) == 1


def test_another_model_is_refused_for_vectors_and_named(memory: Mcp, embedding: Embedding) -> None:
    project = new_project(memory)
    memory("AddItem", project=project, **note("Pump", "the pump"))
    embedding.stop()
    embedding.model = "other"
    memory("FindItems", queries=["pump"], project=project)
    embedding.start()

    answer = wait_for(
        "an answer that names the other model",
        lambda: (
            found
            if "other@1"
            in (found := memory("FindItems", queries=["pump"], project=project))["degraded"]
            else None
        ),
    )

    assert len(answer["hits"]) == 1
    assert "cortex memory reembed" in answer["degraded"]
    with pytest.raises(ToolFailed, match="cortex memory reembed"):
        memory("AddItem", project=project, **note("New", "words"))


def test_a_long_text_is_embedded_whole_with_its_title_in_each_window(
    memory: Mcp, embedding: Embedding
) -> None:
    project = new_project(memory)
    content = " ".join(f"word{i}" for i in range(1000))

    memory("AddItem", project=project, **note("Some title", content, body="b"))

    seen = " ".join(embedding.embedded)
    assert all(f"word{i}" in seen for i in range(1000))
    assert len(embedding.embedded) > 4
    assert all(text.startswith("Some title\n") for text in embedding.embedded)
    assert all(len(text.split()) <= 256 for text in embedding.embedded)
