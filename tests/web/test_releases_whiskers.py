"""Expected figures as dots with whiskers: places of the picture from numbers alone."""

from __future__ import annotations

from synth_engine.evaluation.expected import ExpectedFigure
from synth_engine.evaluation.figure_origins import ExpectedRange, ModelFigure
from synthweb.releases import whiskers
from synthweb.releases.whiskers import LEFT, MOST_LINES, RIGHT, ChartedFigure


def drawn(key: str, low: float, at: float, high: float) -> ChartedFigure:
    band = ExpectedRange(estimate=ModelFigure(value=at), low=low, high=high, level=0.9)
    figure = ExpectedFigure(key=key, expected=band)
    return ChartedFigure(
        figure=figure, label=key, estimate=f"{at:g}", low=f"{low:g}", high=f"{high:g}"
    )


def test_places_have_one_axis_from_the_lowest_to_the_highest_band() -> None:
    figures = [
        drawn("mean", 10, 20, 30),
        drawn("quantile_95", 80, 90, 110),
        drawn("standard_deviation", 500, 600, 700),
        drawn("missing", 0, 0.1, 0.2),
    ]
    chart = whiskers.chart_of(figures)
    assert chart is not None
    mean, quantile = chart.lines  # the other two lie on no axis of values
    assert (mean.low, quantile.high) == (LEFT, RIGHT)
    assert mean.at - mean.low == mean.high - mean.at == (RIGHT - LEFT) // 10
    assert (chart.low, chart.high) == ("10", "110")
    assert mean.words == "mean: 20 (10 – 30)"


def test_shares_begin_at_nothing_and_the_first_ones_are_drawn() -> None:
    figures = [drawn("share", -0.01, 0.02, 0.4) for _ in range(MOST_LINES + 3)]
    chart = whiskers.chart_of(figures)
    assert chart is not None
    assert len(chart.lines) == MOST_LINES
    assert chart.lines[0].low == LEFT
    assert chart.low == "0 %"


def test_nothing_to_draw_is_no_picture() -> None:
    assert whiskers.chart_of([]) is None
    assert whiskers.chart_of([drawn("missing", 0, 0.1, 0.2)]) is None
    assert whiskers.chart_of([drawn("mean", 5, 5, 5)]) is None
