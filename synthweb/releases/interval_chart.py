"""A picture of paid figures: a point with its interval on each line, as places in an SVG of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from synth_engine.evaluation.figure_origins import PaidFigure
from synthweb.lib.number_format import shortened

WIDTH, LEFT, RIGHT = 480, 8, 472
"""Of the picture and its axis, in units of the picture."""
TOP, LINE, BOTTOM = 4, 40, 24
LABEL, MARK = 15, 27
"""Where the words and the point of a line are, from its top."""
LONGEST_LABEL = 64
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MOST_TICKS = 5


@dataclass(frozen=True, kw_only=True)
class ChartTick:
    """A mark of the axis."""

    at: int
    text: str
    anchor: str


@dataclass(frozen=True, kw_only=True)
class ChartLine:
    """A figure with its interval. words: the same in full, for the pointer. text_y, y: of its label and its
    point. synthetic: where the synthetic table is, if that is a place on the axis."""

    label: str
    words: str
    text_y: int
    y: int
    low: int
    at: int
    high: int
    synthetic: int | None


@dataclass(frozen=True, kw_only=True)
class ChartNumbers:
    """A figure as the table below the picture has it, in full. synthetic: of the synthetic table, if it has
    one."""

    label: str
    value: str
    low: str
    high: str
    synthetic: int | None


@dataclass(frozen=True, kw_only=True)
class IntervalChart:
    """What the picture draws. name: of its files and in its id. guess: where a figure that says nothing would
    be, if there is one."""

    name: str
    title: str
    height: int
    bottom: int
    ticks: tuple[ChartTick, ...]
    lines: tuple[ChartLine, ...]
    numbers: tuple[ChartNumbers, ...]
    guess: int | None
    has_synthetic: bool
    width: int = WIDTH
    left: int = LEFT
    right: int = RIGHT


@dataclass(frozen=True, kw_only=True)
class Charted:
    """A figure to draw. synthetic: the number of the synthetic table, if there is one."""

    label: str
    figure: PaidFigure
    synthetic: int | None = None


def chart_of(
    name: str,
    title: str,
    figures: Sequence[Charted],
    *,
    write: Callable[[float], str],
    most: float | None = None,
    guess: float | None = None,
) -> IntervalChart:
    """The picture of one or more figures. write: a number of the axis in words. most: the end of the axis;
    without one, it has room for all. guess: a figure that says nothing."""
    end = most or _rounded_up(
        max(max(each.figure.high, each.synthetic or 0) for each in figures)
    )

    def place(value: float) -> int:
        return LEFT + round(min(1.0, max(0.0, value / end)) * (RIGHT - LEFT))

    bottom = TOP + LINE * len(figures)
    return IntervalChart(
        name=name,
        title=title,
        height=bottom + BOTTOM,
        bottom=bottom,
        ticks=tuple(_ticks(end, place, write)),
        lines=tuple(_line(each, number, place) for number, each in enumerate(figures)),
        numbers=tuple(_numbers(each) for each in figures),
        guess=None if guess is None else place(guess),
        has_synthetic=any(each.synthetic is not None for each in figures),
    )


def _line(each: Charted, number: int, place: Callable[[float], int]) -> ChartLine:
    top = TOP + LINE * number
    return ChartLine(
        label=shortened(each.label, most=LONGEST_LABEL),
        words=each.label,
        text_y=top + LABEL,
        y=top + MARK,
        low=place(each.figure.low),
        at=place(each.figure.value),
        high=place(each.figure.high),
        synthetic=None if each.synthetic is None else place(each.synthetic),
    )


def _numbers(each: Charted) -> ChartNumbers:
    value, low, high = (
        f"{number:.6g}" for number in (each.figure.value, each.figure.low, each.figure.high)
    )
    return ChartNumbers(
        label=each.label, value=value, low=low, high=high, synthetic=each.synthetic
    )


def _ticks(
    end: float, place: Callable[[float], int], write: Callable[[float], str]
) -> Iterator[ChartTick]:
    step = _step(end)
    for number in range(math.floor(end / step + 1e-9) + 1):
        at = place(number * step)
        # The words of both ends stay within the picture.
        anchor = "start" if at == LEFT else "end" if at == RIGHT else "middle"
        yield ChartTick(at=at, text=write(number * step), anchor=anchor)


def _step(end: float) -> float:
    """The smallest round number of which at most so many reach the end."""
    power = 10.0 ** math.floor(math.log10(end / MOST_TICKS))
    return next(power * step for step in STEPS if power * step * MOST_TICKS >= end - 1e-9)


def _rounded_up(value: float) -> float:
    step = _step(max(value, 1e-6))
    return step * math.ceil(value / step - 1e-9) or step
