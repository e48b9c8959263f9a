"""The embedding service: the interface of Text Embeddings Inference, and OpenAI's shape of it."""

import base64
import math
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np

from harness.probes.contract import tei_rows
from harness.probes.contract.cases import Chapter
from harness.probes.contract.scene import At, CannotRun
from harness.probes.contract.speaking import TLS, Broken, holds, mentions, same, status
from harness.probes.contract.tei_rows import INFO_KEYS, METRICS, TIMES, Row

CHAPTER = Chapter("embedding")
REFERENCE_MODEL = "all-MiniLM-L6-v2"
FIRST_NUMBERS = {
    "What is Deep Learning?": (-0.0778514, -0.0332805, 0.0197435),
    "hi": (-0.0904762, 0.0404395, 0.0239056),
    "   ": (-0.1188384, 0.0482987, -0.0025481),
}
"""The beginnings of what TEI 1.9.3 answered with all-MiniLM-L6-v2 in fp32."""


def _post(at: At, path: str, body: object) -> httpx.Response:
    headers = {"content-type": "application/json"}
    if isinstance(body, bytes):
        return at.embedding.post(path, content=body, headers=headers)
    return at.embedding.post(path, json=body)


def _ok(at: At, path: str, body: object) -> Any:
    answer = status(_post(at, path, body), 200, about=path)
    mentions(answer.headers.get("content-type", ""), "application/json")
    return answer.json()


def _near(one: object, other: object, about: str = "") -> None:
    first, second = np.array(one, dtype=np.float64), np.array(other, dtype=np.float64)
    same(list(second.shape), list(first.shape), f"{about}: shape")
    if not np.allclose(first, second, atol=1e-5):
        raise Broken(second.ravel()[:4].tolist(), first.ravel()[:4].tolist(), about)


@CHAPTER.case("/health, / and /ping answer 200 with an empty body; HEAD too")
def _health(at: At) -> None:
    for path in ("/health", "/", "/ping"):
        same("", status(at.embedding.get(path), 200, about=path).text, path)
    status(at.embedding.head("/health"), 200)


@CHAPTER.case("an unknown path is 404, a wrong method 405, both with an empty body")
def _unknown(at: At) -> None:
    same("", status(at.embedding.get("/nope"), 404).text)
    same("", status(at.embedding.get("/embed"), 405).text)
    same("", status(at.embedding.post("/health"), 405).text)


@CHAPTER.case("a browser's preflight is answered, and answers carry its headers")
def _cors(at: At) -> None:
    asked = {"origin": "http://app.example", "access-control-request-method": "POST"}
    answer = status(at.embedding.options("/embed", headers=asked), 200)
    same("", answer.text)
    for one in (answer, _post(at, "/embed", {"inputs": "hi"}), at.embedding.get("/info")):
        same("*", one.headers.get("access-control-allow-origin"))
        mentions(one.headers.get("vary", ""), "origin")


@CHAPTER.case("/docs leads to the interface's description")
def _docs(at: At) -> None:
    status(at.embedding.get("/docs"), 303)
    described = status(at.embedding.get("/api-doc/openapi.json"), 200).json()
    for path in ("/embed", "/v1/embeddings", "/tokenize", "/info"):
        holds(path in described["paths"], path, sorted(described["paths"]))


@CHAPTER.case("/info has the keys of TEI, in order")
def _info(at: At) -> None:
    same(INFO_KEYS, list(status(at.embedding.get("/info"), 200).json()))
    holds("embedding" in at.scene.model["model_type"], "an embedding model", at.scene.model)


@CHAPTER.case("/metrics has the counters, gauges and histograms of TEI")
def _metrics(at: At) -> None:
    _ok(at, "/embed", {"inputs": "hi"})
    answer = status(at.embedding.get("/metrics"), 200)
    mentions(answer.headers["content-type"], "text/plain")
    mentions(answer.text, *METRICS)
    mentions(answer.text, 'te_request_count{method="single"}')


@CHAPTER.case("one text and a list of texts both answer a list of vectors of unit length")
def _embed(at: At) -> None:
    one = _ok(at, "/embed", {"inputs": "What is Deep Learning?"})
    two = _ok(at, "/embed", {"inputs": ["What is Deep Learning?", "hi"]})
    same((1, 2), (len(one), len(two)))
    _near(one[0], two[0], "alone and in a batch")
    for vector in two:
        holds(abs(math.hypot(*vector) - 1) < 1e-4, "length 1", math.hypot(*vector))


@CHAPTER.case("vectors are those of the reference service with the same model")
def _reference(at: At) -> None:
    model = at.scene.model
    if REFERENCE_MODEL not in model["model_id"] or model["model_dtype"] != "float32":
        raise CannotRun(f"numbers are known of {REFERENCE_MODEL} in float32, not {model}")
    for text, numbers in FIRST_NUMBERS.items():
        _near(_ok(at, "/embed", {"inputs": text})[0][:3], numbers, repr(text))
    raw = _ok(at, "/embed", {"inputs": "hi", "normalize": False})[0][:3]
    _near(raw, (-0.5549437, 0.2480393, 0.1466273), "not normalized")
    cut = _ok(at, "/embed", {"inputs": "hi", "dimensions": 3})[0]
    _near(cut, (-0.88750046, 0.39667982, 0.23449548), "3 dimensions")
    pair = {"source_sentence": "cat", "sentences": ["kitten", "stone"]}
    _near(_ok(at, "/similarity", {"inputs": pair}), (0.78822654, 0.3256641), "similarity")


@CHAPTER.case("POST / and /invocations are /embed")
def _aliases(at: At) -> None:
    wanted = _ok(at, "/embed", {"inputs": "hi"})
    for path in ("/", "/invocations"):
        _near(_ok(at, path, {"inputs": "hi"}), wanted, path)


@CHAPTER.case("vectors can be cut to fewer dimensions, and left as they are in length")
def _shapes(at: At) -> None:
    whole = _ok(at, "/embed", {"inputs": "hi", "normalize": False})[0]
    cut = np.array(whole[:128])
    wanted = (cut / np.linalg.norm(cut)).tolist()
    _near(_ok(at, "/embed", {"inputs": "hi", "dimensions": 128})[0], wanted, "128 dimensions")
    raw = _ok(at, "/embed", {"inputs": "hi", "dimensions": 128, "normalize": False})[0]
    _near(raw, cut, "not normalized")


@CHAPTER.case("token ids are taken like texts, alone, in a batch and mixed with texts")
def _ids(at: At) -> None:
    ids = [one["id"] for one in _ok(at, "/tokenize", {"inputs": "hello"})[0]]
    wanted = _ok(at, "/embed", {"inputs": "hello"})[0]
    _near(_ok(at, "/embed", {"inputs": ids})[0], wanted, "one list of ids")
    _near(_ok(at, "/embed", {"inputs": [ids, ids]})[1], wanted, "a batch of ids")
    _near(_ok(at, "/embed", {"inputs": ["hi", ids]})[1], wanted, "mixed")
    _near(_ok(at, "/v1/embeddings", {"input": ids})["data"][0]["embedding"], wanted, "OpenAI")
    blank = _ok(at, "/embed", {"inputs": "   "})[0]
    _near(_ok(at, "/embed", {"inputs": [ids[0], 999_999, ids[-1]]})[0], blank, "an unknown id")


@CHAPTER.case("unknown fields, null for truncate and trailing bytes are let pass")
def _lenient(at: At) -> None:
    wanted = _ok(at, "/embed", {"inputs": "hi"})
    for body in (
        {"inputs": "hi", "foo": 1},
        {"inputs": "hi", "truncate": None, "prompt_name": None, "dimensions": None},
        b'{"inputs":"hi"} trailing',
    ):
        _near(_ok(at, "/embed", body), wanted, str(body))
    for direction in ("Left", "left", "Right", "right"):
        _ok(at, "/embed", {"inputs": "hi", "truncation_direction": direction})


@CHAPTER.case("a body is JSON by its Content-Type alone, with or without a charset")
def _content_type(at: At) -> None:
    body = b'{"inputs": "hi"}'
    for kind in ("application/json", "application/json; charset=utf-8"):
        status(at.embedding.post("/embed", content=body, headers={"content-type": kind}), 200)
    for headers in ({}, {"content-type": "text/plain"}):
        answer = status(at.embedding.post("/embed", content=body, headers=headers), 415)
        same(tei_rows.UNTYPED, answer.text)
        mentions(answer.headers["content-type"], "text/plain")


def _refusal(row: Row) -> None:
    openai = row.path.endswith("/embeddings")

    def check(at: At) -> None:
        answer = status(_post(at, row.path, row.body), row.status)
        mentions(answer.headers.get("content-type", ""), row.content_type)
        if row.content_type == tei_rows.TEXT:
            holds(answer.text.startswith(row.message), f"{row.message}…", answer.text[:300])
        elif openai:
            told = {"message": row.message, "code": row.status, "type": row.kind}
            same(told, answer.json())
        else:
            same({"error": row.message, "error_type": row.kind}, answer.json())
        if answer.status_code != 413:
            holds("x-compute-time" not in answer.headers, "no x-compute-time", dict(answer.headers))

    CHAPTER.add(f"{row.path}, {row.name}: {row.status} {row.kind or 'in plain text'}", check)


MOST_TEXTS = 32
for _row in tei_rows.refusals(MOST_TEXTS):
    _refusal(_row)


@CHAPTER.case("the largest batch is accepted")
def _largest(at: At) -> None:
    same(MOST_TEXTS, at.scene.model["max_client_batch_size"])
    same(MOST_TEXTS, len(_ok(at, "/embed", {"inputs": ["hi"] * MOST_TEXTS})))
    pair = {"source_sentence": "a", "sentences": ["b"] * (MOST_TEXTS - 1)}
    same(MOST_TEXTS - 1, len(_ok(at, "/similarity", {"inputs": pair})))


@CHAPTER.case("a text beyond the model's window is cut unless that is forbidden")
def _window(at: At) -> None:
    most = int(at.scene.model["max_input_length"])
    long = "hello " * (2 * most)
    answer = _ok(at, "/v1/embeddings", {"input": long})
    same({"prompt_tokens": most, "total_tokens": most}, answer["usage"], "cut by default")
    exact = "hello " * (most - 2)
    _near(_ok(at, "/embed", {"inputs": exact, "truncate": False}), [answer["data"][0]["embedding"]])
    over = {"inputs": "hello " * (most - 1), "truncate": False}
    told = status(_post(at, "/embed", over), 422).json()
    wanted = f"`inputs` must have less than {most} tokens. Given: {most + 1}"
    same({"error": f"Input validation error: {wanted}", "error_type": "Validation"}, told)


@CHAPTER.case("a text of more characters than any window holds is refused before it is read")
def _characters(at: At) -> None:
    most = int(at.scene.model["max_input_length"]) * 250
    body = {"inputs": "hello " * 13_000 + "x" * max(0, most - 70_000), "truncate": False}
    told = status(_post(at, "/embed", body), 422).json()
    given = len(str(body["inputs"]))
    wanted = f"`inputs` must have less than {most} characters. Given: {given}"
    mentions(told["error"], wanted)
    status(_post(at, "/tokenize", {"inputs": body["inputs"]}), 422)
    status(_post(at, "/embed", {**body, "truncate": True}), 200)


@CHAPTER.case("an answer tells in whole milliseconds where its time went")
def _times(at: At) -> None:
    answer = status(_post(at, "/embed", {"inputs": "What is Deep Learning?"}), 200)
    same("gpu+optimized", answer.headers.get("x-compute-type"))
    for name in TIMES:
        holds(answer.headers.get(name, "").isdigit(), f"{name}: a whole number", answer.headers)
    same(
        ("22", "7"), tuple(answer.headers[f"x-compute-{what}"] for what in ("characters", "tokens"))
    )
    for path in ("/tokenize", "/decode"):
        body = {"inputs": "hi"} if path == "/tokenize" else {"ids": [101, 102]}
        holds("x-compute-type" not in _post(at, path, body).headers, "no such header", path)


@CHAPTER.case("/v1/embeddings and /embeddings answer OpenAI's shape, in floats and base64")
def _openai(at: At) -> None:
    width = len(_ok(at, "/embed", {"inputs": "hi"})[0])
    for path in ("/v1/embeddings", "/embeddings"):
        found = _ok(at, path, {"input": ["hi", "there"], "model": "another-name"})
        same(["object", "data", "model", "usage"], list(found), path)
        same("list", found["object"])
        same(at.scene.model["served_model_name"], found["model"], "the served name")
        same({"prompt_tokens": 6, "total_tokens": 6}, found["usage"])
        shapes = [(one["object"], one["index"], len(one["embedding"])) for one in found["data"]]
        same([("embedding", 0, width), ("embedding", 1, width)], shapes)
    floats = _ok(at, "/v1/embeddings", {"input": "hi"})["data"][0]["embedding"]
    told = _ok(at, "/v1/embeddings", {"input": "hi", "encoding_format": "base64"})["data"][0]
    raw = base64.b64decode(told["embedding"], validate=True)
    _near(struct.unpack(f"<{len(raw) // 4}f", raw), floats, "base64 as little-endian floats")
    cut = _ok(at, "/v1/embeddings", {"input": "hi", "dimensions": 8})["data"][0]["embedding"]
    same(8, len(cut))
    holds(abs(math.hypot(*cut) - 1) < 1e-4, "length 1", math.hypot(*cut))


@CHAPTER.case("/tokenize tells ids, texts and byte offsets, special tokens without offsets")
def _tokenize(at: At) -> None:
    texts = ["Hello, world", "é 日本"]
    found = _ok(at, "/tokenize", {"inputs": texts})
    for text, tokens in zip(texts, found, strict=True):
        same({"id", "text", "special", "start", "stop"}, set(tokens[0]))
        source = text.encode()
        for token in tokens:
            if token["special"]:
                same((None, None), (token["start"], token["stop"]))
            else:
                same(token["text"], source[token["start"] : token["stop"]].decode(), "the slice")
    plain = _ok(at, "/tokenize", {"inputs": "Hello", "add_special_tokens": False})[0]
    same([(False, 0, 5)], [(one["special"], one["start"], one["stop"]) for one in plain])
    if REFERENCE_MODEL in at.scene.model["model_id"]:
        ids = [[one["id"] for one in tokens] for tokens in found]
        same([[101, 7592, 1010, 2088, 102], [101, 1041, 1864, 1876, 102]], ids)
    most = int(at.scene.model["max_input_length"])
    long = _ok(at, "/tokenize", {"inputs": "hello " * (most + 50)})[0]
    same(most + 52, len(long), "no token limit")


@CHAPTER.case("/decode gives back the text of ids, with special tokens when asked")
def _decode(at: At) -> None:
    ids = [one["id"] for one in _ok(at, "/tokenize", {"inputs": "hello world"})[0]]
    same(["hello world"], _ok(at, "/decode", {"ids": ids}))
    kept = _ok(at, "/decode", {"ids": ids, "skip_special_tokens": False})[0]
    holds(kept != "hello world" and "hello world" in kept, "special tokens around it", kept)
    same(["hello", "world"], _ok(at, "/decode", {"ids": [[ids[1]], [ids[2]]]}))


@CHAPTER.case("/embed_all answers a vector a token")
def _embed_all(at: At) -> None:
    width = len(_ok(at, "/embed", {"inputs": "hi"})[0])
    found = _ok(at, "/embed_all", {"inputs": "hi"})
    same([1, 3, width], list(np.array(found).shape))


@CHAPTER.case("/similarity answers a cosine a sentence")
def _similarity(at: At) -> None:
    pair = {"source_sentence": "cat", "sentences": ["kitten", "stone"]}
    found = _ok(at, "/similarity", {"inputs": pair})
    vectors = np.array(_ok(at, "/embed", {"inputs": ["cat", "kitten", "stone"]}))
    _near(found, (vectors[1:] @ vectors[0]).tolist())


@CHAPTER.case("/vertex answers predictions")
def _vertex(at: At) -> None:
    found = _ok(at, "/vertex", {"instances": [{"inputs": "hi", "dimensions": 2}]})
    wanted = _ok(at, "/embed", {"inputs": "hi", "dimensions": 2})
    same(["predictions"], list(found))
    _near(found["predictions"], [wanted])


@CHAPTER.case("a text embeds the same alone, in a batch, and while others are embedded")
def _steady(at: At) -> None:
    texts = ["a", "the pump in the cellar leaks", "日本 🎉", "word " * 120]
    alone = [_ok(at, "/embed", {"inputs": text})[0] for text in texts]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: _ok(at, "/embed", {"inputs": texts}), range(8)))
    for answer in answers:
        for one, other in zip(answer, alone, strict=True):
            holds(
                np.dot(one, other) >= 0.99999, "cosine 0.99999 or more", float(np.dot(one, other))
            )


@CHAPTER.case("more texts than permits are refused at once with 429, and /health stays 200")
def _overload(at: At) -> None:
    locked = at.variants.locked()
    headers = {"authorization": f"Bearer {locked.key}"}
    with httpx.Client(
        base_url=locked.server.url, headers=headers, trust_env=False, verify=TLS
    ) as client:
        answer = status(client.post("/embed", json={"inputs": ["a", "b", "c"]}), 429)
        same({"error": tei_rows.OVERLOADED, "error_type": "Overloaded"}, answer.json())
        holds("retry-after" not in answer.headers, "no Retry-After", dict(answer.headers))
        answer = status(client.post("/v1/embeddings", json={"input": ["a", "b", "c"]}), 429)
        same({"message": tei_rows.OVERLOADED, "code": 429, "type": "Overloaded"}, answer.json())
        pair = {"source_sentence": "a", "sentences": ["b", "c"]}
        status(client.post("/similarity", json={"inputs": pair}), 429, about="1 + 2 permits")
        status(client.post("/tokenize", json={"inputs": ["a", "b", "c"]}), 200, about="no permit")
        with ThreadPoolExecutor(12) as threads:
            asked = [
                threads.submit(client.post, "/embed", json={"inputs": "word " * 200}, timeout=30)
                for _ in range(12)
            ]
            status(client.get("/health"), 200)
            codes = {one.result().status_code for one in asked}
        same({200, 429}, codes, "12 clients at once")
        status(client.post("/embed", json={"inputs": ["a", "b"]}), 200, about="and after it")


@CHAPTER.case("a server that cuts no text refuses long ones, also in OpenAI's shape")
def _uncut(at: At) -> None:
    locked = at.variants.locked()
    headers = {"authorization": f"Bearer {locked.key}"}
    long = "hello " * 400
    told = "must have less than"
    with httpx.Client(
        base_url=locked.server.url, headers=headers, trust_env=False, verify=TLS
    ) as client:
        mentions(status(client.post("/embed", json={"inputs": long}), 422).json()["error"], told)
        openai = status(client.post("/v1/embeddings", json={"input": ["a", long]}), 422).json()
        same((422, "Validation"), (openai["code"], openai["type"]))
        mentions(openai["message"], told)
        status(client.post("/embed", json={"inputs": long, "truncate": True}), 200)


@CHAPTER.case("with an API key: 401 with an empty body without it, health and metrics open")
def _key(at: At) -> None:
    locked = at.variants.locked()
    with httpx.Client(base_url=locked.server.url, trust_env=False, verify=TLS) as client:
        for value in (None, "Bearer wrong", f"Bearer {locked.key}x", locked.key):
            headers = {} if value is None else {"authorization": value}
            for answer in (
                client.post("/embed", json={"inputs": "hi"}, headers=headers),
                client.get("/info", headers=headers),
            ):
                same("", status(answer, 401, about=repr(value)[:12]).text)
        for path in ("/health", "/ping", "/", "/metrics", "/api-doc/openapi.json"):
            status(client.get(path), 200, about=path)
        status(client.get("/nope"), 404)
        right = {"authorization": f"Bearer {locked.key}"}
        status(client.post("/embed", json={"inputs": "hi"}, headers=right), 200)
