"""Vectors as they come over the wire: read, checked, kept small."""

import base64
import binascii
import math
import sys
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from operator import mul
from typing import Any

from cortex.shared.errors import Unavailable

Vector = Sequence[float]
"""32-bit floats in an `array`: a tenth of the memory of a list."""


def read_tei(body: Any, count: int, dimension: int | None) -> list[Vector]:
    """The vectors of an `/embed` answer; raises `Unavailable` for anything but good ones."""
    if not isinstance(body, list):
        raise Unavailable("the embedding service answered no list of vectors")
    return check([_as_array(row) for row in body], count, dimension)


def read_openai(body: Any, count: int, dimension: int | None) -> list[Vector]:
    """The vectors of an OpenAI answer, by their `index`; floats and base64 are both read."""
    try:
        rows = sorted(body["data"], key=lambda entry: entry["index"])
        places = [entry["index"] for entry in rows]
        found = [_as_array(entry["embedding"]) for entry in rows]
    except (TypeError, KeyError) as err:
        raise Unavailable("the embedding service answered no OpenAI list of vectors") from err
    if places != list(range(len(rows))):
        raise Unavailable(f"the embedding service numbered its vectors {places[:5]}…")
    return check(found, count, dimension)


def _as_array(row: Any) -> "array[float]":
    try:
        if isinstance(row, str):
            values = array("f", base64.b64decode(row, validate=True))
            if sys.byteorder == "big":
                values.byteswap()
            return values
        return array("f", row)
    except (TypeError, ValueError, OverflowError, binascii.Error) as err:
        raise Unavailable("the embedding service answered a vector that is no numbers") from err


def check(vectors: "list[array[float]]", count: int, dimension: int | None) -> list[Vector]:
    """The same vectors, if there are `count` of one length, finite and none of them nought."""
    if len(vectors) != count:
        raise Unavailable(f"the embedding service gave {len(vectors)} vectors for {count} texts")
    wanted = dimension if dimension is not None else (len(vectors[0]) if vectors else 0)
    for vector in vectors:
        if len(vector) != wanted or not wanted:
            raise Unavailable(
                f"the embedding service gave a vector of {len(vector)} dimensions, not {wanted}"
            )
        size = sum(map(mul, vector, vector))
        if not math.isfinite(size) or size == 0:
            raise Unavailable("the embedding service gave a vector that is nought or not finite")
    return list(vectors)


class QueryCache:
    """The vectors of the texts asked most recently, so many at most."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

    def get(self, text: str) -> Vector | None:
        """The text's vector, which then counts as just asked; None where it is not kept."""
        found = self._vectors.get(text)
        if found is not None:
            self._vectors.move_to_end(text)
        return found

    def put(self, text: str, vector: Vector) -> None:
        """Keep a vector, and let go of the one asked longest ago where there are too many."""
        self._vectors[text] = vector
        self._vectors.move_to_end(text)
        if len(self._vectors) > self._size:
            self._vectors.popitem(last=False)

    def clear(self) -> None:
        """Forget all: another model answers now."""
        self._vectors.clear()
