"""The caching proxy gives what the service gives, and asks it once a text."""

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import fake_embedding
import httpx
import pytest

from harness.probes import embedding_cache
from harness.probes.embedding_cache import EmbeddingCache


@pytest.fixture
def upstream() -> Iterator[str]:
    """A real embedding service, and what it counted."""
    fake_embedding.Handler.embedded = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), fake_embedding.Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def proxy(upstream: str, tmp_path: Path) -> Iterator[tuple[httpx.Client, EmbeddingCache]]:
    with (
        embedding_cache.serving(upstream, tmp_path / "cache.sqlite") as (url, counts),
        httpx.Client(base_url=url, trust_env=False) as client,
    ):
        yield client, counts


def test_a_text_is_computed_once_and_comes_back_bit_for_bit(
    upstream: str, proxy: tuple[httpx.Client, EmbeddingCache]
) -> None:
    client, counts = proxy
    texts = ["one", "two", "one", "three"]
    straight = httpx.post(f"{upstream}/embed", json={"inputs": texts}, trust_env=False).json()
    fake_embedding.Handler.embedded = 0

    first = client.post("/embed", json={"inputs": texts}).json()
    second = client.post("/embed", json={"inputs": ["three", "four", "one"]}).json()

    assert first == straight
    assert second == [straight[3], fake_embedding.vector("four"), straight[0]]
    assert fake_embedding.Handler.embedded == 4
    assert (counts.hits, counts.misses) == (3, 4)


def test_other_parameters_are_another_text(proxy: tuple[httpx.Client, EmbeddingCache]) -> None:
    client, counts = proxy

    client.post("/embed", json={"inputs": "one", "normalize": True})
    client.post("/embed", json={"inputs": "one", "normalize": False})

    assert (counts.hits, counts.misses) == (0, 2)


def test_the_openai_shape_is_cached_too(proxy: tuple[httpx.Client, EmbeddingCache]) -> None:
    client, counts = proxy
    body = {"input": ["one", "two"], "model": "m"}

    first, second = (client.post("/v1/embeddings", json=body).json() for _ in range(2))

    assert first == second
    assert [one["embedding"] for one in first["data"]] == [
        fake_embedding.vector("one"),
        fake_embedding.vector("two"),
    ]
    assert (counts.hits, counts.misses) == (2, 2)


def test_what_is_kept_serves_the_next_run_and_not_another_model(
    upstream: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache.sqlite"

    def misses() -> int:
        with embedding_cache.serving(upstream, cache) as (url, counts):
            httpx.post(f"{url}/embed", json={"inputs": ["one"]}, trust_env=False)
            return counts.misses

    assert (misses(), misses()) == (1, 0)
    monkeypatch.setenv("CORTEX_FAKE_MODEL", "another")
    assert misses() == 1


def test_everything_else_goes_through(proxy: tuple[httpx.Client, EmbeddingCache]) -> None:
    client, _ = proxy

    assert client.get("/info").json()["model_id"] == "fake-trigrams"


def test_a_service_that_is_gone_is_said_and_nothing_is_kept(upstream: str, tmp_path: Path) -> None:
    with embedding_cache.serving(upstream, tmp_path / "cache.sqlite") as (url, counts):
        counts._upstream = "http://127.0.0.1:1"

        answer = httpx.post(f"{url}/embed", json={"inputs": ["one"]}, trust_env=False)

    assert answer.status_code == 503
    assert (counts.hits, counts.misses) == (0, 0)
