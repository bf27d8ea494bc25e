"""Cards of maps of commutes: the largest flows, where records end, and origins by destinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation import colour_ends, commute_cards, maps, regions, style
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.commute_view import CommuteView, FullTable
from synth_engine.evaluation.commutes import Flows
from synth_engine.evaluation.plots import Layout, Trace
from synth_engine.evaluation.style import escape, shorten
from synth_engine.evaluation.thousands import grouped

MAX_FLOWS = 150  # lines and circles of a map of flows
MAX_CIRCLES = 400  # destinations of a map of circles; with more it has squares
MAX_MATRIX_PARTS = 40  # parts of an end that a matrix shows: the largest ones

Counts = NDArray[np.int64]
CardAndTable = tuple[Card, FullTable]
Side = Literal["real", "synthetic", "difference"]

_COLOURS = {"real": style.REAL, "synthetic": style.SYNTHETIC}
_SCALES = {"real": style.REAL_DENSITY, "synthetic": style.DENSITY}


@dataclass(frozen=True, kw_only=True)
class FigureGroup:
    """Figures of which a page shows one at a time, with what each is of; or one figure alone."""

    figures: tuple[CardAndTable, ...]
    sides: tuple[Side, ...] = ()

    @property
    def key(self) -> str:
        return self.figures[0][0].key

    @property
    def cards(self) -> list[Card]:
        return [card for card, _ in self.figures]


def make_groups(view: CommuteView) -> list[FigureGroup]:
    """Makes all figures of commutes with their whole tables, in the order of reading."""
    whole: list[Callable[[CommuteView], CardAndTable]] = [
        commute_cards.all_records,
        commute_cards.near_records,
    ]
    single = [make(view) for make in whole]
    single += [commute_cards.averages(view, short=short) for short in (False, True)]
    if not view.private:
        single.append(commute_cards.errors(view))
    maps_of: tuple[Callable[[Side], CardAndTable], ...] = (
        partial(flows, view),
        partial(density, view, near=False),
        partial(density, view, near=True),
    )
    sides: tuple[Side, ...] = (
        ("synthetic",) if view.private else ("real", "synthetic", "difference")
    )
    return [
        *(FigureGroup(figures=(figure,)) for figure in single),
        *(
            FigureGroup(figures=tuple(make(side) for side in sides), sides=sides)
            for make in maps_of
        ),
        FigureGroup(figures=(matrix(view),)),
    ]


def make_all(view: CommuteView) -> list[CardAndTable]:
    """Makes all figures without their groups."""
    return [figure for group in make_groups(view) for figure in group.figures]


def flows(view: CommuteView, side: Side) -> CardAndTable:
    """The largest flows of one side, or the largest differences of flows."""
    tables = {
        other: regions.matrix(side_flows, view.divided)
        for other, side_flows in view.sides.items()
    }
    if side == "difference":
        return _changed_flows(view, tables)
    # One scale for both sides: widths of two maps are compared by eye.
    widest = max(1, *(int(table.max(initial=0)) for table in tables.values()))
    largest = regions.largest(tables[side], limit=MAX_FLOWS)
    traces, layout = maps.flows(
        [maps.FlowGroup(colour=_COLOURS[side], flows=largest, label=grouped)],
        view.divided,
        widest=widest,
        base=view.base_map,
    )
    total = int(tables[side].sum())
    share = sum(n for _, _, n in largest) / max(1, total)
    summary = (
        f"The {grouped(len(largest))} largest flows hold "
        f"{share:.0%} of {grouped(total)} {side} records."
    )
    figure = view.figure(
        traces,
        layout,
        words=f"Map of the largest flows. {summary} {_name_flows(view, largest[:3], grouped)}",
    )
    title = "" if view.private else f"From where to where, {side}"
    sheet = _pairs_sheet(
        view, {side: tables[side]}, key=f"commutes-flows-{side}", caption="Flows, largest first"
    )
    return view.card(sheet, "flows", summary, figure=figure, title=title), sheet


def _changed_flows(view: CommuteView, tables: Mapping[str, Counts]) -> CardAndTable:
    """The flows whose shares of all records differ most."""
    moved = _shares(tables["synthetic"]) - _shares(tables["real"])
    millionths = np.rint(moved * 1e6).astype(np.int64)
    largest = regions.largest(np.abs(millionths), limit=MAX_FLOWS)
    is_chance = np.abs(moved) <= _chance(tables)
    within, more, fewer = (
        [flow for flow in largest if chosen[flow[0], flow[1]]]
        for chosen in (
            is_chance,
            ~is_chance & (millionths > 0),
            ~is_chance & (millionths < 0),
        )
    )
    traces, layout = maps.flows(
        [
            maps.FlowGroup(
                colour=style.QUIET,
                flows=within,
                label=lambda n: f"±{n / 1e6:.3%} of records, no more than chance",
            ),
            maps.FlowGroup(
                colour=style.FEWER, flows=fewer, label=lambda n: f"{-n / 1e6:+.3%} of records"
            ),
            maps.FlowGroup(
                colour=style.MORE, flows=more, label=lambda n: f"{n / 1e6:+.3%} of records"
            ),
        ],
        view.divided,
        widest=round(1e6 * colour_ends.SHARE_CHANGE),
        base=view.base_map,
    )
    whole = float(np.abs(moved).sum()) / 2
    summary = (
        f"{whole:.1%} of the records would have to change for both to agree. Red flows are larger in the "
        f"synthetic table ({grouped(len(more))} shown), blue ones smaller ({grouped(len(fewer))}), grey "
        f"ones no more than chance ({grouped(len(within))})."
    )
    figure = view.figure(traces, layout, words=f"Map of the flows that differ most. {summary}")
    sheet = _pairs_sheet(
        view, tables, key="commutes-flows-difference", caption="Flows, largest first"
    )
    title = "From where to where, difference"
    return view.card(sheet, "flows-difference", summary, figure=figure, title=title), sheet


def _chance(tables: Mapping[str, Counts]) -> NDArray[np.float64]:
    """Up to how much the shares of two samples of the same people differ in each part, of the shape of the
    tables."""
    totals = [max(1, int(table.sum())) for table in tables.values()]
    pooled = np.sum(list(tables.values()), axis=0) / sum(totals)
    errors: NDArray[np.float64] = np.sqrt(
        pooled * (1 - pooled) * sum(1 / total for total in totals)
    )
    return colour_ends.SHARE_DEVIATIONS * errors


def _shares(table: Counts) -> NDArray[np.float64]:
    return table / max(1, int(table.sum()))


def _name_flows(
    view: CommuteView, largest: list[regions.Flow], label: Callable[[int], str]
) -> str:
    first, second = view.divided
    texts = [f"{first.labels[a]} to {second.labels[b]}, {label(n)}" for a, b, n in largest]
    return f"The largest: {'; '.join(texts)}." if texts else ""


def density(view: CommuteView, side: Side, *, near: bool) -> CardAndTable:
    """Makes the map of where records of one side end, or of the difference: of all, or of those who start
    near the point."""
    kind = "density-near" if near else "density"
    sides = view.nearby if near else view.sides
    end = view.commute.destination
    few = end.named and end.size <= MAX_CIRCLES
    squares = (
        regions.by_value(end)
        if few
        else regions.grid(end, view.box, squares=regions.RASTER_SQUARES)
    )
    counts = {other: _count_by_square(flows, squares) for other, flows in sides.items()}
    traces, layout = _density_traces(view, counts, squares, side, few=few)
    shown: Mapping[str, Counts] = counts if side == "difference" else {side: counts[side]}
    occupied = ", ".join(
        f"{grouped(int((table > 0).sum()))} ({other})" for other, table in shown.items()
    )
    totals = ", ".join(f"{grouped(int(table.sum()))} {other}" for other, table in shown.items())
    summary = (
        f"{totals} records. {'Destinations' if few else 'Squares'} that have any: {occupied}."
    )
    figure = view.figure(traces, layout, words=f"Map of where records end. {summary}")
    title = (
        f"Where those go who start within {view.around}"
        if near
        else ""
        if view.private
        else "Where records end"
    )
    title += "" if view.private else f", {side}"
    key = f"commutes-{kind}" + ("" if view.private or side == "difference" else f"-{side}")
    sheet = _squares_sheet(shown, squares, key=key)
    text = f"{kind}-few" if few else kind
    text += "-difference" if side == "difference" else ""
    return view.card(sheet, text, summary, figure=figure, title=title), sheet


def _density_traces(
    view: CommuteView,
    counts: Mapping[str, Counts],
    squares: regions.Regions,
    side: Side,
    *,
    few: bool,
) -> tuple[list[Trace], Layout]:
    # One scale for all maps of a group: they are compared by eye.
    largest = float(max(int(table.max(initial=0)) for table in counts.values()))
    if side == "difference":
        moved = _shares(counts["synthetic"]) - _shares(counts["real"])
        chance = _chance(counts)
        if not few:
            return maps.raster(moved, squares, by_chance=chance, base=view.base_map)
        # A circle must be seen where either side has records, or what was lost would not be on
        # the map.
        values = np.maximum(counts["synthetic"], counts["real"]).astype(np.float64)
        change = maps.MovedShares(shares=moved, by_chance=chance)
        return maps.circles(values, squares, moved=change, base=view.base_map)
    values = counts[side].astype(np.float64)
    if few:
        return maps.circles(
            values,
            squares,
            moved=None,
            base=view.base_map,
            colour=_COLOURS[side],
            largest=largest,
        )
    return maps.raster(
        values,
        squares,
        base=view.base_map,
        scale=_SCALES[side],
        highest=largest,
    )


def _count_by_square(flows: Flows, squares: regions.Regions) -> Counts:
    square = squares.of(flows.destinations)
    inside = square >= 0
    counts = np.bincount(
        square[inside], weights=flows.counts[inside], minlength=len(squares.labels)
    )
    return counts.astype(np.int64)


def _squares_sheet(
    counts: Mapping[str, Counts], squares: regions.Regions, *, key: str
) -> FullTable:
    whole = np.sum(list(counts.values()), axis=0)
    order = [int(index) for index in np.argsort(-whole, kind="stable") if whole[index]]
    rows = [
        (
            squares.labels[index],
            f"{squares.north[index]:.4f}, {squares.east[index]:.4f}",
            *(grouped(int(table[index])) for table in counts.values()),
        )
        for index in order
    ]
    head = (
        "Destination or square",
        "Its middle",
        *(f"{side.capitalize()} records" for side in counts),
    )
    return FullTable(key=key, caption="Where records end", head=head, rows=rows, names=2)


def matrix(view: CommuteView) -> CardAndTable:
    """Origins by destinations; beside real records, the difference of shares."""
    tables = {side: regions.matrix(flows, view.divided) for side, flows in view.sides.items()}
    whole = np.sum(list(tables.values()), axis=0)
    # Axes are chosen by both sides together: parts that only one of them has are shown.
    axes = [_largest_parts(whole.sum(axis=1 - axis)) for axis in (0, 1)]
    shares = {side: _shares(table) for side, table in tables.items()}
    values = (
        tables["synthetic"].astype(np.float64)
        if view.private
        else shares["synthetic"] - shares["real"]
    )
    traces = [_heat(view, values[np.ix_(*axes)], axes)]
    if not view.private:
        grey = np.abs(values) <= _chance(tables)
        traces = colour_ends.split(traces[0], grey[np.ix_(*axes)].tolist())
    left_out = whole.shape[0] > axes[0].size or whole.shape[1] > axes[1].size
    summary = _matrix_words(view, tables, shares)
    summary += (
        f" The {MAX_MATRIX_PARTS} largest parts are shown; the CSV file has all."
        if left_out
        else ""
    )
    figure = view.figure(
        traces,
        _heat_layout(view, axes),
        words=f"Matrix of origins and destinations. {summary}",
    )
    sheet = _pairs_sheet(
        view, tables, key="commutes-matrix", caption="Origins and destinations, largest first"
    )
    return view.card(sheet, "matrix", summary, figure=figure), sheet


def _largest_parts(records: Counts) -> NDArray[np.int64]:
    """The largest parts that have any records, in their own order."""
    order = np.argsort(-records, kind="stable")[:MAX_MATRIX_PARTS]
    return np.sort(order[records[order] > 0])


def _matrix_words(
    view: CommuteView, tables: Mapping[str, Counts], shares: Mapping[str, NDArray[np.float64]]
) -> str:
    used = ", ".join(
        f"{grouped(int((table > 0).sum()))} ({side})" for side, table in tables.items()
    )
    text = f"Pairs of parts that have records: {used}."
    if view.private:
        return text
    moved = float(np.abs(shares["synthetic"] - shares["real"]).sum()) / 2
    return f"{moved:.1%} of the records would have to change for both to agree. {text}"


def _heat(
    view: CommuteView, values: NDArray[np.float64], axes: list[NDArray[np.int64]]
) -> dict[str, object]:
    names = [
        [escape(shorten(part.labels[i])) for i in axis]
        for part, axis in zip(view.divided, axes, strict=True)
    ]
    # Counts span powers of ten, so they are on a logarithmic scale; differences have signs and
    # are not.
    shown = np.log10(np.maximum(values, 1)) if view.private else values
    scale = colour_ends.diverging(colour_ends.SHARE_CHANGE)
    bar = maps.bar("synthetic minus real, of all records") | maps.DIFFERENCE
    if view.private:
        bound = float(np.abs(values).max(initial=0.0)) or 1.0
        scale = {
            "colorscale": style.DENSITY,
            "zmin": 0.0,
            "zmax": max(1.0, float(np.log10(bound))),
        }
        ticks = list(range(int(np.log10(max(bound, 1))) + 1))
        bar = maps.bar("records") | {
            "tickvals": ticks,
            "ticktext": [grouped(10**tick) for tick in ticks],
        }
    return {
        "type": "heatmap",
        "x": names[1],
        "y": names[0],
        "z": [
            [
                None if view.private and not n else float(z)
                for n, z in zip(*row, strict=True)
            ]
            for row in zip(values, shown, strict=True)
        ],
        "customdata": [
            [grouped(round(float(n))) if view.private else f"{n:+.3%}" for n in row]
            for row in values
        ],
        "hovertemplate": "%{y} → %{x}<br>%{customdata}<extra></extra>",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
        "colorbar": bar,
        **scale,
    }  # fmt: skip


def _heat_layout(view: CommuteView, axes: list[NDArray[np.int64]]) -> dict[str, object]:
    axis = {
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 11},
        "automargin": True,
        "type": "category",
    }
    ends = [escape(end.name) for end in (view.commute.origin, view.commute.destination)]
    return {
        "xaxis": {**axis, "tickangle": -90, "title": {"text": ends[1]}},
        "yaxis": {**axis, "autorange": "reversed", "title": {"text": ends[0]}},
        "height": min(980, 260 + 17 * len(axes[0])),
        "margin": {"l": 20, "r": 12, "t": maps.BAR_ROOM, "b": 20},
    }


def _pairs_sheet(
    view: CommuteView, tables: Mapping[str, Counts], *, key: str, caption: str
) -> FullTable:
    """Every pair of parts that has records."""
    whole = np.sum(list(tables.values()), axis=0)
    first, second = view.divided
    rows = [
        (
            first.labels[a],
            second.labels[b],
            *(grouped(int(table[a, b])) for table in tables.values()),
        )
        for a, b, _ in regions.largest(whole, limit=whole.size)
    ]
    head = (
        view.commute.origin.name,
        view.commute.destination.name,
        *(f"{side.capitalize()} records" for side in tables),
    )
    return FullTable(key=key, caption=caption, head=head, rows=rows, names=2)
