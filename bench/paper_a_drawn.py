"""The figures of bench/paper_a.py, drawn."""

from __future__ import annotations

import html
from typing import Any

import plotly.graph_objects as go
from paper_a_points import CITIES, KILOMETRES
from plotly.subplots import make_subplots

Line = dict[str, Any]
STYLES = {"1/10": "dot", "1": "dash", "10": "solid"}
COLOURS = ("#3b5b92", "#7a9cc6", "#b2442c", "#3f7d4e", "#8a6bb1", "#b58900")


def page(lines: list[Line], truth: Line) -> str:
    parts = [
        emd(lines, truth),
        distances(lines, truth),
        found(lines, "found"),
        found(lines, "from the top"),
        heat(lines, truth),
    ]
    drawn = [
        part.to_html(include_plotlyjs=place == 0, full_html=False)
        for place, part in enumerate(parts)
        if part.data
    ]
    return (
        "<!doctype html><meta charset=utf-8><title>Adaptive histograms</title>"
        + "".join(drawn)
        + commonest(lines)
    )


def _names(lines: list[Line]) -> list[tuple[str, bool]]:
    return list(dict.fromkeys((line["mechanism"], line["support"]) for line in lines))


def _colour(lines: list[Line], line: Line) -> str:
    return COLOURS[_names(lines).index((line["mechanism"], line["support"])) % len(COLOURS)]


def _title(line: Line) -> str:
    return f"{line['mechanism']}{' with support' if line['support'] else ''}, ε = {line['epsilon']}"


def emd(lines: list[Line], truth: Line) -> go.Figure:
    drawn = go.Figure()
    mine = [line for line in lines if line["kind"] == "points"]
    for line in mine:
        style = {"dash": STYLES[line["epsilon"]], "color": _colour(mine, line)}
        drawn.add_scatter(y=line["emd"], name=_title(line), line=style)
    drawn.add_scatter(
        y=truth["resample"], name="resample of the source", line={"color": "black"}
    )
    drawn.update_yaxes(title="earth-mover approximation, cumulated", type="log")
    drawn.update_layout(
        title="Figure 5: by depth", xaxis_title="depth", template="plotly_white"
    )
    return drawn


def distances(lines: list[Line], truth: Line) -> go.Figure:
    drawn = make_subplots(
        rows=1, cols=len(CITIES), shared_yaxes=True, subplot_titles=list(CITIES)
    )
    mine = [line for line in lines if line["kind"] == "points"]
    for place, city in enumerate(CITIES, start=1):
        drawn.add_scatter(
            x=KILOMETRES,
            y=truth["cdf"][city],
            name="source",
            line={"color": "black"},
            row=1,
            col=place,
        )
        for line in mine:
            style = {"dash": STYLES[line["epsilon"]], "color": _colour(mine, line)}
            curve = {
                "x": KILOMETRES,
                "y": line["cdf"][place - 1],
                "name": _title(line),
                "showlegend": place == 1,
            }
            drawn.add_scatter(**curve, line=style, row=1, col=place)
    drawn.update_xaxes(title="kilometres")
    drawn.update_layout(
        title="Figures 6 and 7: commutes of homes within five miles", template="plotly_white"
    )
    return drawn


def found(lines: list[Line], which: str) -> go.Figure:
    drawn = go.Figure()
    mine = [line for line in lines if line["kind"] == "texts"]
    for line in mine:
        style = {"dash": STYLES[line["epsilon"]], "color": _colour(mine, line)}
        drawn.add_scatter(y=line[which], name=_title(line), line=style)
    if mine and which == "found":
        drawn.add_scatter(y=mine[0]["source"], name="source", line={"color": "black"})
    number = 8 if which == "found" else 9
    end = "rarest" if which == "found" else "commonest"
    drawn.update_layout(
        title=f"Figure {number}: records whose text is found, from the {end}",
        template="plotly_white",
    )
    drawn.update_xaxes(
        title="log2 of the frequency" + ("" if which == "found" else ", from the largest down")
    )
    return drawn


def heat(lines: list[Line], truth: Line) -> go.Figure:
    mine = [
        line
        for line in lines
        if line["kind"] == "points" and line["mechanism"] in ("direct-synthesis", "adaptive")
    ]
    grids = [
        ("source", truth["destinations"]),
        *((_title(line), line["destinations"]) for line in mine),
    ]
    drawn = make_subplots(
        rows=-(-len(grids) // 4), cols=4, subplot_titles=[name for name, _ in grids]
    )
    for place, (_, grid) in enumerate(grids):
        z = [[count**0.5 for count in row] for row in grid]
        drawn.add_heatmap(
            z=z, showscale=False, colorscale="Blues", row=place // 4 + 1, col=place % 4 + 1
        )
    drawn.update_layout(
        title="Table 1: where homes within five miles of Providence work (roots of counts)",
        height=1000,
    )
    return drawn


def commonest(lines: list[Line]) -> str:
    rows = [
        f"<tr><td>{html.escape(_title(line))}</td><td>{html.escape(', '.join(f'{text} {count:,}' for text, count in line['commonest']))}</td></tr>"
        for line in lines
        if line["kind"] == "texts"
    ]
    return (
        f"<h2>Figure 10: the commonest texts</h2><table>{''.join(rows)}</table>" if rows else ""
    )
