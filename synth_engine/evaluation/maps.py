"""Maps of commutes as Plotly figures: flows as lines, where records end as a raster, over public outlines.

Axes are degrees, which `layout.meta.map` says: pages draw coasts, borders and names of towns on such a figure
(static/js/base_map.js), from a file of their own; nothing is fetched from a server of maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, floor, log10, radians
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation import colour_ends, style
from synth_engine.evaluation.curves import Unit
from synth_engine.evaluation.plots import Layout, Trace
from synth_engine.evaluation.regions import Flow, Grid, Regions, Ring
from synth_engine.evaluation.style import escape
from synth_engine.evaluation.thousands import grouped

Box = tuple[float, float, float, float]

MAX_LINE_PIXELS = 9.0  # pixels, of the largest flow
LINE_WIDTHS = 8  # different ones: a trace each
BEND = 0.12  # of the length of a line: both ways between two parts are seen
KILOMETRES_A_DEGREE = 111.195
MAX_CIRCLE_PIXELS = 44.0  # pixels across
BAR_ROOM = (
    80  # pixels above a plot: a colour bar with its ticks and its title, and words over it
)
DIFFERENCE = {"tickformat": ".2~%", "nticks": 5}
CIRCLE_POINTS = 72


@dataclass(frozen=True, kw_only=True)
class Centre:
    """The chosen point, in degrees, and the distance around it."""

    name: str
    north: float
    east: float
    within_km: float


@dataclass(frozen=True, kw_only=True)
class BaseMap:
    """What every map of a commute has: public outlines, the box that it shows, the unit of its scale, and the
    chosen point. declared: whether the outlines are of declared parts; others give way to coasts and borders
    where a page has those. names: public points that have names, the most important first. grid: the squares
    that flows are added up by."""

    outlines: Sequence[Ring]
    declared: bool
    box: Box
    unit: Unit
    centre: Centre
    names: Sequence[tuple[str, float, float]] = ()
    grid: Grid | None = None

    def below(
        self, traces: Sequence[Trace], *, grid: bool = False
    ) -> tuple[list[Trace], Layout]:
        """The traces over the outlines, with a scale. grid: with the names of squares along two sides."""
        made = layout(self.box)
        made["meta"] = {
            "map": {"names": [[name, round(n, 4), round(e, 4)] for name, n, e in self.names]}
        }
        squares = []
        if grid and self.grid is not None:
            squares = [_grid_lines(self.grid)]
            _name_squares(made, self.grid)
        return [
            ground(self.outlines) | ({} if self.declared else {"meta": "substitute"}),
            *squares,
            *traces,
            *_distance_circle(self.centre, self.box),
            _scale(self.box, self.unit),
        ], made


@dataclass(frozen=True, kw_only=True)
class FlowGroup:
    """Flows of one colour. label: a number of a flow in words."""

    colour: str
    flows: Sequence[Flow]
    label: Callable[[int], str]


def bar(title: str) -> dict[str, object]:
    """A colour bar above a map, with what its numbers are."""
    return {
        "orientation": "h",
        "y": 1.0,
        "yanchor": "bottom",
        "thickness": 10,
        "outlinewidth": 0,
        "tickfont": {"size": 11},
        "title": {"text": title, "side": "top", "font": {"size": 11}},
    }


def flows(
    groups: Sequence[FlowGroup],
    parts: tuple[Regions, Regions],
    *,
    widest: int,
    base: BaseMap,
) -> tuple[list[Trace], Layout]:
    """Lines from part to part, as wide as the root of what goes there, and circles for what stays. widest:
    the number from which on lines are the widest."""
    traces: list[Trace] = []
    for group in groups:
        between = [flow for flow in group.flows if _is_between(flow, parts)]
        staying = [flow for flow in group.flows if not _is_between(flow, parts)]
        widths = [
            min(LINE_WIDTHS, max(1, round(LINE_WIDTHS * (n / widest) ** 0.5)))
            for _, _, n in between
        ]
        # A Plotly trace has one line width, so widths are rounded to a few levels: a trace for each
        # flow would make a page of hundreds.
        for level in range(1, LINE_WIDTHS + 1):
            lines = [
                flow for flow, width in zip(between, widths, strict=True) if width == level
            ]
            if lines:
                width = MAX_LINE_PIXELS * level / LINE_WIDTHS
                traces.append(_lines(lines, parts, width=width, colour=group.colour))
        traces.append(_circles(staying, parts, group, widest=widest))
        traces.append(_pointers(between, parts, group))
    return base.below(traces, grid=True)


def raster(
    values: NDArray[np.float64],
    squares: Regions,
    *,
    base: BaseMap,
    by_chance: NDArray[np.float64] | None = None,
    scale: style.Scale = style.DENSITY,
    highest: float = 0.0,
) -> tuple[list[Trace], Layout]:
    """Records by square: on a scale by powers of ten, or a difference with white at zero. Empty squares have
    no colour. by_chance: of a difference alone, up to how much chance gives; those squares are grey. highest:
    records at the end of the scale, where two maps are to have the same one."""
    # Squares are in row-major order from the north-west (`regions.grid`); the negation keeps
    # that order.
    difference = by_chance is not None
    norths, easts = -np.unique(-squares.north), np.unique(squares.east)
    table = values.reshape(norths.size, easts.size)
    shown = table if difference else np.log10(np.maximum(table, 1))
    bound = float(np.abs(shown).max()) or 1.0
    if highest > 1 and not difference:
        bound = log10(highest)
    trace: Trace = {
        "type": "heatmap",
        "x": easts.tolist(),
        "y": norths.tolist(),
        # None leaves a square uncoloured: an empty one must differ from one with few records.
        "z": [
            [None if not n else round(float(z), 6) for n, z in zip(*row, strict=True)]
            for row in zip(table, shown, strict=True)
        ],
        "text": [[_hover_text(float(n), difference) for n in row] for row in table],
        "hovertemplate": "%{text}<extra></extra>",
        "hoverongaps": False,
    }
    parts = [trace]
    if by_chance is not None:
        trace["colorbar"] = bar("synthetic minus real, of all records") | DIFFERENCE
        trace |= colour_ends.diverging(colour_ends.SHARE_CHANGE)
        grey = np.abs(table) <= by_chance.reshape(table.shape)
        parts = colour_ends.split(trace, grey.tolist())
    else:
        ticks = list(range(floor(bound) + 1))
        trace["colorbar"] = bar("records in a square") | {
            "tickvals": ticks,
            "ticktext": [grouped(10**tick) for tick in ticks],
        }
        trace |= {"colorscale": scale, "zmin": 0.0, "zmax": bound}
    traces, made = base.below(parts)
    return traces, made | {"showlegend": False}


@dataclass(frozen=True, kw_only=True, eq=False)
class MovedShares:
    """By how much the share of each part is larger than the real one, and up to how much it is by chance;
    shape (parts,)."""

    shares: NDArray[np.float64]
    by_chance: NDArray[np.float64]


def circles(
    values: NDArray[np.float64],
    regions: Regions,
    *,
    moved: MovedShares | None,
    base: BaseMap,
    colour: str = style.SYNTHETIC,
    largest: float = 0.0,
) -> tuple[list[Trace], Layout]:
    """Records by part, for few parts: an area a part. `moved`: the change of its share as colour, grey where
    it is chance. largest: records of the largest circle, where two maps are to have the same one."""
    shown = np.flatnonzero((values > 0) & ~np.isnan(regions.north))
    shown = shown[np.argsort(-values[shown], kind="stable")]  # small ones on top of large ones
    size = 4 + MAX_CIRCLE_PIXELS * np.sqrt(
        values[shown] / max(1.0, largest, float(values.max(initial=0.0)))
    )
    marker: dict[str, object] = {
        "size": size.round(1).tolist(),
        "line": {"color": style.INK, "width": 0.75},
    }
    texts = [
        f"{escape(regions.labels[index])}: {grouped(round(float(values[index])))}"
        for index in shown
    ]
    if moved is None:
        marker |= {"color": colour, "opacity": 0.6}
    else:
        marker |= {"color": moved.shares[shown].tolist(), "showscale": True}
        marker |= colour_ends.of_markers(colour_ends.SHARE_CHANGE)
        marker["colorbar"] = bar("synthetic minus real, of all records") | DIFFERENCE
        texts = [
            f"{escape(regions.labels[index])}<br>{_hover_text(float(moved.shares[index]), True)}"
            for index in shown
        ]
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": regions.east[shown].round(5).tolist(),
        "y": regions.north[shown].round(5).tolist(),
        "marker": marker,
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
    }
    if moved is None:
        return base.below([trace])
    grey = np.abs(moved.shares[shown]) <= moved.by_chance[shown]
    return base.below([_some(trace, ~grey), _in_grey(_some(trace, grey))])


def _some(trace: Trace, chosen: NDArray[np.bool_]) -> Trace:
    """Some of the circles of a trace."""
    marker: Any = trace["marker"]

    def some(values: Any) -> list[Any]:
        return [value for value, wanted in zip(values, chosen, strict=True) if wanted]

    return {
        **trace,
        **{key: some(trace[key]) for key in ("x", "y", "text")},
        "marker": {**marker, "size": some(marker["size"]), "color": some(marker["color"])},
    }


def _in_grey(trace: Trace) -> Trace:
    marker: Any = trace["marker"]
    shape = {key: value for key, value in marker.items() if key in ("size", "line")}
    return {**trace, "marker": {**shape, "color": style.QUIET}, "meta": "chance"}


def ground(outlines: Sequence[Ring]) -> Trace:
    """The public outlines, behind everything."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [
            None if east is None else round(east, 5)
            for _, easts in outlines
            for east in [*easts.tolist(), None]
        ],
        "y": [
            None if north is None else round(north, 5)
            for norths, _ in outlines
            for north in [*norths.tolist(), None]
        ],
        "line": {"color": style.INK, "width": 1},
        "opacity": 0.3,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def layout(box: Box) -> Layout:
    """A ground on which a kilometre is as long to the north as to the east in the middle of the box."""
    south, west, north, east = box
    # cos(latitude), bounded away from 0 for boxes near a pole.
    flat = max(0.05, cos(radians((south + north) / 2)))
    room = 0.04 * max(north - south, (east - west) * flat, 1e-3)
    hidden = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": ""}
    return {
        "xaxis": {
            **hidden,
            "range": [west - room / flat, east + room / flat],
            "constrain": "domain",
        },
        "yaxis": {
            **hidden,
            "range": [south - 2 * room, north + room],
            "scaleanchor": "x",
            "scaleratio": 1 / flat,
            "constrain": "domain",
        },
        "height": 520,
        "margin": {"l": 8, "r": 8, "t": BAR_ROOM, "b": 8},
        "hovermode": "closest",
        "showlegend": False,
    }


def _is_between(flow: Flow, parts: tuple[Regions, Regions]) -> bool:
    """Returns whether it leads from one point to another; a part that lies nowhere has none."""
    return _ends(flow, parts)[0] != _ends(flow, parts)[1]


def _ends(
    flow: Flow, parts: tuple[Regions, Regions]
) -> tuple[tuple[float, float], tuple[float, float]]:
    first, second, _ = flow
    return (parts[0].east[first], parts[0].north[first]), (
        parts[1].east[second],
        parts[1].north[second],
    )


def _lines(
    group: Sequence[Flow], parts: tuple[Regions, Regions], *, width: float, colour: str
) -> Trace:
    xs: list[float | None] = []
    ys: list[float | None] = []
    for flow in group:
        x, y = _arc(flow, parts)
        xs += [*x.round(5).tolist(), None]
        ys += [*y.round(5).tolist(), None]
    line = {"color": colour, "width": round(width, 2)}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": line,
        "opacity": 0.55,
        "hoverinfo": "skip",
    }


def _arc(
    flow: Flow, parts: tuple[Regions, Regions]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bent to the left of who goes along it, seen on the map."""
    (x0, y0), (x1, y1) = _ends(flow, parts)
    flat = max(0.05, cos(radians((y0 + y1) / 2)))
    bent = (
        (x0 + x1) / 2 - 2 * BEND * (y1 - y0) / flat,
        (y0 + y1) / 2 + 2 * BEND * (x1 - x0) * flat,
    )
    t = np.linspace(0, 1, 9)
    return tuple(
        (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c
        for a, b, c in ((x0, bent[0], x1), (y0, bent[1], y1))
    )  # type: ignore[return-value]


def _circles(
    staying: Sequence[Flow], parts: tuple[Regions, Regions], group: FlowGroup, *, widest: int
) -> Trace:
    line = {"color": group.colour, "width": 1.5}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [round(float(_ends(flow, parts)[0][0]), 5) for flow in staying],
        "y": [round(float(_ends(flow, parts)[0][1]), 5) for flow in staying],
        "marker": {
            "symbol": "circle-open",
            "size": [round(5 + 25 * min(1.0, n / widest) ** 0.5, 1) for _, _, n in staying],
            "color": group.colour,
            "line": line,
        },
        "text": [
            f"{escape(parts[0].labels[first])}, stay: {group.label(n)}"
            for first, _, n in staying
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _pointers(
    between: Sequence[Flow], parts: tuple[Regions, Regions], group: FlowGroup
) -> Trace:
    """The middles of lines, which say what they are."""
    arcs = [_arc(flow, parts) for flow in between]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [round(float(x[4]), 5) for x, _ in arcs],
        "y": [round(float(y[4]), 5) for _, y in arcs],
        "marker": {"size": 12, "opacity": 0, "color": group.colour},
        "text": [
            f"{escape(parts[0].labels[first])} → {escape(parts[1].labels[second])}: {group.label(n)}"
            for first, second, n in between
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _grid_lines(grid: Grid) -> Trace:
    """The sides of the squares."""
    norths, easts = grid.norths.round(5).tolist(), grid.easts.round(5).tolist()
    x: list[float | None] = []
    y: list[float | None] = []
    for north in norths:
        x += [easts[0], easts[-1], None]
        y += [north, north, None]
    for east in easts:
        x += [east, east, None]
        y += [norths[0], norths[-1], None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": style.INK, "width": 0.5},
        "opacity": 0.25,
        "hoverinfo": "skip",
    }


def _name_squares(made: Layout, grid: Grid) -> None:
    """Letters from north to south and numbers from west to east, along the sides of a map like those of an
    atlas."""
    for axis, edges, names in (
        ("xaxis", grid.easts, grid.column_names),
        ("yaxis", grid.norths, grid.row_names),
    ):
        made[axis] |= {
            "showticklabels": True,
            "tickvals": ((edges[:-1] + edges[1:]) / 2).round(5).tolist(),
            "ticktext": list(names),
            "tickfont": {"size": 11},
        }
    made["margin"] = {**made["margin"], "l": 28, "b": 28}


def _distance_circle(centre: Centre, box: Box) -> list[Trace]:
    """The chosen point, and what lies within the chosen distance of it; nothing where it lies outside of the
    map."""
    south, west, north, east = box
    if not (south <= centre.north <= north and west <= centre.east <= east):
        return []
    angle = np.linspace(0, 2 * np.pi, CIRCLE_POINTS + 1)
    radius = centre.within_km / KILOMETRES_A_DEGREE
    flat = max(0.05, cos(radians(centre.north)))
    circle: Trace = {
        "type": "scatter",
        "mode": "lines",
        "x": (centre.east + radius * np.cos(angle) / flat).round(5).tolist(),
        "y": (centre.north + radius * np.sin(angle)).round(5).tolist(),
        "line": {"color": style.INK, "width": 1.25, "dash": "4px,3px"},
        "hoverinfo": "skip",
    }
    cross: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [round(centre.east, 5)],
        "y": [round(centre.north, 5)],
        "marker": {
            "symbol": "cross-thin",
            "size": 11,
            "line": {"color": style.INK, "width": 2},
        },
        "text": [escape(centre.name)],
        "hovertemplate": "%{text}, the chosen point<extra></extra>",
    }
    return [circle, cross]


def _scale(box: Box, unit: Unit) -> Trace:
    """A line as long as a round distance, at the bottom left."""
    south, west, north, east = box
    flat = max(0.05, cos(radians((south + north) / 2)))
    quarter = unit.of((east - west) * flat * KILOMETRES_A_DEGREE) / 4
    power = 10.0 ** floor(log10(max(quarter, 1e-3)))
    length = next(times * power for times in (5, 2, 1) if times * power <= max(quarter, 1e-3))
    end = west + length * unit.km / KILOMETRES_A_DEGREE / flat
    foot = south - 0.04 * max(north - south, (east - west) * flat, 1e-3)
    return {
        "type": "scatter",
        "mode": "lines+text",
        "x": [west, (west + end) / 2, end],
        "y": [foot] * 3,
        "text": ["", f"{length:g} {unit.short}", ""],
        "textposition": "top center",
        "line": {"color": style.INK, "width": 2},
        "hoverinfo": "skip",
    }


def _hover_text(value: float, difference: bool) -> str:
    if difference:
        return f"{value:+.3%} of records, synthetic minus real"
    return f"{grouped(round(value))} records"
