"""Plotly figures of a report, as plain dictionaries (`plotly.graph_objects.Figure(figure)` accepts each).

Colours mean the same everywhere: real is slate blue and solid, synthetic orange and hatched or dashed, a
difference runs blue–white–red with white at zero. Backgrounds are transparent, so that a figure stands on a
light or a dark page; pages may exchange the light colours of `style.TONES` for the dark ones.
`layout.meta.words` says in words what the figure shows, for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypedDict

from synth_engine.evaluation import style, wording

Trace: TypeAlias = dict[str, object]
Layout: TypeAlias = dict[str, Any]


class Figure(TypedDict):
    data: list[Trace]
    layout: Layout


Report = dict[str, Any]

TWO_LINES = 76  # pixels above a plot: a legend of two lines, and the words over it


MARGIN = {"l": 48, "r": 16, "t": 56, "b": 52}
"""Pixels around a plot."""
_HALF_SIGN = 4  # pixels: half of the width of a digit


def margin_for(ticks: Sequence[str], *, turned: bool = False) -> dict[str, int]:
    """The margin with room at the right for the last label of an axis, which may stand at its very end and is
    left out of a drawing that has no room for it. turned: labels begin at their ticks, instead of being
    centred there."""
    half = _HALF_SIGN * len(ticks[-1]) if ticks else 0
    return {**MARGIN, "r": max(MARGIN["r"], 2 * half if turned else half)}


def frame_release(traces: list[Trace], layout: Layout, *, words: str) -> Figure:
    """A figure of a release alone, without real data."""
    return frame({"private": True, "notice": wording.PRIVATE}, traces, layout, words=words)


def frame(report: Report, traces: list[Trace], layout: Layout, *, words: str) -> Figure:
    """Adds what all figures share. A figure made on real data has a red notice inside, so that
    a saved picture has it too."""
    base: Layout = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": style.FONT,
        "height": 400,
        "margin": MARGIN,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "hoverlabel": {"font": {"size": 13}},
        "barmode": "overlay",
        "showlegend": len(traces) > 1,
        "dragmode": False,
        "meta": {"words": words, "notice": report["notice"]},
    }
    whole = {**base, **layout, "meta": {**base["meta"], **layout.get("meta", {})}}
    titled = whole.get("xaxis", {}).get("title")
    if titled:  # by itself it would sit on the edge of a low figure
        whole["xaxis"] = {**whole["xaxis"], "title": {"standoff": 8, **titled}}
    if not report["private"]:
        if whole["showlegend"]:  # of two lines on a telephone, which the words must not cover
            whole["margin"] = {**whole["margin"], "t": max(TWO_LINES, whole["margin"]["t"])}
        whole["annotations"] = [
            _red_words(above=whole["margin"]["t"]),
            *whole.get("annotations", ()),
        ]
    return {"data": traces, "layout": whole}


def _red_words(*, above: int) -> dict[str, object]:
    """The words at the top right, `above` pixels over the plot; a title would give way to a colour bar."""
    return {
        "text": style.RED_WORDS,
        "font": {"size": 11, "color": style.RED, "weight": 600},
        "showarrow": False,
        "xref": "paper",
        "yref": "paper",
        "x": 1,
        "xanchor": "right",
        "xshift": -20,
        "y": 1,
        "yanchor": "top",
        "yshift": above - 2,
    }
