"""Geometry of the report's charts: values in, coordinates out; the templates draw them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to pixels, evenly or by their logarithm."""

    low: float
    high: float
    start_px: float
    end_px: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value, kept within the scale."""
        share = self._share(min(max(value, self.low), self.high))
        return round(self.start_px + share * (self.end_px - self.start_px), 1)

    def _share(self, value: float) -> float:
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points, with its label at the end."""

    label: str
    tone: str
    points: tuple[Point, ...]
    dashed: bool = False
    label_y: float = 0.0


@dataclass(frozen=True, slots=True)
class Curves:
    """Latency percentiles: ms on a log scale over log(1 / (1 - share))."""

    width: int
    height: int
    left: float
    bottom: float
    right: float
    xs: tuple[Tick, ...]
    ys: tuple[Tick, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """A named distribution as (share, ms) points."""

    label: str
    tone: str
    curve: Sequence[Point]
    dashed: bool = False


LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 56.0, 130.0, 12.0, 34.0
SHARES = ((0.0, "min"), (0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"))
LABEL_GAP_PX = 14.0


def curves(series: Sequence[Series], width: int = 760, height: int = 320) -> Curves:
    """The percentile curves of several distributions."""
    values = [ms for one in series for _, ms in one.curve if ms > 0]
    low = 10 ** math.floor(math.log10(min(values)))
    high = max(max(values) * 1.15, low * 10)
    deepest = max(_depth(share) for one in series for share, _ in one.curve)
    x = Scale(0.0, deepest, LEFT_PX, width - RIGHT_PX)
    y = Scale(low, high, height - BOTTOM_PX, TOP_PX, logarithmic=True)
    lines = [
        Line(
            one.label,
            one.tone,
            tuple((x.at(_depth(share)), y.at(max(ms, low))) for share, ms in one.curve),
            one.dashed,
        )
        for one in series
    ]
    xs = [Tick(x.at(_depth(share)), label) for share, label in SHARES if _depth(share) <= deepest]
    ys = [Tick(y.at(value), f"{value:g} ms") for value in _decades(low, high)]
    return Curves(
        width,
        height,
        LEFT_PX,
        height - BOTTOM_PX,
        width - RIGHT_PX,
        tuple(xs),
        tuple(ys),
        _spread(lines),
    )


def _depth(share: float) -> float:
    return math.log10(1 / (1 - share)) if share < 1 else 0.0


def _decades(low: float, high: float) -> list[float]:
    """1, 2 and 5 times each power of ten between two values."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [step * 10.0**exponent for exponent in exponents for step in (1, 2, 5)]
    return [value for value in values if low <= value <= high]


def _spread(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Labels at the lines' ends, moved apart where they'd lie on each other; some have none."""
    placed: list[Line] = []
    floor = -math.inf
    for line in sorted(lines, key=lambda one: (one.points[-1][1], one.label)):
        y = max(line.points[-1][1], floor + LABEL_GAP_PX) if line.label else 0.0
        floor = y if line.label else floor
        placed.append(Line(line.label, line.tone, line.points, line.dashed, round(y, 1)))
    return tuple(placed)


@dataclass(frozen=True, slots=True)
class Knee:
    """Latency over the rate asked: lines of quantiles, the rates that were too much, the knee."""

    width: int
    height: int
    left: float
    bottom: float
    right: float
    xs: tuple[Tick, ...]
    ys: tuple[Tick, ...]
    lines: tuple[Line, ...]
    too_much: tuple[Point, ...]
    knee_x: float | None


def knee(
    steps: Sequence[tuple[float, float, float, bool]], width: int = 760, height: int = 240
) -> Knee | None:
    """Steps as (rate asked, p50 ms, p95 ms, held), lowest rate first; None with nothing to draw."""
    drawn = [step for step in steps if step[1] > 0]
    if not drawn:
        return None
    low = 10 ** math.floor(math.log10(min(step[1] for step in drawn)))
    high = max(max(step[2] for step in drawn) * 1.15, low * 10)
    x = Scale(0.0, drawn[-1][0] * 1.05, LEFT_PX, width - RIGHT_PX)
    y = Scale(low, high, height - BOTTOM_PX, TOP_PX, logarithmic=True)
    lines = [
        Line(label, tone, tuple((x.at(step[0]), y.at(max(step[place], low))) for step in drawn))
        for label, tone, place in (("p50", "s0", 1), ("p95", "s1", 2))
    ]
    apart = _round_step(drawn[-1][0] / 6)
    rates = [place * apart for place in range(int(drawn[-1][0] / apart) + 1)]
    held = [step[0] for step in drawn if step[3]]
    return Knee(
        width,
        height,
        LEFT_PX,
        height - BOTTOM_PX,
        width - RIGHT_PX,
        tuple(Tick(x.at(rate), f"{rate:g}/s") for rate in rates),
        tuple(Tick(y.at(value), f"{value:g} ms") for value in _decades(low, high)),
        _spread(lines),
        tuple((x.at(step[0]), y.at(step[2])) for step in drawn if not step[3]),
        x.at(max(held)) if held else None,
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """One set's bar: the value with its interval, and the marks it is held against."""

    label: str
    y: float
    end: float
    low: float | None
    high: float | None
    value: str
    baseline: float | None
    best_arm: float | None


@dataclass(frozen=True, slots=True)
class Bars:
    """Scores of 0 to 1 by set, one bar each."""

    width: int
    height: int
    left: float
    bottom: float
    xs: tuple[Tick, ...]
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A set's score as the bars chart takes it."""

    label: str
    value: float
    low: float | None
    high: float | None
    baseline: float | None
    best_arm: float | None


BAR_STEP_PX, BAR_LEFT_PX = 38.0, 150.0


def bars(scored: Sequence[Scored], width: int = 760) -> Bars:
    """Bars from 0 to 1 with intervals."""
    height = int(TOP_PX + BAR_STEP_PX * len(scored) + BOTTOM_PX)
    x = Scale(0.0, 1.0, BAR_LEFT_PX, width - 60)

    def maybe(value: float | None) -> float | None:
        return None if value is None else x.at(value)

    made = [
        Bar(
            one.label,
            TOP_PX + BAR_STEP_PX * place + 6,
            x.at(one.value),
            maybe(one.low),
            maybe(one.high),
            f"{one.value:.3f}",
            maybe(one.baseline),
            maybe(one.best_arm),
        )
        for place, one in enumerate(scored)
    ]
    xs = [Tick(x.at(step / 5), f"{step / 5:.1f}") for step in range(6)]
    return Bars(width, height, BAR_LEFT_PX, height - BOTTOM_PX, tuple(xs), tuple(made))


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a stacked bar."""

    label: str
    tone: str
    x: float
    width: float
    ms: float
    share: float


def stack(parts: Sequence[tuple[str, float]], width: float = 740.0) -> tuple[Segment, ...]:
    """Parts of a whole side by side, in the order they come."""
    total = sum(ms for _, ms in parts) or 1.0
    segments, x = [], 0.0
    for place, (label, ms) in enumerate(parts):
        part = round(width * ms / total, 1)
        segments.append(Segment(label, f"s{place % 9}", round(x, 1), part, ms, ms / total))
        x += part
    return tuple(segments)


@dataclass(frozen=True, slots=True)
class Scatter:
    """Response times over the run, answered and failed."""

    width: int
    height: int
    left: float
    bottom: float
    right: float
    xs: tuple[Tick, ...]
    ys: tuple[Tick, ...]
    good: tuple[Point, ...]
    failed: tuple[Point, ...]


SHOWN_POINTS = 300
COLUMN_PX = 4


def scatter(
    samples: Sequence[tuple[float, float, bool]], width: int = 760, height: int = 170
) -> Scatter:
    """(due s, response ms, ok) as points; of many, the slowest of each few pixels is kept."""
    low = 10 ** math.floor(math.log10(min(ms for _, ms, _ in samples)))
    high = max(max(ms for _, ms, _ in samples) * 1.2, low * 10)
    last = max(max(due for due, _, _ in samples), 1.0)
    x = Scale(0.0, last, LEFT_PX, width - 20)
    y = Scale(low, high, height - BOTTOM_PX, TOP_PX, logarithmic=True)
    points = [(x.at(due), y.at(ms), ok) for due, ms, ok in samples]
    if len(points) > SHOWN_POINTS:
        points = _slowest_by_column(points)
    step = _round_step(last / 6)
    xs = [Tick(x.at(n * step), f"{n * step:g} s") for n in range(int(last / step) + 1)]
    ys = [Tick(y.at(value), f"{value:g} ms") for value in _decades(low, high) if _is_decade(value)]
    return Scatter(
        width,
        height,
        LEFT_PX,
        height - BOTTOM_PX,
        width - 20,
        tuple(xs),
        tuple(ys),
        tuple((px, py) for px, py, ok in points if ok),
        tuple((px, py) for px, py, ok in points if not ok),
    )


def _slowest_by_column(
    points: Sequence[tuple[float, float, bool]],
) -> list[tuple[float, float, bool]]:
    columns: dict[tuple[int, bool], tuple[float, float, bool]] = {}
    for point in points:
        key = (round(point[0] / COLUMN_PX), point[2])
        if key not in columns or point[1] < columns[key][1]:
            columns[key] = point
    return [columns[key] for key in sorted(columns)]


def _is_decade(value: float) -> bool:
    return math.isclose(math.log10(value), round(math.log10(value)), abs_tol=1e-9)


def _round_step(step: float) -> float:
    """The next of 1, 2, 5, 10, 20 … that is not smaller."""
    size: float = 10 ** math.floor(math.log10(step))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= step - 1e-9)
