"""Ranking by a cross-encoder that runs beside the embedding model."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from bert_reference import Bert
from conftest import served
from safetensors_writer import tiny_cross_encoder

QUERY = "what is a cat"
TEXTS = ["a small animal", "a stone", "cats purr and sleep all day long in the sun", "a"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Path:
    """A small cross-encoder on disk."""
    folder = tmp_path_factory.mktemp("rerank") / "cross"
    return tiny_cross_encoder(folder, model_folder / "tokenizer.json")


@pytest.fixture(scope="module")
def ranker(encoder: Path, cache: Path) -> Iterator[httpx.Client]:
    """A service with that reranker loaded."""
    with served(reranker_model=str(encoder), cache_folder=cache) as client:
        yield client


@pytest.fixture(scope="module")
def expected(encoder: Path, tokenizer: Any) -> list[float]:
    """The raw scores by the weights."""
    bert = Bert(encoder)
    weights = bert.weights
    scores = []
    for text in TEXTS:
        pair = tokenizer.encode(QUERY, text)
        first = bert.hidden_states(pair.ids, pair.type_ids)[0]
        pooled = np.tanh(
            first @ weights["bert.pooler.dense.weight"].T + weights["bert.pooler.dense.bias"]
        )
        logit = pooled @ weights["classifier.weight"].T + weights["classifier.bias"]
        scores.append(float(logit[0]))
    return scores


def rerank(client: httpx.Client, **more: object) -> httpx.Response:
    return client.post("/rerank", json={"query": QUERY, "texts": TEXTS, **more})


def test_raw_scores_are_those_of_the_weights_best_first(
    ranker: httpx.Client, expected: list[float]
) -> None:
    found = rerank(ranker, raw_scores=True).json()

    assert [one["index"] for one in found] == sorted(range(4), key=lambda i: -expected[i])
    assert [one["score"] for one in found] == pytest.approx(
        sorted(expected, reverse=True), abs=1e-4
    )
    assert all(list(one) == ["index", "score"] for one in found)


def test_scores_lie_between_nought_and_one_unless_raw(
    ranker: httpx.Client, expected: list[float]
) -> None:
    found = {one["index"]: one["score"] for one in rerank(ranker).json()}

    for place, raw in enumerate(expected):
        assert found[place] == pytest.approx(1 / (1 + math.exp(-raw)), abs=1e-4)


def test_texts_come_back_when_asked_for(ranker: httpx.Client) -> None:
    found = rerank(ranker, return_text=True)

    assert all(one["text"] == TEXTS[one["index"]] for one in found.json())
    assert found.headers["x-compute-type"] == "gpu+optimized"


def test_embeddings_are_served_beside(ranker: httpx.Client) -> None:
    assert len(ranker.post("/embed", json={"inputs": "hi"}).json()[0]) == 384


def test_a_pair_too_long_is_cut_or_refused(ranker: httpx.Client) -> None:
    long = {"texts": ["hello " * 400]}

    assert rerank(ranker, **long).status_code == 200
    refused = rerank(ranker, **long, truncate=False)
    assert (refused.status_code, refused.json()["error_type"]) == (422, "Validation")


@pytest.mark.parametrize(
    ("more", "status", "kind"),
    [
        ({"texts": []}, 400, "Empty"),
        ({"texts": ["a"] * 33}, 422, "Validation"),
        ({"texts": [""]}, 400, "Empty"),
        ({"query": ""}, 400, "Empty"),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    ranker: httpx.Client, more: dict[str, object], status: int, kind: str
) -> None:
    answer = rerank(ranker, **more)

    assert (answer.status_code, answer.json()["error_type"]) == (status, kind)


def test_vertex_ranks_too(ranker: httpx.Client) -> None:
    body = {"instances": [{"query": QUERY, "texts": TEXTS}, {"inputs": "hi", "dimensions": 2}]}

    first, second = ranker.post("/vertex", json=body).json()["predictions"]

    assert first == rerank(ranker).json()
    assert len(second[0]) == 2
