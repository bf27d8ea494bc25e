"""The points of a gazetteer on a map, and its first lines as a table."""

from __future__ import annotations

import math

from synth_engine.evaluation import style
from synth_engine.evaluation.cards import Card, CardTable
from synth_engine.evaluation.thousands import grouped
from synth_engine.references import Reference, ReferenceSheet
from synthweb.lib.number_format import shortened

MAX_POINTS = 6_000  # points; beyond it every so many-th
ROOM = 0.06  # of the extent of the points, on each side of a map
SMALLEST_MAP = 0.1  # degrees
MAX_ROWS = 12
MAX_SHOWN_COLUMNS = 30
MAX_CELL_CHARACTERS = 40
_WHAT = "Where the codes of this table lie: longitude to the right, latitude upwards."
_HOW = (
    "A degree of longitude is drawn as long as it is at the middle latitude, so that shapes are true "
    "nearby. If the shape is not the place you know, coordinates are wrong or swapped."
)


def card(reference: Reference) -> Card | None:
    """The map; None where there are no points."""
    if reference.at is None:
        return None
    step = math.ceil(len(reference) / MAX_POINTS)
    shown = reference.at[::step]
    note = f", every {step}th drawn" if step > 1 else ""
    return Card(
        key="points",
        title="Where they lie",
        verdict=f"{grouped(len(reference))} points{note}",
        what=_WHAT,
        how=_HOW,
        table=table(reference),
        figure={"data": [_trace(reference, step)], "layout": _layout(shown)},
    )


def table(reference: Reference) -> CardTable:
    """The first lines."""
    head = ["Code"]
    head += ["Latitude", "Longitude"] if reference.at is not None else []
    head += ["Weight"] if reference.weights is not None else []
    rows = []
    for line in range(min(MAX_ROWS, len(reference))):
        row = [reference.codes[line]]
        row += (
            [f"{degrees:.5f}" for degrees in reference.at[line]]
            if reference.at is not None
            else []
        )
        row += (
            [grouped(reference.weights[line], ",.6g")] if reference.weights is not None else []
        )
        rows.append((*row, *(parts[line] for parts in reference.parents.values())))
    numeric = (False, *[True] * (len(head) - 1), *[False] * len(reference.parents))
    caption = f"The first {len(rows)} of {grouped(len(reference))} codes"
    return CardTable(
        caption, (*head, *(name.capitalize() for name in reference.parents)), numeric, rows
    )


def table_of_records(sheet: ReferenceSheet) -> CardTable:
    """The first records, in the first columns."""
    columns = sheet.names[:MAX_SHOWN_COLUMNS]
    rows = [
        tuple(shortened(sheet.cells[name][line], most=MAX_CELL_CHARACTERS) for name in columns)
        for line in range(min(MAX_ROWS, len(sheet)))
    ]
    caption = f"The first {len(rows)} of {grouped(len(sheet))} records"
    if len(columns) < len(sheet.names):
        caption += f", the first {len(columns)} of {len(sheet.names)} columns"
    return CardTable(caption, columns, tuple(False for _ in columns), rows)


def _trace(reference: Reference, step: int) -> dict[str, object]:
    if reference.at is None:
        raise TypeError("the reference table has no points")
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [longitude for _, longitude in reference.at[::step]],
        "y": [latitude for latitude, _ in reference.at[::step]],
        "text": list(reference.codes[::step]),
        "hovertemplate": "%{text}<br>%{y:.4f}, %{x:.4f}<extra></extra>",
        "marker": {
            "color": style.INK,
            "size": 3 if len(reference) > 300 else 6,
            "opacity": 0.6,
        },
    }


def _layout(points: tuple[tuple[float, float], ...]) -> dict[str, object]:
    middle = sum(latitude for latitude, _ in points) / len(points)
    norths, easts = zip(*points, strict=True)
    axis = {
        "gridcolor": style.QUIET,
        "zeroline": False,
        "linecolor": style.QUIET,
        "ticksuffix": "°",
    }
    return {
        "height": 460,
        "margin": {"l": 56, "r": 12, "t": 8, "b": 36},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": style.INK},
        "showlegend": False,
        "dragmode": False,
        "xaxis": {**axis, "range": _range(easts), "constrain": "domain"},
        "yaxis": {
            **axis,
            "range": _range(norths),
            "constrain": "domain",
            "scaleanchor": "x",
            # Equirectangular, true to scale at the middle latitude; the bound keeps it finite
            # at poles.
            "scaleratio": 1 / max(0.05, math.cos(math.radians(middle))),
        },
        "meta": {"words": f"A map of {len(points)} points of the reference table", "map": {}},
    }


def _range(degrees: tuple[float, ...]) -> list[float]:
    """Both ends, with some room."""
    room = ROOM * max(max(degrees) - min(degrees), SMALLEST_MAP)
    return [min(degrees) - room, max(degrees) + room]
