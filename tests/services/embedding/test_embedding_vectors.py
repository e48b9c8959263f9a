"""Vectors agree with the weights, whatever else runs beside them."""

import asyncio
import random
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from bert_reference import Bert
from conftest import served

TEXTS = [
    "a",
    "🎉",
    "What is Deep Learning?",
    "日本語の文章は単語の間に空白がありません。",
    "the and of to in is it that was for on are as with his they at be this",
    "The quick brown fox jumps over the lazy dog. " * 60,
    "naïve café — “quotes” … ñ",
    "مرحبا بالعالم",
    "x" * 3000,
    "   ",
    "[CLS] [SEP] [MASK] literal",
    "line one\nline two\ttab",
    "0123456789 3.14159 1e-7",
    "SELECT * FROM items WHERE id = 'a'; -- comment",
]


def vectors(client: httpx.Client, texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    rows = client.post("/embed", json={"inputs": texts}).json()
    return np.array(rows, np.float32)


def test_vectors_agree_with_a_forward_pass_over_the_weights(
    service: httpx.Client, reference: Bert, tokenizer: Any
) -> None:
    expected = np.stack([reference.mean_vector(tokenizer.encode(text).ids) for text in TEXTS])

    cosines = (vectors(service, TEXTS).astype(np.float64) * expected).sum(axis=1)

    assert cosines.min() > 0.999999


def test_a_text_alone_and_in_company_has_the_same_vector(service: httpx.Client) -> None:
    alone = np.concatenate([vectors(service, [text]) for text in TEXTS])

    together = vectors(service, TEXTS)

    assert (alone * together).sum(axis=1).min() > 0.99999


def test_concurrent_callers_each_get_their_own_vectors(service: httpx.Client) -> None:
    alone = np.concatenate([vectors(service, [text]) for text in TEXTS])
    order = random.Random(1).choices(range(len(TEXTS)), k=64)

    async def ask_all() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=64)
        async with httpx.AsyncClient(
            base_url=service.base_url, limits=limits, timeout=60
        ) as client:
            asked = (client.post("/embed", json={"inputs": TEXTS[place]}) for place in order)
            return await asyncio.gather(*asked)

    found = np.array([answer.json()[0] for answer in asyncio.run(ask_all())], np.float32)

    assert (found * alone[order]).sum(axis=1).min() > 0.99999


def test_int8_repeats_a_text_exactly_whatever_its_company(
    service: httpx.Client, cache: Path
) -> None:
    with served(cache_folder=cache, precision="int8") as quick:
        info = quick.get("/info").json()
        alone = np.concatenate([vectors(quick, [text]) for text in TEXTS[:5]])
        together = vectors(quick, TEXTS[:5])

    assert (info["model_dtype"], info["max_batch_requests"]) == ("int8", 1)
    assert (alone == together).all()
    assert (alone * vectors(service, TEXTS[:5])).sum(axis=1).min() > 0.95


@pytest.mark.parametrize("pooling", ["cls", "max", "lasttoken"])
def test_another_pooling_gives_what_the_weights_say(
    cache: Path, reference: Bert, tokenizer: Any, pooling: str
) -> None:
    states = reference.hidden_states(tokenizer.encode(TEXTS[2]).ids)
    expected = {"cls": states[0], "max": states.max(axis=0), "lasttoken": states[-1]}[pooling]

    with served(cache_folder=cache, pooling=pooling) as client:
        found = vectors(client, [TEXTS[2]])[0]
        told = client.get("/info").json()["model_type"]

    assert found @ (expected / np.linalg.norm(expected)) > 0.99999
    assert told == {"embedding": {"pooling": pooling}}
