"""The curves of cumulative shares: real solid, synthetic dashed."""

from __future__ import annotations

from typing import Any

from synth_engine.evaluation.apart import miles
from synth_engine.evaluation.style import INK, QUIET, REAL, SYNTHETIC, escaped

Traces = list[dict[str, Any]]
Layout = dict[str, Any]

COVERED = 0.9999  # of the records of either side: the scale ends there, not at the largest distance possible


def arranged(entry: dict[str, Any]) -> tuple[Traces, Layout]:
    """Traces and axes for the distances between two places."""
    edges, within = entry["edges_km"], entry["within"]
    traces = [_curve(side, edges, share) for side, share in within.items()]
    if entry["ks"]:
        traces.append(_gap(entry))
    shown = 1 + max(
        next((i for i, share in enumerate(side) if share >= COVERED), len(side) - 1) for side in within.values()
    )
    first, second = (escaped(name) for name in entry["places"])
    quiet = {"gridcolor": QUIET, "zeroline": False}
    layout = {
        "xaxis": {
            **quiet,
            "title": {"text": f"kilometres between {first} and {second}", "standoff": 8},
            "range": [0, edges[shown]],
            "nticks": 8,
        },
        "yaxis": {
            **quiet,
            "automargin": True,
            "title": {"text": "share of records"},
            "tickformat": ".3~%",
            "range": [0, 1.02],
            "nticks": 6,
        },
        "hovermode": "x unified",
    }
    return traces, layout


def _curve(side: str, edges: list[float], share: list[float]) -> dict[str, Any]:
    lines = {"real": {"color": REAL, "width": 2}, "synthetic": {"color": SYNTHETIC, "width": 2, "dash": "6px,3px"}}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": side,
        "x": edges,
        "y": [0.0, *share],
        "customdata": [f"{miles(edge):.1f} miles" for edge in edges],
        "line": lines[side],
        "hovertemplate": "%{y:.1%} within %{x:g} km (%{customdata})",
    }


def _gap(entry: dict[str, Any]) -> dict[str, Any]:
    place = entry["edges_km"].index(entry["ks_at_km"])
    ends = [entry["within"][side][place - 1] for side in ("real", "synthetic")]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "largest gap",
        "showlegend": False,  # a third name would not fit on a telephone; the words beside the figure say it
        "x": [entry["ks_at_km"]] * 2,
        "y": ends,
        "line": {"color": INK, "width": 2, "dash": "dot"},
        "hoverinfo": "skip",
    }
