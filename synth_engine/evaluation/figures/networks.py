"""Networks of dependence: the strongest pairs that join all columns, of the real table and of the synthetic
one.

Each is a maximum spanning tree by normalised mutual information (Chow and Liu 1968), so that both sides are
read alike, whatever method made the synthetic table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from synth_engine.evaluation import heatmaps, style
from synth_engine.evaluation.cards import Card, make_card, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection
from synth_engine.evaluation.plots import Figure, Report, Trace, frame
from synth_engine.evaluation.style import escape
from synth_engine.evaluation.wording import Explanation, Json
from synth_engine.inference import decomposable

Side = Literal["real", "synthetic"]
Edge = tuple[str, str]
MAX_DRAWN_COLUMNS = 40
"""Names around a circle; of more columns there is the table alone."""
_LINES = {
    "real": {"color": style.REAL, "width": 5},
    "synthetic": {"color": style.SYNTHETIC, "width": 2, "dash": "6px,3px"},
}


class Networks(ComparisonFigure):
    """One drawing with both networks, and the table of their edges."""

    position = 22
    section = FigureSection(
        "networks", "Networks of dependence", 51, (("networks", "Networks"),)
    )
    explanations = {
        "networks": Explanation(
            title="Network of the real table and of the synthetic one",
            what="For each table the strongest pairs of columns that join all columns without a circle, by "
            "normalised mutual information.",
            how="Solid slate is an edge of the real table, dashed orange one of the synthetic table; where "
            "both have it, they lie on each other. An edge of one table alone means that its columns are "
            "tied to each other through others there. Edges of nearly equal strength may change places by "
            "chance: look at both numbers in the table.",
        )
    }

    def cards(self, report: Report) -> list[Card]:
        # Two columns have one pair, which other figures show.
        if len(report["pairs"]) < 2:
            return []
        edges = {side: network(report, side) for side in ("real", "synthetic")}
        reading = report["reading"]["networks"]
        rows = [_row(pair, edges) for pair in _joined(report, edges)]
        head = ("Columns", "Real", "Synthetic", "Edge of")
        table = make_table("Edges, strongest first", head, rows, words=True)
        common = len(set(edges["real"]) & set(edges["synthetic"]))
        line = f"{common} of {len(edges['real'])} edges of the real table are in both networks"
        names = [
            name for name in report["columns"] if any(name in edge for edge in edges["real"])
        ]
        picture = (
            network_drawing(report, names, edges) if len(names) <= MAX_DRAWN_COLUMNS else None
        )
        return [make_card(report, "networks", reading, table, line, figure=picture)]


def network(report: Report, side: Side) -> list[Edge]:
    """The edges of one table, strongest first."""
    strengths: dict[tuple[str, ...], float] = {
        (pair["attributes"][0], pair["attributes"][1]): pair[f"nmi_{side}"]
        for pair in report["pairs"]
    }
    names = list(dict.fromkeys(name for edge in strengths for name in edge))
    return [(edge[0], edge[1]) for edge in decomposable.spanning_tree(strengths, names)]


def network_drawing(
    report: Report, names: Sequence[str], edges: dict[str, list[Edge]]
) -> Figure:
    """Columns around a circle, in the order of the description, with the edges of both tables."""
    angles = {name: 2 * math.pi * place / len(names) for place, name in enumerate(names)}
    at = {name: (math.sin(angle), math.cos(angle)) for name, angle in angles.items()}
    traces: list[Trace] = []
    for side, line in _LINES.items():
        ends = [(at[one], at[other]) for one, other in edges[side] if {one, other} <= at.keys()]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": side,
                "x": [x for (left, _), (right, _) in ends for x in (left, right, None)],
                "y": [y for (_, low), (_, high) in ends for y in (low, high, None)],
                "line": line,
                "hoverinfo": "skip",
            }
        )
    traces.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "name": "columns",
            "x": [at[name][0] for name in names],
            "y": [at[name][1] for name in names],
            "text": [escape(name) for name in names],
            "textposition": [
                f"{'top' if at[name][1] > 0 else 'bottom'} center" for name in names
            ],
            "marker": {"size": 9, "color": style.INK},
            "hoverinfo": "text",
            "showlegend": False,
        }
    )
    axis = {"visible": False, "range": [-1.5, 1.5], "fixedrange": True}
    layout = {"xaxis": axis, "yaxis": axis, "height": 460}
    words = (
        f"Network of dependence of {len(names)} columns: edges of the real table solid, those of the "
        "synthetic table dashed."
    )
    return frame(report, traces, layout, words=words)


def _joined(report: Report, edges: dict[str, list[Edge]]) -> list[Json]:
    """The pairs that are an edge of one of the networks."""
    wanted = {edge for several in edges.values() for edge in several}
    pairs = [pair for pair in report["pairs"] if tuple(pair["attributes"]) in wanted]
    return sorted(pairs, key=lambda pair: -max(pair["nmi_real"], pair["nmi_synthetic"]))


def _row(pair: Json, edges: dict[str, list[Edge]]) -> tuple[str, ...]:
    of = [side for side in _LINES if tuple(pair["attributes"]) in edges[side]]
    where = "both" if len(of) == 2 else f"{of[0]} alone"
    return (
        heatmaps.names(pair),
        f"{pair['nmi_real']:.3f}",
        f"{pair['nmi_synthetic']:.3f}",
        where,
    )


FIGURE = Networks()
