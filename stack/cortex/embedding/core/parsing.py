"""From the bytes of a request body to what the caller asks, or to the reason it cannot be read.

The rules are those of the interface this service speaks: unknown fields are ignored, a field may
not come twice, bytes after the document are ignored, `null` counts as absent only for the fields
that say so, and what cannot be read is answered in plain text.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from cortex.contracts.embedding import ErrorKind
from cortex.embedding.records import Input, Refused, Wish
from cortex.shared.errors import StackError

_BIGGEST_ID = 2**32 - 1
_KNOWN_FIELDS = frozenset(
    (
        *("inputs", "input", "ids", "query", "texts", "instances"),
        *("source_sentence", "sentences", "parameters", "model", "user"),
        *("truncate", "truncation_direction", "prompt_name", "normalize", "dimensions"),
        *("encoding_format", "add_special_tokens", "skip_special_tokens"),
        *("raw_scores", "return_text"),
    )
)


class Unreadable(StackError):
    """The body is not what the route reads: 400 for bad JSON, 422 for JSON of another shape."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Texts:
    """The inputs of a request; `batched` where the caller sent a list of them."""

    items: list[Input]
    batched: bool


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """What `/embed` and its kin read."""

    texts: Texts
    wish: Wish


@dataclass(frozen=True, slots=True)
class OpenAIRequest:
    """What the OpenAI routes read."""

    texts: Texts
    wish: Wish
    base64: bool


@dataclass(frozen=True, slots=True)
class TokenizeRequest:
    """What `/tokenize` reads."""

    texts: list[str]
    batched: bool
    add_special_tokens: bool
    prompt_name: str | None


@dataclass(frozen=True, slots=True)
class DecodeRequest:
    """What `/decode` reads."""

    ids: list[tuple[int, ...]]
    skip_special_tokens: bool


@dataclass(frozen=True, slots=True)
class SimilarityRequest:
    """What `/similarity` reads."""

    source: str
    sentences: list[str]
    wish: Wish


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """What `/rerank` reads."""

    query: str
    texts: list[str]
    wish: Wish
    raw_scores: bool
    return_text: bool


class Fields:
    """One JSON object, read field by field; each reader raises `Unreadable` with the reason."""

    def __init__(self, value: object, refuse: Callable[[str], StackError]) -> None:
        if not isinstance(value, dict):
            raise refuse(f"invalid type: {_named(value)}, expected a JSON object")
        self._fields: dict[str, Any] = value
        self._refuse = refuse

    def required(self, name: str) -> object:
        """The field's value, whatever it is."""
        if name not in self._fields:
            raise self._refuse(f"missing field `{name}`")
        return self._fields[name]

    def wrong(self, name: str, expected: str) -> StackError:
        """The error that says what the field holds and what it should."""
        value = _named(self._fields.get(name))
        return self._refuse(f"{name}: invalid type: {value}, expected {expected}")

    def flag(self, name: str, default: bool) -> bool:
        """A boolean that may be absent, not null."""
        value = self._fields.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "a boolean")
        return value

    def maybe_flag(self, name: str) -> bool | None:
        """A boolean that may be absent or null."""
        value = self._fields.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise self.wrong(name, "a boolean")

    def maybe_text(self, name: str) -> str | None:
        """A string that may be absent or null."""
        value = self._fields.get(name)
        if value is None or isinstance(value, str):
            return value
        raise self.wrong(name, "a string")

    def maybe_count(self, name: str) -> int | None:
        """A whole number from nought up that may be absent or null."""
        value = self._fields.get(name)
        if value is None or (type(value) is int and value >= 0):
            return value
        raise self.wrong(name, "usize")

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        """One of `allowed`; may be absent, not null."""
        value = self._fields.get(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        if value not in allowed:
            variants = ", ".join(f"`{one}`" for one in allowed)
            raise self._refuse(f"{name}: unknown variant `{value}`, expected one of {variants}")
        return value

    def text(self, name: str) -> str:
        """A string that must be there."""
        value = self.required(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def text_list(self, name: str) -> list[str]:
        """A list of strings that must be there."""
        value = self.required(name)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(name, "a sequence of strings")
        return value

    def nested(self, name: str) -> "Fields":
        """An object that must be there."""
        return Fields(self.required(name), lambda why: self._refuse(f"{name}: {why}"))

    def maybe_nested(self, name: str) -> "Fields":
        """An object that may be absent or null, which reads as empty."""
        value = self._fields.get(name)
        return Fields({} if value is None else value, lambda why: self._refuse(f"{name}: {why}"))

    def texts(self, name: str) -> Texts:
        """A text, a list of token ids, or a list of either."""
        value = self.required(name)
        if isinstance(value, str):
            return Texts([value], batched=False)
        if isinstance(value, list):
            if (ids := _token_ids(value)) is not None:
                return Texts([ids], batched=False)
            items = [one if isinstance(one, str) else _token_ids(one) for one in value]
            if None not in items:
                return Texts([one for one in items if one is not None], batched=True)
        raise self._refuse(f"{name}: data did not match any variant of untagged enum Input")

    def wish(self) -> Wish:
        """The fields that say how to embed."""
        direction = self.choice("truncation_direction", "Right", ("Left", "left", "Right", "right"))
        return Wish(
            truncate=self.maybe_flag("truncate"),
            truncate_left=direction in ("Left", "left"),
            normalize=self.flag("normalize", True) if "normalize" in self._fields else None,
            dimensions=self.maybe_count("dimensions"),
            prompt_name=self.maybe_text("prompt_name"),
        )


def _token_ids(value: object) -> tuple[int, ...] | None:
    if isinstance(value, list) and all(
        type(one) is int and 0 <= one <= _BIGGEST_ID for one in value
    ):
        return tuple(value)
    return None


def _named(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, str):
        return f'string "{value[:40]}"'
    if isinstance(value, int | float):
        return f"number `{value}`"
    return "sequence" if isinstance(value, list) else "map"


def _end_of(body: bytes) -> str:
    return f" at line {body.count(10) + 1} column {len(body) - body.rfind(10) - 1}"


def read_object(body: bytes) -> Fields:
    """The body as a JSON object; raises `Unreadable`."""

    def refuse(why: str) -> StackError:
        prefix = "Failed to deserialize the JSON body into the target type: "
        return Unreadable(422, prefix + why + _end_of(body))

    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Fields(_read_slowly(body, refuse), refuse)
    # The fast reader keeps the last of two fields; a name seen twice may also be in a text.
    if any(body.count(b'"%b"' % name.encode()) > 1 for name in _field_names(value)):
        value = _read_slowly(body, refuse)
    return Fields(value, refuse)


def _field_names(value: object) -> Iterator[str]:
    """The names of an object's known fields, and of those of the objects in it."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        if name in _KNOWN_FIELDS:
            yield name
        if isinstance(inner, dict):
            yield from _field_names(inner)


def _read_slowly(body: bytes, refuse: Callable[[str], StackError]) -> object:
    """As the fast reader, but ignores what follows the document and refuses a field twice."""

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        read = dict(found)
        if len(read) < len(found):
            names = [name for name, _ in found]
            twice = next(name for name in names if names.count(name) > 1)
            if twice in _KNOWN_FIELDS:
                raise refuse(f"duplicate field `{twice}`")
        return read

    def constant(name: str) -> object:
        raise json.JSONDecodeError(f"expected value, not {name}", name, 0)

    try:
        text = body.decode().lstrip(" \t\r\n")
        decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant)
        value, _ = decoder.raw_decode(text)
        orjson.dumps(value)  # refuses half surrogates, which Python's reader lets through
    except UnicodeDecodeError as err:
        raise _not_json("invalid unicode code point") from err
    except json.JSONDecodeError as err:
        raise _not_json(f"{err.msg} at line {err.lineno} column {err.colno}") from err
    except (RecursionError, TypeError) as err:
        raise _not_json("unexpected end of hex escape or recursion limit exceeded") from err
    return value


def _not_json(why: str) -> Unreadable:
    return Unreadable(400, f"Failed to parse the request body as JSON: {why}")


def read_embed(fields: Fields) -> EmbedRequest:
    """Read the body of `/embed`, `/embed_all` or `/embed_sparse`."""
    return EmbedRequest(fields.texts("inputs"), fields.wish())


def read_openai(fields: Fields) -> OpenAIRequest:
    """Read the body of `/v1/embeddings`; its vectors are always of unit length."""
    texts = fields.texts("input")
    fields.maybe_text("model")
    fields.maybe_text("user")
    encoding = fields.choice("encoding_format", "float", ("float", "base64"))
    wish = Wish(normalize=True, dimensions=fields.maybe_count("dimensions"))
    return OpenAIRequest(texts, wish, encoding == "base64")


def read_tokenize(fields: Fields) -> TokenizeRequest:
    """Read the body of `/tokenize`."""
    value = fields.required("inputs")
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise fields.wrong("inputs", "a variant of untagged enum TokenizeInput")
    special = fields.flag("add_special_tokens", True)
    prompt_name = fields.maybe_text("prompt_name")
    return TokenizeRequest(texts, isinstance(value, list), special, prompt_name)


def read_decode(fields: Fields) -> DecodeRequest:
    """Read the body of `/decode`."""
    value = fields.required("ids")
    single = _token_ids(value)
    lists = [single] if single is not None else []
    if single is None and isinstance(value, list):
        found = [_token_ids(one) for one in value]
        lists = [] if None in found else [one for one in found if one is not None]
    if not lists:
        raise fields.wrong("ids", "a variant of untagged enum InputIds")
    return DecodeRequest(lists, fields.flag("skip_special_tokens", True))


def read_similarity(fields: Fields) -> SimilarityRequest:
    """Read the body of `/similarity`."""
    inputs = fields.nested("inputs")
    source, sentences = inputs.text("source_sentence"), inputs.text_list("sentences")
    return SimilarityRequest(source, sentences, fields.maybe_nested("parameters").wish())


def read_rerank(fields: Fields) -> RerankRequest:
    """Read the body of `/rerank`."""
    return RerankRequest(
        fields.text("query"),
        fields.text_list("texts"),
        fields.wish(),
        fields.flag("raw_scores", False),
        fields.flag("return_text", False),
    )


def read_predict(fields: Fields) -> None:
    """Read the body of `/predict`, which no model here can answer."""
    value = fields.required("inputs")
    kinds: tuple[type, ...] = (str, list)
    parts = value if isinstance(value, list) else [value]
    if not parts or not all(isinstance(part, kinds) for part in parts):
        raise fields.wrong("inputs", "a string, a pair of strings or a batch of them")


def read_vertex(fields: Fields) -> list[RerankRequest | EmbedRequest]:
    """Read the body of `/vertex`: each instance is a rerank request or an embed request."""
    instances = fields.required("instances")
    if not isinstance(instances, list):
        raise fields.wrong("instances", "a sequence")
    return [_instance(value) for value in instances]


def _instance(value: object) -> RerankRequest | EmbedRequest:
    def refuse(why: str) -> StackError:
        return Refused(ErrorKind.VALIDATION, why)

    fields = Fields(value, refuse)
    try:
        return read_rerank(fields)
    except Refused:
        return read_embed(fields)
