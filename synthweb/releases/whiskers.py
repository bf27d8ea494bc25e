"""Expected figures of a column as dots with whiskers, as places in an SVG of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth_engine.evaluation.expected import ExpectedFigure
from synthweb.lib.number_format import shortened

WIDTH, LEFT, RIGHT = 480, 172, 472
"""Of the picture and its axis, in units of the picture; left of it stand the labels."""
TOP, LINE, BOTTOM = 4, 18, 20
MOST_LINES = 8
LONGEST_LABEL = 26
NO_PLACES = frozenset({"standard_deviation", "missing"})
"""Figures that lie on no axis of values."""


@dataclass(frozen=True, kw_only=True)
class Whisker:
    """A figure: a dot at its estimate, a whisker over its band. words: label and numbers in full."""

    label: str
    words: str
    y: int
    low: int
    at: int
    high: int


@dataclass(frozen=True, kw_only=True)
class WhiskerChart:
    """What the picture draws. low and high: both ends of its axis in words."""

    lines: tuple[Whisker, ...]
    height: int
    low: str
    high: str
    width: int = WIDTH
    left: int = LEFT
    right: int = RIGHT


@dataclass(frozen=True, kw_only=True)
class ChartedFigure:
    """A figure to draw, with its label and both ends of its band in words."""

    figure: ExpectedFigure
    label: str
    estimate: str
    low: str
    high: str


def chart_of(figures: Sequence[ChartedFigure]) -> WhiskerChart | None:
    """The picture of the figures of one column that have a common axis: places among its values, or shares of
    records. None where they leave nothing to draw."""
    shares = [each for each in figures if each.figure.key == "share"]
    shown = shares or [each for each in figures if each.figure.key not in NO_PLACES]
    shown = shown[:MOST_LINES]
    if not shown:
        return None
    first = min(shown, key=lambda each: each.figure.expected.low)
    last = max(shown, key=lambda each: each.figure.expected.high)
    low = 0.0 if shares else first.figure.expected.low
    span = last.figure.expected.high - low
    if span <= 0:
        return None

    def place(value: float) -> int:
        return LEFT + round((value - low) / span * (RIGHT - LEFT))

    lines = [
        Whisker(
            label=shortened(each.label, most=LONGEST_LABEL),
            words=f"{each.label}: {each.estimate} ({each.low} – {each.high})",
            y=TOP + LINE * number + LINE // 2,
            low=place(max(low, each.figure.expected.low)),
            at=place(max(low, each.figure.expected.estimate.value)),
            high=place(each.figure.expected.high),
        )
        for number, each in enumerate(shown)
    ]
    return WhiskerChart(
        lines=tuple(lines),
        height=TOP + LINE * len(lines) + BOTTOM,
        low="0 %" if shares else first.low,
        high=last.high,
    )
