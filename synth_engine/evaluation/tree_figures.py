"""Cards of what the tree of a model says by itself: its depths, and maps of a place. No real data goes in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synth_engine.evaluation import plots, style
from synth_engine.evaluation.cards import MAX_TABLE_ROWS, Card, CardTable
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.tree_cells import Depth, Floats, Map, Square

DECADES = 5
"""Decades of density on the scale, from the fullest square down: what is emptier has the
faintest tone."""
_QUIET = {"gridcolor": style.QUIET, "zeroline": False}
_MAP_HOW = (
    "The darker a square, the more records for each square kilometre; each step of the scale is ten times "
    "as many. A square without colour holds none. Where the tree was not opened as far as the map is cut, "
    "records are spread evenly over a cell. Noise of the release is in every number: a square of a few "
    "records may be noise alone."
)


SIZE = "A cell about"
SIDES = "A cell is told by its sides on the ground, from south to north and from west to east."


def depth_card(
    depths: Sequence[Depth], *, rows: int, sizes: Mapping[int, str] | None = None
) -> Card:
    """Makes the card of how deep the tree goes: shares of records and of cells by depth.

    sizes: for trees of places, how large a cell of a depth is, in words."""
    sizes = sizes or {}
    names = [f"{depth.depth}" for depth in depths]
    cells = sum(depth.cells for depth in depths)
    traces = [
        _bars("records", names, [depth.share for depth in depths], style.SYNTHETIC, hatch=True),
        _bars(
            "cells", names, [depth.cells / cells for depth in depths], style.INK, hatch=False
        ),
    ]
    if sizes:
        traces[0] |= {"customdata": [sizes[depth.depth] for depth in depths]}
        traces[0]["hovertemplate"] = (
            "%{y:.1%} of the records<br>cells of %{customdata}<extra></extra>"
        )
    layout = {
        "xaxis": {
            "type": "category",
            "title": {"text": "depth at which a cell ends"},
            "showgrid": False,
        },
        "yaxis": _QUIET | {"tickformat": ".0%", "title": {"text": "share"}, "automargin": True},
        "barmode": "group",
        "height": 320,
    }
    verdict = _verdict_of_depths(depths, sizes)
    table_rows = [
        (
            str(depth.depth),
            *([sizes[depth.depth]] if sizes else []),
            grouped(depth.cells),
            f"{depth.share:.2%}",
            f"{rows * depth.share:.1f}",
            _records_per_cell(depth, rows),
        )
        for depth in depths
    ]
    head = ("Depth", *([SIZE] if sizes else []), "Cells", "Share", "Records", "Records a cell")
    return Card(
        key="depths",
        title="How deep the tree goes",
        what="The tree was opened where noisy counts were large. For every depth, which share of the "
        "records lies in cells that end there, and which share of the cells they are.",
        how="Records deep in the tree are placed finely, those near its top coarsely. Many cells with few "
        "records at the last depth mean that the tree spent itself on noise; most records at the first "
        "depths, that there were too few of them, or too little budget, to say where they are."
        + (" " + SIDES if sizes else ""),
        table=_table("Cells and records by depth", head, table_rows),
        figure=plots.frame_release(
            traces, layout, words=f"Shares of records and cells by depth. {verdict}"
        ),
        verdict=verdict,
    )


def _verdict_of_depths(depths: Sequence[Depth], sizes: Mapping[int, str]) -> str:
    """How many cells there are, and how deep half of the records lie."""
    half = _half(depths)
    cells = sum(depth.cells for depth in depths)
    cells_text = "1 cell" if cells == 1 else f"{grouped(cells)} cells"
    if len(depths) > 1:
        cell_size = f", in cells of {sizes[half]} or smaller" if sizes else ""
        return (
            f"{cells_text}, to depth {depths[-1].depth}. Half of the records lie at depth {half} or "
            f"deeper{cell_size}."
        )
    if cells <= 1:
        return "One cell, which holds every record."
    of_size = f" of {sizes[half]}" if sizes else ""
    return f"{cells_text}{of_size}, all at depth {half}."


def _records_per_cell(depth: Depth, rows: int) -> str:
    return f"{rows * depth.share / depth.cells:.3g}" if depth.cells else "–"


def _half(depths: Sequence[Depth]) -> int:
    """The deepest depth such that half of the records lie there or deeper."""
    below = 0.0
    for depth in reversed(depths):
        below += depth.share
        if below >= 0.5:
            return depth.depth
    return depths[0].depth


def _bars(
    name: str, x: list[str], y: list[float], colour: str, *, hatch: bool
) -> dict[str, object]:
    pattern = (
        {"pattern": {"shape": "/", "solidity": 0.4, "size": 6, "fillmode": "overlay"}}
        if hatch
        else {}
    )
    return {
        "type": "bar",
        "name": name,
        "x": x,
        "y": y,
        "marker": {"color": colour, **pattern},
        "hovertemplate": "%{y:.1%} of the " + name + "<extra></extra>",
    }


def place_card(
    share_map: Map, *, name: str, key: str, rows: int, chosen: Square | None = None
) -> Card:
    """Makes the map of where records have a place."""
    words = _MapWords(
        key=key,
        title=f"Records by {name}",
        what=f"The box of {name}, cut into squares as finely as chosen, with the records that the model "
        "has in each.",
        none=f"No record lies anywhere in {name}.",
    )
    return _map(share_map, words, rows=rows, chosen=chosen)


def conditional_place_card(
    share_map: Map, *, start: str, name: str, key: str, rows: int
) -> Card:
    """Makes the map of where records have a second place, of those with a first one in a chosen
    square."""
    words = _MapWords(
        key=key,
        title=f"Records by {name}, of those with {start} in the square",
        what=f"Of the records whose {start} lies in the chosen square, the squares of {name}. A cell of "
        "the tree that is larger than the square counts by the part of it that lies inside.",
        none=f"No record has its {start} in this square: choose a darker one.",
    )
    return _map(share_map, words, rows=rows)


@dataclass(frozen=True, kw_only=True)
class _MapWords:
    """The texts of a map. none: where it has no records."""

    key: str
    title: str
    what: str
    none: str


def _map(share_map: Map, words: _MapWords, *, rows: int, chosen: Square | None = None) -> Card:
    records = share_map.shares * rows
    density = records / share_map.areas_km2
    total = float(records.sum())
    verdict = _where(share_map, density) if total >= 0.5 else words.none
    numbers = f"About {number(total)} records. {verdict}" if total >= 0.5 else verdict
    return Card(
        key=words.key,
        title=words.title,
        what=words.what,
        how=_MAP_HOW,
        table=_squares(share_map, records, density),
        figure=plots.frame_release(
            [_heat(share_map, records, density)],
            _ground(share_map, chosen),
            words=f"{words.title}. {numbers}",
        ),
        verdict=numbers,
    )


def _where(share_map: Map, density: Floats) -> str:
    """The fullest square, and how little of the box holds half of the records."""
    north, east = np.unravel_index(int(density.argmax()), density.shape)
    latitude = (share_map.latitudes[north] + share_map.latitudes[north + 1]) / 2
    longitude = (share_map.longitudes[east] + share_map.longitudes[east + 1]) / 2
    # By density, not by records: squares of a latitude-longitude grid shrink towards the poles.
    order = np.argsort(-density, axis=None)
    half = np.searchsorted(
        np.cumsum(share_map.shares.ravel()[order]), share_map.shares.sum() / 2
    )
    area = share_map.areas_km2.ravel()[order][: int(half) + 1].sum() / share_map.areas_km2.sum()
    return f"Fullest around {latitude:.3f}, {longitude:.3f}; half of them lie in {area:.1%} of the box."


def _heat(share_map: Map, records: Floats, density: Floats) -> dict[str, object]:
    """Draws densities on a scale of powers of ten."""
    some = density > 0
    log = np.full(density.shape, np.nan)
    log[some] = np.log10(density[some])
    # The scale ends a few decades below the fullest square: noise leaves many nearly empty
    # ones, which would take up the whole range.
    top = float(np.nanmax(log)) if some.any() else 0.0
    low = max(top - DECADES, float(np.nanmin(log)) if some.any() else -1.0)
    low = min(low, top - 1)
    ticks = list(range(math.ceil(low), math.floor(top) + 1))
    return {
        "type": "heatmap",
        "x": share_map.longitudes.tolist(),
        "y": share_map.latitudes.tolist(),
        "z": [[round(z, 3) if math.isfinite(z) else None for z in row] for row in log.tolist()],
        "text": [[number(n) if n else "" for n in row] for row in records.tolist()],
        "hovertemplate": "%{text} records<br>%{y:.4f}, %{x:.4f}<extra></extra>",
        "hoverongaps": False,
        "colorscale": style.DENSITY,
        "zmin": low,
        "zmax": top,
        "colorbar": {
            "orientation": "h",
            "y": 1.0,
            "yanchor": "bottom",
            "thickness": 10,
            "outlinewidth": 0,
            "tickvals": ticks,
            "ticktext": [_power(tick) for tick in ticks],
            "tickfont": {"size": 11},
            "title": {"text": "records a km²", "side": "top", "font": {"size": 11}},
        },
    }


def _ground(share_map: Map, chosen: Square | None) -> dict[str, object]:
    """A graticule, as wide as it is at the middle of the box; pages draw coasts and towns on it."""
    middle = math.radians((share_map.latitudes[0] + share_map.latitudes[-1]) / 2)
    axis = {
        **_QUIET,
        "automargin": True,
        "constrain": "domain",
        "nticks": 6,
        "tickformat": ".6~g",
        "ticks": "",
    }
    ground: dict[str, object] = {
        "xaxis": {
            **axis,
            "range": [float(share_map.longitudes[0]), float(share_map.longitudes[-1])],
            "title": {"text": "degrees east"},
        },
        "yaxis": {
            **axis,
            "range": [float(share_map.latitudes[0]), float(share_map.latitudes[-1])],
            "title": {"text": "degrees north"},
            "scaleanchor": "x",
            "scaleratio": round(1 / max(0.05, math.cos(middle)), 4),
        },
        "height": 480,
        "margin": {"l": 56, "r": 12, "t": 64, "b": 52},
        "meta": {"map": {}},
    }
    if chosen is not None:
        # A chosen square may be coarser than the map, and then covers several of its squares.
        steps = [
            (side.size - 1) >> chosen.halvings
            for side in (share_map.latitudes, share_map.longitudes)
        ]
        # A square finer than the map has no outline on it.
        if all(steps):
            ground["shapes"] = [_outline(share_map, chosen, steps)]
    return ground


def _outline(share_map: Map, chosen: Square, steps: list[int]) -> dict[str, object]:
    north, east = chosen.north * steps[0], chosen.east * steps[1]
    return {
        "type": "rect",
        "x0": float(share_map.longitudes[east]),
        "x1": float(share_map.longitudes[east + steps[1]]),
        "y0": float(share_map.latitudes[north]),
        "y1": float(share_map.latitudes[north + steps[0]]),
        "line": {"color": style.INK, "width": 2},
    }


def _squares(share_map: Map, records: Floats, density: Floats) -> CardTable:
    """The fullest first; as many as a page bears."""
    order = np.argsort(-records, axis=None)[: int(np.count_nonzero(records))]
    rows = []
    for north, east in zip(
        *np.unravel_index(order[:MAX_TABLE_ROWS], records.shape), strict=True
    ):
        sides = share_map.latitudes[north : north + 2], share_map.longitudes[east : east + 2]
        rows.append(
            (
                " to ".join(f"{value:.4f}" for value in sides[0]),
                " to ".join(f"{value:.4f}" for value in sides[1]),
                number(float(records[north, east])),
                f"{density[north, east]:.3g}",
            )
        )
    head = ("Degrees north", "Degrees east", "Records", "A km²")
    return _table(
        "Squares, the fullest first", head, rows, more=max(0, order.size - MAX_TABLE_ROWS)
    )


def number(value: float) -> str:
    """Records: whole ones from ten on."""
    return grouped(round(value)) if value >= 10 else f"{value:.2g}"


def _power(tick: int) -> str:
    """10 to the tick, as people write it while it is short."""
    if abs(tick) > 4:
        return f"10<sup>{tick}</sup>"
    return grouped(10**tick) if tick >= 0 else f"{10.0**tick:.{-tick}f}"


def _table(
    caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, more: int = 0
) -> CardTable:
    return CardTable(caption, head, (False, *(True for _ in head[1:])), list(rows), more)
