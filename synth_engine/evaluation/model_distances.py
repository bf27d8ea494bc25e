"""How far apart the two ends of a commute are in the records of a model: from synthetic records alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.evaluation.plots import Figure, Trace, frame_release
from synth_engine.evaluation.style import INK, QUIET, SYNTHETIC
from synth_engine.indexing import places
from synth_engine.indexing.commutes import Commute, commutes, kilometres

POINTS = 120
"""Edges of distance at which a curve is stored, about."""
COVERAGE = 0.9999
"""Part of the records that a curve shows: a few that are farther would leave no room for the others."""
DIGITS = 4


class ModelCurve(TypedDict):
    """within: the share of the records up to each edge; up to the first, which is 0, those whose ends are at
    one place. median_km: kilometres that half of them stay within."""

    ends: list[str]
    edges_km: list[float]
    within: list[float]
    median_km: float


def of_records(domain: Domain, codes: Mapping[str, NDArray[Any]]) -> list[ModelCurve]:
    """A curve for each commute of which records have both ends. codes: of the same records, shape (records,)
    each."""
    curves = (_curve(commute, codes) for commute in commutes(domain))
    return [curve for curve in curves if curve is not None]


def _curve(commute: Commute, codes: Mapping[str, NDArray[Any]]) -> ModelCurve | None:
    cells, counts = commute.tally(codes.__getitem__)
    km = kilometres(commute, cells)
    # Ends that are "other" or missing lie nowhere.
    order = np.argsort(km, kind="stable")[: int((~np.isnan(km)).sum())]
    if not order.size:
        return None
    km, reached = km[order], np.cumsum(counts[order]) / counts[order].sum()
    farthest = float(km[np.searchsorted(reached, COVERAGE)])
    edges = places.round_edges(farthest)
    edges = edges[:: max(1, edges.size // POINTS)]
    within = np.append(0.0, reached)[np.searchsorted(km, edges, side="right")]
    return {
        "ends": list(commute.pair),
        "edges_km": edges.tolist(),
        "within": np.round(within, DIGITS).tolist(),
        "median_km": float(km[np.searchsorted(reached, 0.5)]),
    }


def figure_of(curve: ModelCurve, *, words: str, axis: str, jump: str) -> Figure:
    """The curve as a figure, its median marked. words: what it shows; axis: the title of the distances; jump:
    what is written where the curve begins, empty without a jump there."""
    edges, within = curve["edges_km"], curve["within"]
    line: Trace = {
        "type": "scatter",
        "mode": "lines",
        "x": edges,
        "y": within,
        "line": {"color": SYNTHETIC, "width": 2, "dash": "6px,3px"},
        "hovertemplate": "%{x:.4~g} km: %{y:.1%}<extra></extra>",
    }
    median: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [curve["median_km"]],
        "y": [0.5],
        "marker": {"color": INK, "size": 8},
        "hoverinfo": "skip",
    }
    notes = [
        {
            "x": curve["median_km"],
            "y": 0.5,
            "xanchor": "left",
            "xshift": 8,
            "showarrow": False,
            "text": f"{curve['median_km']:.3g} km",
        }
    ]
    if jump:
        notes.append(
            {
                "x": 0,
                "y": within[0],
                "xanchor": "left",
                "yanchor": "top",
                "xshift": 8,
                "yshift": -4,
                "showarrow": False,
                "text": jump,
            }
        )
    quiet = {"gridcolor": QUIET, "zeroline": False}
    layout = {
        "xaxis": {**quiet, "title": {"text": axis}, "range": [0, edges[-1]], "nticks": 8},
        "yaxis": {
            **quiet,
            "automargin": True,
            "tickformat": ".3~%",
            "title": {"text": "share of records"},
            "range": [0, 1.02],
            "nticks": 6,
        },
        "annotations": notes,
        "showlegend": False,
    }
    return frame_release([line, median], layout, words=words)
