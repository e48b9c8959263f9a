"""The whole interface, case by case, as a real Text Embeddings Inference 1.9.3 answered it."""

import base64
import struct
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from conftest import post

JSON, PLAIN = "application/json", "text/plain; charset=utf-8"
LONG = "hello " * 400
WORDS_422 = (
    "Input validation error: `inputs` must have less than 256 tokens. Given: 402",
    "Validation",
)
EMPTY = ("Input validation error: `inputs` cannot be empty", "Empty")
TOO_MANY = ("batch size 33 > maximum allowed batch size 32", "Validation")
TOO_WIDE = (
    "Input validation error: `dimensions` should be smaller than the maximum embedding dimension.",
    "Validation",
)
NO_PROMPTS = (
    "Input validation error: `default-prompt-name` is set to `query` but no prompts were found in"
    " the Sentence Transformers configuration",
    "Validation",
)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/", 200),
        ("GET", "/ping", 200),
        ("GET", "/nope", 404),
        ("POST", "/nope", 404),
        ("GET", "/embed", 405),
        ("POST", "/health", 405),
        ("HEAD", "/health", 200),
        ("OPTIONS", "/embed", 200),
        ("GET", "/docs", 303),
    ],
)
def test_routes_without_a_body_answer_without_one(
    service: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = service.request(method, path)

    assert (answer.status_code, answer.content) == (status, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "origin" in answer.headers["vary"]


REFUSED: list[tuple[str, object, int, tuple[str, str]]] = [
    ("/embed", {"inputs": "hi", "dimensions": 0}, 422, (
        "Input validation error: `dimensions` should be positive", "Validation")),
    ("/embed", {"inputs": "hi", "dimensions": 9999}, 422, TOO_WIDE),
    ("/embed", {"inputs": ""}, 400, EMPTY),
    ("/embed", {"inputs": ["hi", ""]}, 400, EMPTY),
    ("/embed", {"inputs": []}, 400, EMPTY),
    ("/embed", {"inputs": [[]]}, 400, EMPTY),
    ("/embed", {"inputs": "hi", "prompt_name": "query"}, 422, NO_PROMPTS),
    ("/embed", {"inputs": ["hi"] * 33}, 422, TOO_MANY),
    ("/embed", {"inputs": LONG, "truncate": False}, 422, WORDS_422),
    ("/embed", {"inputs": ["hi", LONG], "truncate": False}, 422, WORDS_422),
    ("/embed", {"inputs": "a" * 80_000, "truncate": False}, 422, (
        "Input validation error: `inputs` must have less than 64000 characters. Given: 80000",
        "Validation")),
    ("/tokenize", {"inputs": ""}, 400, EMPTY),
    ("/tokenize", {"inputs": []}, 400, ("`inputs` cannot be empty", "Empty")),
    ("/tokenize", {"inputs": ["hi"] * 33}, 422, TOO_MANY),
    ("/tokenize", {"inputs": "a" * 80_000}, 422, (
        "Input validation error: `inputs` must have less than 64000 characters. Given: 80000",
        "Validation")),
    ("/decode", {"ids": []}, 400, (
        "Input validation error: `input_ids` cannot be empty", "Empty")),
    ("/predict", {"inputs": "hi"}, 424, (
        "Backend error: Model is not a classifier model", "Backend")),
    ("/rerank", {"query": "a", "texts": ["b"]}, 424, (
        "Backend error: model is not a re-ranker model", "Backend")),
    ("/embed_sparse", {"inputs": "hi"}, 424, (
        "Backend error: Model is not an embedding model with SPLADE pooling", "Backend")),
    ("/similarity", {"inputs": {"source_sentence": "cat", "sentences": []}}, 400, (
        "`inputs.sentences` cannot be empty", "Empty")),
    ("/similarity", {"inputs": {"source_sentence": "", "sentences": ["a"]}}, 400, EMPTY),
    ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["a"] * 32}}, 422, TOO_MANY),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "status", "told"), REFUSED)
def test_native_routes_refuse_with_error_and_error_type(
    service: httpx.Client, path: str, body: object, status: int, told: tuple[str, str]
) -> None:
    answer = post(service, path, body)

    assert (answer.status_code, answer.headers["content-type"]) == (status, JSON)
    assert answer.json() == {"error": told[0], "error_type": told[1]}
    assert "x-compute-type" not in answer.headers


@pytest.mark.parametrize("path", ["/v1/embeddings", "/embeddings"])
@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"input": "hi", "dimensions": 9999}, 422, TOO_WIDE),
        ({"input": []}, 400, EMPTY),
        ({"input": ""}, 400, EMPTY),
        ({"input": ["hi", ""]}, 400, EMPTY),
        ({"input": ["hi"] * 33}, 422, TOO_MANY),
    ],
)
def test_openai_routes_refuse_with_message_code_and_type(
    service: httpx.Client, path: str, body: object, status: int, told: tuple[str, str]
) -> None:
    answer = post(service, path, body)

    assert (answer.status_code, answer.headers["content-type"]) == (status, JSON)
    assert answer.json() == {"message": told[0], "code": status, "type": told[1]}


@pytest.mark.parametrize(
    ("path", "body", "status", "begins"),
    [
        ("/embed", {"inputs": None}, 422, "inputs: data did not match any variant"),
        ("/embed", {"inputs": 5}, 422, "inputs: data did not match any variant"),
        ("/embed", {}, 422, "missing field `inputs`"),
        ("/embed", {"inputs": {"a": 1}}, 422, "inputs: data did not match any variant"),
        ("/embed", {"inputs": [["hi"]]}, 422, "inputs: data did not match any variant"),
        ("/embed", b'"x"', 422, 'invalid type: string "x"'),
        ("/embed", b'{"inputs":"a","inputs":"b"}', 422, "duplicate field `inputs`"),
        ("/embed", {"inputs": "hi", "truncate": "yes"}, 422, "truncate: invalid type: string"),
        ("/embed", {"inputs": "hi", "normalize": None}, 422, "normalize: invalid type: null"),
        ("/embed", {"inputs": "hi", "truncation_direction": "up"}, 422, "truncation_direction"),
        ("/embed", b'{"inputs": "hi"', 400, ""),
        ("/embed", b"not json", 400, ""),
        ("/embed", b"", 400, ""),
        ("/embed", b'{"inputs":"\xff\xfe"}', 400, ""),
        ("/embed", b'{"inputs":"\\ud800"}', 400, ""),
        ("/v1/embeddings", {"input": "hi", "encoding_format": "int8"}, 422, "encoding_format"),
        ("/v1/embeddings", {"model": "m"}, 422, "missing field `input`"),
        ("/v1/embeddings", {"inputs": "hi"}, 422, "missing field `input`"),
        ("/v1/embeddings", b"{", 400, ""),
        ("/tokenize", {"inputs": 1}, 422, "inputs"),
        ("/predict", {}, 422, "missing field `inputs`"),
    ],
)
def test_bodies_that_cannot_be_read_are_answered_in_plain_text(
    service: httpx.Client, path: str, body: object, status: int, begins: str
) -> None:
    answer = post(service, path, body)

    assert (answer.status_code, answer.headers["content-type"]) == (status, PLAIN)
    prefix = {
        400: "Failed to parse the request body as JSON: ",
        422: "Failed to deserialize the JSON body into the target type: ",
    }[status]
    assert answer.text.startswith(prefix + begins)


@pytest.mark.parametrize("kind", [None, "text/plain"])
def test_a_body_that_does_not_say_it_is_json_is_415(
    service: httpx.Client, kind: str | None
) -> None:
    headers = {"content-type": kind} if kind else {}

    answer = service.post("/embed", content=b'{"inputs": "hi"}', headers=headers)

    assert (answer.status_code, answer.headers["content-type"]) == (415, PLAIN)
    assert answer.text == "Expected request with `Content-Type: application/json`"


def test_a_content_type_may_name_a_charset(service: httpx.Client) -> None:
    answer = post(service, "/embed", {"inputs": "hi"}, **{"content-type": f"{JSON}; charset=utf-8"})

    assert answer.status_code == 200


def test_a_body_over_two_megabytes_is_413(service: httpx.Client) -> None:
    answer = post(service, "/embed", {"inputs": "a" * 2_100_000})

    assert (answer.status_code, answer.headers["content-type"]) == (413, PLAIN)
    assert answer.text == "Failed to buffer the request body: length limit exceeded"


def test_a_chunked_body_is_read(service: httpx.Client) -> None:
    def parts() -> Iterator[bytes]:
        yield b'{"inputs":'
        yield b'"hi"}'

    answer = service.post("/embed", content=parts(), headers={"content-type": JSON})

    assert answer.status_code == 200


# The leading numbers that the real service gave, to the digits its page shows.
VECTORS: list[tuple[str, dict[str, Any], list[list[float]]]] = [
    ("/embed", {"inputs": "What is Deep Learning?"}, [[-0.0778514, -0.0332805, 0.0197435]]),
    ("/embed", {"inputs": ["What is Deep Learning?", "hi"]}, [
        [-0.0778514, -0.0332805, 0.0197435], [-0.0904762, 0.0404395, 0.0239056]]),
    ("/", {"inputs": "hi"}, [[-0.0904762, 0.0404395, 0.0239056]]),
    ("/invocations", {"inputs": "hi"}, [[-0.0904762, 0.0404395, 0.0239056]]),
    ("/embed", {"inputs": "hi", "normalize": False}, [[-0.5549437, 0.2480393, 0.1466273]]),
    ("/embed", {"inputs": "hi", "dimensions": 128}, [[-0.1457487, 0.0651443, 0.0385097]]),
    ("/embed", {"inputs": "hi", "dimensions": 3}, [[-0.88750046, 0.39667982, 0.23449548]]),
    ("/embed", {"inputs": [101, 7592, 102]}, [[-0.0627718, 0.0549588, 0.0521649]]),
    ("/embed", {"inputs": [[101, 7592, 102], [101, 2088, 102]]}, [
        [-0.0627718, 0.0549588, 0.0521649], [-0.0302381, 0.0316467, -0.0633743]]),
    ("/embed", {"inputs": ["hi", [101, 2088, 102]]}, [
        [-0.0904762, 0.0404395, 0.0239056], [-0.0302381, 0.0316467, -0.0633743]]),
    ("/embed", {"inputs": [[101, 999999, 102]]}, [[-0.1188384, 0.0482987, -0.0025481]]),
    ("/embed", {"inputs": "   "}, [[-0.1188384, 0.0482987, -0.0025481]]),
    ("/embed", {"inputs": "hi", "foo": 1}, [[-0.0904762, 0.0404395, 0.0239056]]),
    ("/embed", {"inputs": LONG}, [[-0.0190109, 0.0229379, 0.0617533]]),
    ("/embed", {"inputs": LONG, "truncation_direction": "Left"}, [
        [-0.0190109, 0.0229379, 0.0617533]]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "leading"), VECTORS)
def test_vectors_are_those_of_the_real_service(
    service: httpx.Client, path: str, body: dict[str, Any], leading: list[list[float]]
) -> None:
    answer = post(service, path, body)

    assert (answer.status_code, answer.headers["content-type"]) == (200, JSON)
    rows = answer.json()
    assert [len(row) for row in rows] == [body.get("dimensions", 384)] * len(leading)
    for row, expected in zip(rows, leading, strict=True):
        assert row[:3] == pytest.approx(expected, abs=2e-6)


def test_numbers_are_as_short_as_float32_allows_and_without_spaces(service: httpx.Client) -> None:
    text = post(service, "/embed", {"inputs": "hi"}).text

    assert text.startswith("[[-0.09047")
    assert " " not in text
    assert max(len(number.lstrip("-")) for number in text.strip("[]").split(",")) <= 14


def test_left_truncation_keeps_the_end(service: httpx.Client) -> None:
    long = "cats " * 300 + "dogs " * 254

    left = post(service, "/embed", {"inputs": long, "truncation_direction": "left"}).json()

    assert left == post(service, "/embed", {"inputs": ("dogs " * 254).strip()}).json()


def test_exactly_the_limit_of_tokens_is_accepted_and_one_more_is_not(service: httpx.Client) -> None:
    fits = post(service, "/embed", {"inputs": "hello " * 254, "truncate": False})
    over = post(service, "/embed", {"inputs": "hello " * 255, "truncate": False})

    assert (fits.status_code, fits.headers["x-compute-tokens"]) == (200, "256")
    assert over.json()["error"].endswith("must have less than 256 tokens. Given: 257")


def test_thirty_two_inputs_are_accepted(service: httpx.Client) -> None:
    answer = post(service, "/embed", {"inputs": ["hi"] * 32})

    assert len(answer.json()) == 32


def test_success_carries_the_compute_headers(service: httpx.Client) -> None:
    headers = post(service, "/embed", {"inputs": "What is Deep Learning?"}).headers

    assert headers["x-compute-type"] == "gpu+optimized"
    assert headers["x-compute-characters"] == "22"
    assert headers["x-compute-tokens"] == "7"
    for name in (
        "x-compute-time",
        "x-total-time",
        "x-tokenization-time",
        "x-queue-time",
        "x-inference-time",
    ):
        assert headers[name].isdigit()
    stages = [part.split(";")[0] for part in headers["server-timing"].split(", ")]
    assert stages == ["tokenize", "queue", "inference", "total"]


@pytest.mark.parametrize("path", ["/tokenize", "/decode"])
def test_tokenize_and_decode_carry_no_compute_headers(service: httpx.Client, path: str) -> None:
    body = {"inputs": "hi"} if path == "/tokenize" else {"ids": [7592]}

    assert "x-compute-type" not in post(service, path, body).headers


def test_info_has_the_keys_in_order(service: httpx.Client) -> None:
    found = service.get("/info").json()

    assert list(found) == [
        *("model_id", "model_sha", "model_dtype", "served_model_name", "model_type"),
        *("max_concurrent_requests", "max_input_length", "max_batch_tokens"),
        *("max_batch_requests", "max_client_batch_size", "auto_truncate"),
        *("tokenization_workers", "version", "sha", "docker_label"),
    ]
    assert found["model_id"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert len(found["model_sha"]) == 64
    assert found["model_type"] == {"embedding": {"pooling": "mean"}}
    assert found["max_input_length"] == 256
    assert found["max_batch_requests"] == 8


def test_openai_answers_have_its_shape(service: httpx.Client) -> None:
    body = {"input": ["hi", "there"], "model": "m"}

    found = post(service, "/v1/embeddings", body).json()

    assert list(found) == ["object", "data", "model", "usage"]
    assert (found["object"], found["model"]) == ("list", "sentence-transformers/all-MiniLM-L6-v2")
    assert found["usage"] == {"prompt_tokens": 6, "total_tokens": 6}
    assert [(one["object"], one["index"]) for one in found["data"]] == [
        ("embedding", 0),
        ("embedding", 1),
    ]
    assert found["data"][0]["embedding"][:3] == pytest.approx(
        [-0.0904762, 0.0404395, 0.0239056], abs=2e-6
    )
    assert found["data"][1]["embedding"][:3] == pytest.approx(
        [-0.0496345, 0.0319704, -0.0867381], abs=2e-6
    )


def test_openai_usage_counts_tokens_after_truncation(service: httpx.Client) -> None:
    found = post(service, "/v1/embeddings", {"input": LONG}).json()

    assert found["usage"] == {"prompt_tokens": 256, "total_tokens": 256}


def test_base64_holds_little_endian_float32(service: httpx.Client) -> None:
    asked = {"input": "hi", "dimensions": 2}
    floats = post(service, "/v1/embeddings", asked).json()["data"][0]["embedding"]
    packed = post(service, "/v1/embeddings", {**asked, "encoding_format": "base64"}).json()

    text = packed["data"][0]["embedding"]
    assert struct.unpack("<2f", base64.b64decode(text, validate=True)) == pytest.approx(
        floats, abs=1e-7
    )
    assert floats == pytest.approx([-0.9129562, 0.4080576], abs=2e-6)


def test_tokenize_gives_byte_offsets_and_the_source_s_own_letters(service: httpx.Client) -> None:
    def token(number: int, text: str, start: int | None, stop: int | None) -> dict[str, Any]:
        special = start is None
        return {"id": number, "text": text, "special": special, "start": start, "stop": stop}

    found = post(service, "/tokenize", {"inputs": ["Hello, world", "é 日本"]}).json()

    begin, end = token(101, "[CLS]", None, None), token(102, "[SEP]", None, None)
    hello = [token(7592, "Hello", 0, 5), token(1010, ",", 5, 6), token(2088, "world", 7, 12)]
    letters = [token(1041, "é", 0, 2), token(1864, "日", 3, 6), token(1876, "本", 6, 9)]
    assert found == [[begin, *hello, end], [begin, *letters, end]]


def test_tokenize_has_no_token_limit_and_can_leave_out_special_ones(service: httpx.Client) -> None:
    assert len(post(service, "/tokenize", {"inputs": LONG}).json()[0]) == 402

    bare = post(service, "/tokenize", {"inputs": "Hello", "add_special_tokens": False}).json()
    assert [one["text"] for one in bare[0]] == ["Hello"]


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ({"ids": [101, 7592, 2088, 102]}, ["hello world"]),
        ({"ids": [101, 7592, 2088, 102], "skip_special_tokens": False}, [
            "[CLS] hello world [SEP]"]),
        ({"ids": [[7592], [2088]]}, ["hello", "world"]),
    ],
)  # fmt: skip
def test_decode_gives_texts(service: httpx.Client, body: object, texts: list[str]) -> None:
    assert post(service, "/decode", body).json() == texts


def test_embed_all_gives_a_vector_a_token(service: httpx.Client) -> None:
    answer = post(service, "/embed_all", {"inputs": "hi"})

    assert answer.headers["x-compute-tokens"] == "3"
    first, second, third = answer.json()[0]
    assert first[:3] == pytest.approx([0.0287798, 0.127356, 0.0014877], abs=5e-6)
    assert second[:3] == pytest.approx([-0.8465755, 0.4579773, 0.327926], abs=5e-6)
    assert third[:3] == pytest.approx([-0.8470356, 0.1587846, 0.1104682], abs=5e-6)


def test_similarity_gives_a_number_a_sentence(service: httpx.Client) -> None:
    body = {"inputs": {"source_sentence": "cat", "sentences": ["kitten", "stone"]}}

    answer = post(service, "/similarity", body)

    assert answer.headers["x-compute-type"] == "gpu+optimized"
    assert answer.json() == pytest.approx([0.78822654, 0.3256641], abs=5e-5)


def test_thirty_one_sentences_pass_beside_their_source(service: httpx.Client) -> None:
    body = {"inputs": {"source_sentence": "cat", "sentences": ["stone"] * 31}}

    assert len(post(service, "/similarity", body).json()) == 31


def test_vertex_answers_each_instance(service: httpx.Client) -> None:
    found = post(service, "/vertex", {"instances": [{"inputs": "hi", "dimensions": 2}]}).json()

    assert list(found) == ["predictions"]
    assert found["predictions"][0][0] == pytest.approx([-0.9129562, 0.4080576], abs=2e-6)


def test_vertex_refuses_an_instance_it_cannot_read_as_json(service: httpx.Client) -> None:
    answer = post(service, "/vertex", {"instances": [{"nothing": 1}]})

    assert (answer.status_code, answer.json()["error_type"]) == (422, "Validation")


def test_metrics_have_the_names_dashboards_know(service: httpx.Client) -> None:
    post(service, "/embed", {"inputs": ["hi", "there"]})
    post(service, "/embed", {"inputs": ""})

    answer = service.get("/metrics")

    assert answer.headers["content-type"] == PLAIN
    for line in (
        'te_request_count{method="batch"} ',
        'te_request_success{method="batch"} ',
        'te_request_failure{err="empty"} ',
        "te_embed_count ",
        "te_embed_success ",
        "te_queue_size 0",
        "# TYPE te_request_count counter",
    ):
        assert line in answer.text
    for stage in ("", "_tokenization", "_queue", "_inference"):
        for of in ("te_request", "te_embed"):
            assert f"{of}{stage}_duration_count " in answer.text
    for name in ("te_request_input_length", "te_batch_next_size", "te_batch_next_tokens"):
        assert f'{name}_bucket{{le="+Inf"}} ' in answer.text


def test_the_openapi_page_names_every_route(service: httpx.Client) -> None:
    page = service.get("/api-doc/openapi.json")

    assert page.headers["content-type"] == JSON
    assert {"/embed", "/v1/embeddings", "/similarity", "/info"} <= set(page.json()["paths"])
