"""Points as the data of SVG paths, as short as they can be written: whole pixels, relative."""

from collections.abc import Sequence

from harness.report.charts import Point


def path(points: Sequence[Point]) -> str:
    """A line through points."""
    (x, y), *rest = [(round(x), round(y)) for x, y in points]
    text = f"M{x} {y}"
    for place, (to_x, to_y) in enumerate(rest):
        text += f"{'l' if place == 0 else _apart(to_x - x)}{to_x - x}{_next(to_y - y)}"
        x, y = to_x, to_y
    return text


def dots(points: Sequence[Point]) -> str:
    """Dots, for a pen with round ends; two on the same pixel are one."""
    (x, y), *rest = dict.fromkeys((round(x), round(y)) for x, y in points)
    text = f"M{x} {y}h0"
    for to_x, to_y in rest:
        text += f"m{to_x - x}{_next(to_y - y)}h0"
        x, y = to_x, to_y
    return text


def _next(value: int) -> str:
    return f"{_apart(value)}{value}"


def _apart(value: int) -> str:
    """What keeps a number apart from the one before it: a minus does."""
    return "" if value < 0 else " "
