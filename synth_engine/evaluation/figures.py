"""Plotly figures of a report, as plain dictionaries (`plotly.graph_objects.Figure(figure)` accepts each).

Colours mean the same everywhere: real is slate blue and solid, synthetic orange and hatched or dashed, a difference
runs blue–white–red with white at zero. Backgrounds are transparent, so that a figure stands on a light or a dark page;
pages may exchange the light colours of `style.TONES` for the dark ones. `layout.meta.words` says in
words what the figure shows, for those who cannot see it.
"""

from __future__ import annotations

from typing import Any, Literal

from synth_engine.evaluation import bars, curves, style, wording
from synth_engine.evaluation.report import Report
from synth_engine.evaluation.style import escape

Figure = dict[str, Any]
Which = Literal["real", "synthetic", "difference"]

TWO_LINES = 76  # pixels above a plot: a legend of two lines, and the words over it
MAX_NAMED_COLUMNS = 40  # columns: beyond it a map names some of its columns only


def histogram(report: Report, attribute: str) -> Figure:
    """Real beside synthetic shares of one column over its public codes. Numbers in (nearly) equal bins stand on their
    own scale; unequal bins and other ordered values are evenly spaced and named; unordered categories are horizontal
    bars, the most frequent real one on top."""
    return _histogram(
        report, next(a for a in report["attributes"] if a["name"] == attribute), of="records"
    )


def group_sizes(report: Report) -> Figure:
    """The same of persons by how many rows they have."""
    figure = _histogram(report, report["group_sizes"], of="persons")
    figure["layout"]["yaxis"]["title"] = {"text": "share of persons"}
    return figure


def _histogram(report: Report, entry: dict[str, Any], *, of: str) -> Figure:
    traces, layout = bars.arrange(entry)
    gap = entry["largest_gap"]
    words = (
        f"Shares of {of} by {entry['name']}, real beside synthetic. {entry['verdict']['words']} Largest gap at "
        f"{gap['label']}: {gap['real']:.1%} real, {gap['synthetic']:.1%} synthetic."
    )
    return frame(report, traces, layout, words=words)


def nmi_heatmap(report: Report, which: Which) -> Figure:
    """Normalised mutual information of every pair. The maps of both sides share one scale, from 0 to the largest value
    on either; the difference is synthetic minus real, its scale symmetric about zero."""
    pairs, field = report["pairs"], f"nmi_{which}"
    if which == "difference":
        bound = max((abs(pair[field]) for pair in pairs), default=0.0) or 1.0
        scale = {"colorscale": style.DIVERGING, "zmin": -bound, "zmax": bound, "zmid": 0.0}
        words = "Difference of normalised mutual information, synthetic minus real, for every pair of columns."
    else:
        bound = (
            max((max(pair["nmi_real"], pair["nmi_synthetic"]) for pair in pairs), default=0.0)
            or 1.0
        )
        scale = {"colorscale": style.MAGNITUDE, "zmin": 0.0, "zmax": bound}
        words = f"Normalised mutual information of every pair of columns in the {which} table."
    return _pair_map(report, field, scale, words=words)


def tvd_heatmap(report: Report) -> Figure:
    """Total variation distance of every pair, from white (0) to red (the largest)."""
    bound = max((pair["tvd"] for pair in report["pairs"]), default=0.0) or 1.0
    scale = {"colorscale": style.DISTANCE, "zmin": 0.0, "zmax": bound}
    words = "Total variation distance between the real and the synthetic table of every pair of columns."
    return _pair_map(report, "tvd", scale, words=words)


def place_distances(report: Report, number: int) -> Figure:
    """Cumulative shares of records by the distance of two places, real solid and synthetic dashed, and where the gap
    between them is largest."""
    entry = report["place_distances"][number]
    traces, layout = curves.arrange(entry)
    first, second = entry["places"]
    words = f"Share of records by the distance between {first} and {second}. {entry['verdict']['words']}"
    if entry["ks"] is not None:
        median = entry["median_km"]
        words += (
            f" Half of the records are within {median['real']:g} km in the real table and within "
            f"{median['synthetic']:g} km in the synthetic one. The gap is largest at {entry['ks_at_km']:.3g} km."
        )
    return frame(report, traces, layout, words=words)


def _pair_map(report: Report, field: str, scale: dict[str, Any], *, words: str) -> Figure:
    names, pairs = report["columns"], report["pairs"]
    by_pair = {frozenset(pair["attributes"]): pair for pair in pairs}
    cells = [[by_pair.get(frozenset((a, b))) for b in names] for a in names]
    ends = sorted(pairs, key=lambda pair: -abs(pair[field]))[:3]
    words += (
        " Strongest: "
        + "; ".join(f"{' and '.join(p['attributes'])} {p[field]:+.2f}" for p in ends)
        + "."
    )
    trace = {
        "type": "heatmap",
        "x": [escape(name) for name in names],
        "y": [escape(name) for name in names],
        "z": [[cell[field] if cell else None for cell in row] for row in cells],
        "text": [[_hover_text(cell, field) for cell in row] for row in cells],
        "hovertemplate": "%{text}<extra></extra>",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
        "colorbar": {
            "orientation": "h",
            "y": 1.0,
            "yanchor": "bottom",
            "thickness": 10,
            "len": 1.0,
            "outlinewidth": 0,
            "nticks": 6,
            "tickfont": {"size": 11},
        },
        **scale,
    }
    axis = {
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 11},
        "automargin": True,
    }
    every = {"dtick": 1} if len(names) <= MAX_NAMED_COLUMNS else {}
    layout = {
        "xaxis": {**axis, **every, "type": "category", "tickangle": -90},
        "yaxis": {**axis, **every, "type": "category", "autorange": "reversed"},
        "height": min(900, 220 + 18 * len(names)),
        "margin": {"l": 20, "r": 12, "t": 64, "b": 20},
    }
    return frame(report, [trace], layout, words=words)


def _hover_text(pair: dict[str, Any] | None, field: str) -> str:
    """What a square says when pointed at."""
    if pair is None:
        return ""
    head = " × ".join(escape(name) for name in pair["attributes"])
    if field == "tvd":
        return f"{head}<br>distance {pair['tvd']:.3f}, by chance {pair['tvd_by_chance']:.3f}"
    return (
        f"{head}<br>real {pair['nmi_real']:.3f}<br>synthetic {pair['nmi_synthetic']:.3f}"
        f"<br>difference {pair['nmi_difference']:+.3f}"
    )


def frame_release(
    traces: list[dict[str, Any]], layout: dict[str, Any], *, words: str
) -> Figure:
    """A figure of a release alone, without real data."""
    return frame({"private": True, "notice": wording.PRIVATE}, traces, layout, words=words)


def frame(
    report: Report, traces: list[dict[str, Any]], layout: dict[str, Any], *, words: str
) -> Figure:
    """What all figures share. One made on real data says so in itself, so that a saved picture does too."""
    base: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": style.FONT,
        "height": 400,
        "margin": {"l": 48, "r": 16, "t": 56, "b": 52},
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
    whole = {**base, **layout}
    titled = whole.get("xaxis", {}).get("title")
    if titled:  # by itself it would sit on the edge of a low figure
        whole["xaxis"] = {**whole["xaxis"], "title": {"standoff": 8, **titled}}
    if not report["private"]:
        if whole["showlegend"]:  # of two lines on a telephone, which the words must not cover
            whole["margin"] = {**whole["margin"], "t": max(TWO_LINES, whole["margin"]["t"])}
        whole["annotations"] = [_red_words(above=whole["margin"]["t"])]
    return {"data": traces, "layout": whole}


def _red_words(*, above: int) -> dict[str, Any]:
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
