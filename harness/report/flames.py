"""Flame graphs as geometry: sampled stacks in, boxes out; the outermost call is on top.

Frames too small to be seen are merged, and more of them the more there are, so that a graph has at
most so many boxes whatever was sampled. Boxes are in order of their names: the same stacks always
give the same picture.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.measures.call_tree import SMALL, Call, count, without_small

WIDTH_PX, ROW_PX = 1000, 17
MOST_BOXES = 520
LEAST_SHARE = 0.001
CHARACTER_PX = 6.1
LONGEST_TITLE = 90

KINDS = (
    ("s0", "the service's own code", ("cortex/",)),
    ("s2", "HTTP", ("uvicorn/", "starlette/", "aiohttp/", "httptools", "h11/", "anyio/", "mcp/")),
    ("s1", "the database's driver", ("psycopg/", "psycopg_pool/", "psycopg_binary/")),
    ("s3", "the model", ("onnxruntime/", "tokenizers/", "numpy/")),
    ("s4", "shapes and JSON", ("pydantic/", "pydantic_core/", "orjson", "json/")),
    ("s6", "Python and all else", ("",)),
)
"""Colours by the file a function stands in: tone, meaning, how its path begins."""


@dataclass(frozen=True, slots=True)
class Box:
    """One call: place, width, what is written in it, what a pointer over it is told."""

    x: float
    y: int
    width: float
    tone: str
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class FlameChart:
    """All boxes of one graph; `least` is the share below which frames were merged."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    least: float


def flame_chart(root: Call, row: int = ROW_PX) -> FlameChart:
    """The graph of a tree of calls."""
    least = LEAST_SHARE
    small = without_small(root, least * root.samples)
    while count(small) > MOST_BOXES:
        least *= 1.5
        small = without_small(root, least * root.samples)
    boxes = tuple(_boxes(small, max(root.samples, 1), 0, 0, row))
    deepest = max((box.y for box in boxes), default=0)
    return FlameChart(WIDTH_PX, deepest + row, boxes, least)


def _boxes(at: Call, whole: int, start: int, depth: int, row: int) -> Iterator[Box]:
    for name in sorted(at.below):
        one = at.below[name]
        width = round(WIDTH_PX * one.samples / whole, 1)
        share = f"{100 * one.samples / whole:.1f} %"
        yield Box(
            x=round(WIDTH_PX * start / whole, 1),
            y=depth * row,
            width=width,
            tone=tone(name),
            text=_fitting(name, width),
            title=f"{name[:LONGEST_TITLE]}: {share}",
        )
        yield from _boxes(one, whole, start, depth + 1, row)
        start += one.samples


def tone(name: str) -> str:
    """The colour of a function, by its file."""
    if name == SMALL:
        return "s6"
    file = name.rpartition(" (")[2]
    return next(tone for tone, _, starts in KINDS if file.startswith(starts))


def _fitting(name: str, width: float) -> str:
    """As much of a function's name as its box has room for."""
    function = name.partition(" (")[0]
    room = int((width - 6) / CHARACTER_PX)
    if room < 3:
        return ""
    return function if len(function) <= room else f"{function[: room - 1]}…"
