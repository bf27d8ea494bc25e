"""Bars of shares, one group for each label: real beside synthetic, with intervals where there are some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth_engine.evaluation import style
from synth_engine.evaluation.plots import Figure, Report, Trace, frame

ROW_PIXELS = 40


@dataclass(frozen=True, kw_only=True)
class RateSeries:
    """One value for each label, None where there is none. `intervals`: their ends; empty without."""

    name: str
    colour: str
    values: Sequence[float | None]
    intervals: Sequence[Sequence[float]] = ()


def draw_rates(
    report: Report,
    labels: Sequence[str],
    series: Sequence[RateSeries],
    *,
    axis: str,
    words: str,
    has_names: bool = True,
) -> Figure:
    """Horizontal bars, the first label on top. axis: what the values are, in words. has_names: whether labels
    are names of columns, which pages do not translate."""
    shown = [style.escape(style.shorten(label)) for label in labels]
    places = list(range(len(shown)))
    traces = [_bars(each, shown, places, offset=index) for index, each in enumerate(series)]
    layout = {
        "barmode": "group",
        "bargap": 0.3,
        "xaxis": {
            "title": {"text": axis},
            "rangemode": "tozero",
            "gridcolor": style.QUIET,
            "zeroline": False,
        },
        "yaxis": {
            "tickvals": places,
            "ticktext": shown,
            "autorange": "reversed",
            "ticklabelstandoff": 6,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        "height": 170 + ROW_PIXELS * len(shown),
        "meta": {} if has_names else {"labels": "words"},
    }
    return frame(report, traces, layout, words=words)


def _bars(
    series: RateSeries, labels: Sequence[str], places: Sequence[int], *, offset: int
) -> Trace:
    trace: Trace = {
        "type": "bar",
        "orientation": "h",
        "name": series.name,
        "x": list(series.values),
        "y": list(places),
        "customdata": list(labels),
        "offsetgroup": str(offset),
        "marker": {"color": series.colour},
        "hovertemplate": "%{customdata}: %{x:.3f}<extra>" + series.name + "</extra>",
    }
    if series.intervals:
        trace["error_x"] = {
            "symmetric": False,
            "array": [
                high - (value or 0.0)
                for value, (_, high) in zip(series.values, series.intervals, strict=True)
            ],
            "arrayminus": [
                (value or 0.0) - low
                for value, (low, _) in zip(series.values, series.intervals, strict=True)
            ],
            "color": style.INK,
            "thickness": 1,
            "width": 4,
        }
    return trace
