"""The client against the real service, and against one that misbehaves."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from conftest import served
from cortex.clients.embedding import EmbeddingClient
from cortex.clients.embedding.timing import stages_told
from cortex.shared.errors import InvalidInput, Unavailable
from cortex.shared.stages import request_stages, stage
from servers import serve

Answer = TypeVar("Answer")
Reply = tuple[int, bytes]

INFO = {
    "model_id": "fake",
    "model_sha": None,
    "model_type": {"embedding": {"pooling": "mean"}},
    "max_concurrent_requests": 8,
    "max_input_length": 16,
    "max_batch_tokens": 1024,
    "max_client_batch_size": 4,
}


def run(url: str, ask: Callable[[EmbeddingClient], Awaitable[Answer]], **settings: Any) -> Answer:
    async def all_of_it() -> Answer:
        client = EmbeddingClient(url, **settings)
        try:
            return await ask(client)
        finally:
            await client.aclose()

    return asyncio.run(all_of_it())


class Fake:
    """A service that answers `/info` properly and everything else as the test says."""

    def __init__(self, answer: Callable[[int, Any], Reply]) -> None:
        self.info = dict(INFO)
        self.asked: list[Any] = []
        self._answer = answer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        if scope["path"] == "/info":
            status, body = 200, json.dumps(self.info).encode()
        else:
            asked = json.loads((await receive())["body"])
            self.asked.append(asked)
            status, body = self._answer(len(self.asked), asked)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body})


def good(count: int) -> Reply:
    return 200, json.dumps([[0.6, 0.8]] * count).encode()


@contextmanager
def fake(answer: Callable[[int, Any], Reply]) -> Iterator[tuple[str, Fake]]:
    app = Fake(answer)
    with serve(app) as url:
        yield url, app


def test_vectors_of_many_texts_come_in_order_across_batches(service: httpx.Client) -> None:
    texts = [f"text number {number}" for number in range(70)]
    url = str(service.base_url)

    found = run(url, lambda client: client.embed(texts, 30), dimension=384)

    for place in (0, 31, 32, 69):
        alone = service.post("/embed", json={"inputs": texts[place]}).json()[0]
        assert list(found[place]) == pytest.approx(alone, abs=1e-5)


def test_the_openai_shape_gives_the_same_vectors(service: httpx.Client) -> None:
    url = str(service.base_url).rstrip("/") + "/v1"

    native = run(str(service.base_url), lambda client: client.embed(["cats"], 30))
    openai = run(url, lambda client: client.embed(["cats"], 30), model_name="any", dimension=384)

    assert list(openai[0]) == pytest.approx(list(native[0]), abs=1e-7)


def test_what_the_service_took_is_told_as_parts_of_the_stage_that_asked(
    service: httpx.Client,
) -> None:
    async def ask(client: EmbeddingClient) -> dict[str, float]:
        with request_stages() as stages, stage("embed"):
            await client.embed(["cats"], 30)
        return stages.seconds

    seconds = run(str(service.base_url), ask)

    parts = [seconds[f"embed.{name}"] for name in ("tokenize", "queue", "inference")]
    assert 0 < sum(parts) < seconds["embed"]


def test_stages_are_read_of_either_header_and_garbage_is_none() -> None:
    tei = {"x-queue-time": "2", "x-inference-time": "5", "x-total-time": "9"}

    assert stages_told(tei) == {"queue": 0.002, "inference": 0.005}
    told = "queue;dur=1.5, inference;dur=3;desc=x, total;dur=6, odd;dur=1"
    assert stages_told({**tei, "server-timing": told}) == {"queue": 0.0015, "inference": 0.003}
    assert stages_told({"server-timing": "queue;dur=soon, inference"}) == {}
    assert stages_told({}) == {}


def test_info_says_which_model_answers(service: httpx.Client) -> None:
    info = run(str(service.base_url), lambda client: client.info())

    assert (info.model_id, info.pooling, info.max_input_tokens) == (
        "sentence-transformers/all-MiniLM-L6-v2",
        "mean",
        256,
    )
    assert len(info.revision) == 64


def test_a_key_is_sent(cache: Path) -> None:
    with served(cache_folder=cache, api_key="sekret") as guarded:
        url = str(guarded.base_url)

        assert run(url, lambda client: client.embed(["a"], 30), api_key="sekret")
        with pytest.raises(Unavailable, match="API key"):
            run(url, lambda client: client.embed(["a"], 30), api_key="wrong")


def test_token_spans_are_characters_of_the_text(service: httpx.Client) -> None:
    text = "é 日本 hello, unbelievability 🎉"

    spans = run(str(service.base_url), lambda client: client.token_spans([text, ""]))

    assert spans is not None
    assert [text[start:end] for start, end in spans[0]][:5] == ["é", "日", "本", "hello", ","]
    assert "".join(text[start:end] for start, end in spans[0]) == text.replace(" ", "")
    assert spans[1] == []


def test_token_spans_of_a_text_beyond_the_service_s_limit_are_asked_in_pieces(
    service: httpx.Client,
) -> None:
    text = "wörd another " * 10_000

    spans = run(str(service.base_url), lambda client: client.token_spans([text]))

    assert spans is not None
    assert len(text) > 64_000
    assert {text[start:end] for start, end in spans[0]} == {"wörd", "another"}
    assert len(spans[0]) == 20_000


def test_an_openai_service_tells_no_token_spans(service: httpx.Client) -> None:
    assert (
        run(str(service.base_url), lambda client: client.token_spans(["a"]), model_name="m") is None
    )


def test_batches_keep_the_limit_the_service_tells() -> None:
    with fake(lambda _, asked: good(len(asked["inputs"]))) as (url, app):
        found = run(url, lambda client: client.embed(["x"] * 10, 10))

    assert len(found) == 10
    assert sorted(len(asked["inputs"]) for asked in app.asked) == [2, 4, 4]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again(status: int) -> None:
    def busy_twice(turn: int, asked: Any) -> Reply:
        return (status, b"") if turn < 3 else good(len(asked["inputs"]))

    with fake(busy_twice) as (url, app):
        found = run(url, lambda client: client.embed(["x"], 10))

    assert list(found[0]) == pytest.approx([0.6, 0.8])
    assert len(app.asked) == 3


def test_a_service_that_stays_busy_is_unavailable_within_the_deadline() -> None:
    with fake(lambda _turn, _asked: (429, b"")) as (url, app):
        with pytest.raises(Unavailable, match="status 429"):
            run(url, lambda client: client.embed(["x"], 0.5))

    assert len(app.asked) > 1


def test_a_service_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="is the embedding service up"):
        run("http://127.0.0.1:9", lambda client: client.embed_queries(["x"], 0.2))
    with pytest.raises(Unavailable):
        run("http://127.0.0.1:9", lambda client: client.healthy())


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"{}", b"[[1,2],[3,4]]", b"[[0,0]]", b"[[null,1]]", b"[[1e99,1]]"],
)
def test_garbage_is_never_returned_as_a_vector(body: bytes) -> None:
    with fake(lambda _turn, _asked: (200, body)) as (url, _), pytest.raises(Unavailable):
        run(url, lambda client: client.embed(["x"], 5))


def test_a_vector_of_another_length_than_the_schema_is_refused() -> None:
    with fake(lambda _, asked: good(1)) as (url, _):
        with pytest.raises(Unavailable, match="2 dimensions, not 384"):
            run(url, lambda client: client.embed(["x"], 5), dimension=384)


def test_what_the_caller_sent_wrong_is_not_asked_again() -> None:
    told = b'{"error":"too long","error_type":"Validation"}'
    with fake(lambda _turn, _asked: (422, told)) as (url, app):
        with pytest.raises(InvalidInput, match="too long"):
            run(url, lambda client: client.embed(["x"], 5))

    assert len(app.asked) == 1


def test_an_empty_text_is_refused_before_it_is_sent() -> None:
    with fake(lambda _turn, _asked: good(1)) as (url, app):
        with pytest.raises(InvalidInput, match="text 1 is empty"):
            run(url, lambda client: client.embed(["x", ""], 5))

    assert app.asked == []


def test_a_query_asked_again_is_answered_from_memory() -> None:
    async def twice(client: EmbeddingClient) -> list[Any]:
        first = await client.embed_queries(["a", "b", "a"], 5)
        second = await client.embed_queries(["b", "c"], 5)
        return [*first, *second]

    with fake(lambda _, asked: good(len(asked["inputs"]))) as (url, app):
        found = run(url, twice)

    assert len(found) == 5
    assert [asked["inputs"] for asked in app.asked] == [["a", "b"], ["c"]]


def test_cached_queries_are_let_go_when_another_model_answers() -> None:
    with fake(lambda _, asked: good(len(asked["inputs"]))) as (url, app):

        async def swap(client: EmbeddingClient) -> None:
            await client.embed_queries(["a"], 5)
            app.info["model_id"] = "another"
            assert (await client.info(fresh=True)).model_id == "another"
            await client.embed_queries(["a"], 5)

        run(url, swap)

    assert len(app.asked) == 2


def test_a_server_that_is_no_embedding_service_is_named() -> None:
    with fake(lambda _turn, _asked: good(1)) as (url, app):
        app.info.clear()
        with pytest.raises(Unavailable, match="is it an embedding service"):
            run(url, lambda client: client.info())
