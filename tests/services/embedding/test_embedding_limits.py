"""The interface where a service has limits of its own: permits, no cutting, a key."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conftest import post, served

LONG = "hello " * 400
WORDS_422 = (
    "Input validation error: `inputs` must have less than 256 tokens. Given: 402",
    "Validation",
)
OVERLOADED = ("Model is overloaded", "Overloaded")


@pytest.fixture(scope="module")
def strict(cache: Path) -> Iterator[httpx.Client]:
    """A service with two permits that does not cut by itself."""
    with served(cache_folder=cache, max_concurrent_requests=2, auto_truncate=False) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("/embed", {"inputs": ["a", "b", "c"]}, 429, OVERLOADED),
        ("/v1/embeddings", {"input": ["a", "b", "c"]}, 429, OVERLOADED),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}}, 429,
            OVERLOADED),
        ("/embed", {"inputs": LONG}, 422, WORDS_422),
        ("/v1/embeddings", {"input": LONG}, 422, WORDS_422),
        ("/v1/embeddings", {"input": ["a", LONG]}, 422, WORDS_422),
    ],
)  # fmt: skip
def test_permits_and_lengths_are_refused_at_once(
    strict: httpx.Client, path: str, body: object, status: int, told: tuple[str, str]
) -> None:
    answer = post(strict, path, body)

    assert answer.status_code == status
    assert "retry-after" not in answer.headers
    found = answer.json()
    assert (
        found.get("error", found.get("message")),
        found.get("error_type", found.get("type")),
    ) == told


def test_tokenize_takes_no_permit(strict: httpx.Client) -> None:
    assert post(strict, "/tokenize", {"inputs": ["a", "b", "c"]}).status_code == 200


def test_a_request_may_ask_to_be_cut(strict: httpx.Client) -> None:
    assert post(strict, "/embed", {"inputs": LONG, "truncate": True}).status_code == 200


def test_info_tells_the_settings(strict: httpx.Client) -> None:
    found = strict.get("/info").json()

    assert (found["max_concurrent_requests"], found["auto_truncate"]) == (2, False)


@pytest.fixture(scope="module")
def guarded(cache: Path) -> Iterator[httpx.Client]:
    """A service that asks for a key."""
    with served(cache_folder=cache, api_key="sekret") as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "key", "status"),
    [
        ("POST", "/embed", None, 401),
        ("POST", "/embed", "Bearer wrong", 401),
        ("POST", "/embed", "bearer sekret", 401),
        ("POST", "/embed", "Bearer sekret", 200),
        ("GET", "/info", None, 401),
        ("GET", "/info", "Bearer sekret", 200),
        ("GET", "/health", None, 200),
        ("GET", "/ping", None, 200),
        ("GET", "/", None, 200),
        ("GET", "/metrics", None, 200),
        ("GET", "/api-doc/openapi.json", None, 200),
        ("GET", "/nope", None, 404),
    ],
)
def test_a_key_guards_all_but_health_metrics_and_docs(
    guarded: httpx.Client, method: str, path: str, key: str | None, status: int
) -> None:
    headers = {"authorization": key} if key else {}
    body = {"inputs": "hi"} if method == "POST" else None

    answer = guarded.request(method, path, json=body, headers=headers)

    assert answer.status_code == status
    if status == 401:
        assert answer.content == b""
