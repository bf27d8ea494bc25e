"""The curves of cumulative shares: real solid, synthetic dashed, over a band of implicates where there is one."""

from __future__ import annotations

from dataclasses import dataclass

from synth_engine.codec.places import KILOMETRES_A_MILE
from synth_engine.evaluation.distance_distribution import DistanceEntry
from synth_engine.evaluation.plots import Layout, Trace
from synth_engine.evaluation.style import INK, QUIET, REAL, SYNTHETIC, SYNTHETIC_SOFT, escape

MAX_TITLE_LENGTH = 34  # letters, that a telephone has room for
AXIS_COVERAGE = 0.9999  # of the records of either side: the scale ends there, not at the largest distance possible


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


def arrange(entry: DistanceEntry, *, unit: Unit = KILOMETRES) -> tuple[list[Trace], Layout]:
    """Traces and axes for the distances between two places."""
    edges, within = [unit.of(edge) for edge in entry["edges_km"]], entry["within"]
    traces = _band(entry, edges) if "band" in entry else []
    traces += [_curve(side, entry, edges, share, unit=unit) for side, share in within.items()]
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
    layout = {
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
    return traces, layout


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
