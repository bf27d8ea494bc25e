"""The curves of cumulative shares: real solid, synthetic dashed, over a band of implicates where there is
one; below them, on a strip of its own, their difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np

from synth_engine.evaluation.distance_distribution import DistanceEntry, median
from synth_engine.evaluation.plots import Layout, Trace
from synth_engine.evaluation.style import (
    FEWER,
    INK,
    MORE,
    QUIET,
    REAL,
    SYNTHETIC,
    SYNTHETIC_SOFT,
    escape,
)
from synth_engine.indexing.places import KILOMETRES_A_MILE

MAX_TITLE_LENGTH = 34  # letters, that a telephone has room for
STRIP, STRIP_GAP = 0.2, 0.14  # of the height of a plot: the strip, and the room above it
HEIGHT_WITH_STRIP = 480
SMALLEST_STRIP = 0.1  # points of a hundred
# Of the records of either side: the scale ends there, not at the largest distance possible
AXIS_COVERAGE = 0.9999


@dataclass(frozen=True)
class Unit:
    """A unit of distances on a page; `km`: its length in kilometres."""

    short: str
    name: str
    km: float

    def of(self, kilometres: float) -> float:
        return kilometres / self.km


KILOMETRES = Unit("km", "kilometres", 1.0)
MILES = Unit("miles", "miles", KILOMETRES_A_MILE)


def arrange(
    entry: DistanceEntry,
    *,
    unit: Unit = KILOMETRES,
    staying: Mapping[str, float] | None = None,
) -> tuple[list[Trace], Layout]:
    """Traces and axes for the distances between two places. staying: by side the share of records whose two
    places are one, if it is known: it is written where the curve jumps."""
    edges, within = [unit.of(edge) for edge in entry["edges_km"]], entry["within"]
    traces = _band(entry, edges) if "band" in entry else []
    traces += [_curve(side, entry, edges, share, unit=unit) for side, share in within.items()]
    traces += [
        _median(side, entry, share, unit) for side, share in within.items() if share[-1] > 0
    ]
    if entry["ks"] and entry["ks_at_km"] is not None:
        traces.append(_gap(entry, entry["ks_at_km"], unit))
    # The last edge is the largest distance possible in the public box: up to it the axis would
    # be mostly empty.
    shown = 1 + max(
        next((i for i, share in enumerate(side) if share >= AXIS_COVERAGE), len(side) - 1)
        for side in within.values()
    )
    first, second = (escape(name) for name in entry["places"])
    title = f"{unit.name} between {first} and {second}"
    quiet = {"gridcolor": QUIET, "zeroline": False}
    layout: dict[str, Any] = {
        "xaxis": {
            **quiet,
            "title": {
                "text": title if len(title) <= MAX_TITLE_LENGTH else unit.name,
                "standoff": 8,
            },
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
    if "real" in within:
        traces += _difference(entry, edges)
        _add_strip(layout, _ends_of_strip(entry), chance=entry["ks_by_chance"])
    if staying and round(100 * max(staying.values())):
        layout.setdefault("annotations", []).append(_stay(staying))
    return traces, layout


def _stay(staying: Mapping[str, float]) -> Layout:
    """Words at the jump of the curve at no distance: those of the synthetic side, which every view has."""
    share = staying.get("synthetic", max(staying.values()))
    return {
        "xref": "x",
        "yref": "y",
        "x": 0,
        "y": share,
        "xanchor": "left",
        "yanchor": "top",
        "xshift": 6,
        "showarrow": False,
        "text": f"{round(100 * share)} of 100 start and end at one place",
        "font": {"size": 11},
    }


def _median(side: str, entry: DistanceEntry, share: list[float], unit: Unit) -> Trace:
    """A mark on the curve where half of the records are."""
    at = median(np.array(entry["edges_km"]), np.array(share))
    colour = REAL if side == "real" else SYNTHETIC
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"median, {side}",
        "showlegend": False,
        "x": [unit.of(at)],
        "y": [0.5],
        "marker": {
            "symbol": "line-ns-open",
            "color": colour,
            "size": 14,
            "line": {"width": 2},
        },
        "hovertemplate": f"half within %{{x:.4~g}} {unit.short}<extra></extra>",
    }


def _difference(entry: DistanceEntry, edges: list[float]) -> list[Trace]:
    """Synthetic minus real, in points of a hundred: red above zero, blue below."""
    points = [100 * each for each in _moved(entry)]
    sides = (
        (MORE, [max(0.0, each) for each in points]),
        (FEWER, [min(0.0, each) for each in points]),
    )
    shared = {
        "type": "scatter",
        "mode": "lines",
        "x": edges,
        "yaxis": "y2",
        "showlegend": False,
    }
    fills: list[Trace] = [
        {
            **shared,
            "y": [round(value, 4) for value in values],
            "line": {"width": 0},
            "fill": "tozeroy",
            "fillcolor": colour,
            "hoverinfo": "skip",
        }
        for colour, values in sides
    ]
    line: Trace = {
        **shared,
        "name": "synthetic minus real",
        "y": [round(value, 4) for value in points],
        "line": {"color": INK, "width": 1},
        "hovertemplate": "%{y:+.2f} points",
    }
    return [*fills, line]


def _moved(entry: DistanceEntry) -> list[float]:
    within = entry["within"]
    return [0.0, *(b - a for a, b in zip(within["real"], within["synthetic"], strict=True))]


def _ends_of_strip(entry: DistanceEntry) -> float:
    """Points of a hundred at both ends of the strip: a round number that holds the largest difference."""
    largest = 100 * max(abs(each) for each in _moved(entry))
    power = 10.0 ** floor(log10(max(largest, SMALLEST_STRIP)))
    return next(times * power for times in (1, 2, 3, 5, 10) if times * power >= largest)


def _add_strip(layout: Layout, end: float, *, chance: float | None) -> None:
    """The strip is a second axis below the first; its scale stands over it in words. chance: the largest gap
    that chance alone gives on average: a grey band."""
    layout["yaxis"] |= {"domain": [STRIP + STRIP_GAP, 1.0]}
    layout["xaxis"] |= {"anchor": "y2"}
    layout["yaxis2"] = {
        "gridcolor": QUIET,
        "zeroline": True,
        "zerolinecolor": INK,
        "zerolinewidth": 1,
        "domain": [0.0, STRIP],
        "range": [-end, end],
        "tickvals": [-end, 0, end],
        "ticktext": [f"−{end:g}", "0", f"+{end:g}"],
        "automargin": True,
    }
    layout["annotations"] = [
        {
            "xref": "paper",
            "yref": "paper",
            "x": 0,
            "y": STRIP + STRIP_GAP / 8,
            "xanchor": "left",
            "yanchor": "bottom",
            "showarrow": False,
            "text": f"synthetic minus real, ±{end:g} points of 100",
            "font": {"size": 11},
        }
    ]
    layout["height"] = HEIGHT_WITH_STRIP
    if chance is not None:
        band = min(end, 100 * chance)
        layout["shapes"] = [
            {
                "type": "rect",
                "xref": "paper",
                "yref": "y2",
                "x0": 0,
                "x1": 1,
                "y0": -band,
                "y1": band,
                "fillcolor": QUIET,
                "line": {"width": 0},
                "layer": "below",
            }
        ]


def _band(entry: DistanceEntry, edges: list[float]) -> list[Trace]:
    """Two lines that are not seen, and what is between them."""
    low, high = entry["band"]
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": edges,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    filled = {"fill": "tonexty", "fillcolor": SYNTHETIC_SOFT, "name": "implicates"}
    return [
        {**line, "y": [0.0, *low], "showlegend": False},
        {**line, "y": [0.0, *high], **filled},
    ]


def _curve(
    side: str, entry: DistanceEntry, edges: list[float], share: list[float], *, unit: Unit
) -> Trace:
    lines = {
        "real": {"color": REAL, "width": 2},
        "synthetic": {"color": SYNTHETIC, "width": 2, "dash": "6px,3px"},
    }
    other = KILOMETRES if unit is MILES else MILES
    return {
        "type": "scatter",
        "mode": "lines",
        "name": side,
        "x": edges,
        "y": [0.0, *share],
        "customdata": [f"{other.of(edge):.1f} {other.short}" for edge in entry["edges_km"]],
        "line": lines[side],
        "hovertemplate": f"%{{y:.1%}} within %{{x:.4~g}} {unit.short} (%{{customdata}})",
    }


def _gap(entry: DistanceEntry, at_km: float, unit: Unit) -> Trace:
    # Entries from binned tallies have no ends of their own: the gap is then at an edge, whose
    # shares are those of the bin below.
    ends = entry.get("ks_ends")
    if ends is None:
        index = entry["edges_km"].index(at_km)
        ends = [entry["within"][side][index - 1] for side in ("real", "synthetic")]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "largest gap",
        "showlegend": False,  # a third name would not fit on a telephone; the words beside the figure say it
        "x": [unit.of(at_km)] * 2,
        "y": ends,
        "line": {"color": INK, "width": 2, "dash": "dot"},
        "hoverinfo": "skip",
    }
