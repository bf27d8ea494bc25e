"""Cards of how far records go: curves of all and of those near a place, averages by destination, and their
errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from synth_engine.evaluation import commutes, curves, style
from synth_engine.evaluation.cards import MARKS, Card
from synth_engine.evaluation.commute_view import CommuteView, FullTable
from synth_engine.evaluation.commutes import Averages, Flows
from synth_engine.evaluation.distance_distribution import DistanceEntry
from synth_engine.evaluation.plots import Trace
from synth_engine.evaluation.thousands import grouped

MAX_MARKED = 1500  # destinations that a figure marks, evenly by their numbers of records; its table has all
_MARKERS = {
    "real": {"symbol": "circle", "color": style.REAL, "size": 6, "opacity": 0.7},
    "synthetic": {
        "symbol": "diamond-open",
        "color": style.SYNTHETIC,
        "size": 7,
        "opacity": 0.8,
    },
}
_QUIET = {"gridcolor": style.QUIET, "zeroline": False}


def all_records(view: CommuteView) -> tuple[Card, FullTable]:
    """The curve of all."""
    return _curve(view, view.sides, kind="all", title="")


def near_records(view: CommuteView) -> tuple[Card, FullTable]:
    """The curve of those who start near the point."""
    return _curve(
        view, view.nearby, kind="near", title=f"How far those go who start within {view.around}"
    )


def _curve(
    view: CommuteView, sides: Mapping[str, Flows], *, kind: str, title: str
) -> tuple[Card, FullTable]:
    # The band must not change between two views of one release: its seed is made of public
    # facts.
    entry = commutes.curve(sides, seed=f"{view.domain.digest}/{kind}")
    staying = {side: flows.staying for side, flows in sides.items()}
    traces, layout = curves.arrange(entry, unit=view.unit, staying=staying)
    summary = _curve_words(view, entry, sides)
    figure = view.figure(
        traces, layout, words=f"Cumulative shares of records by distance. {summary}"
    )
    sheet = _curve_sheet(view, entry, kind)
    mark = "" if entry["ks"] is None else MARKS[entry["verdict"]["level"]]
    return view.card(sheet, kind, summary, figure=figure, mark=mark, title=title), sheet


def _curve_words(view: CommuteView, entry: DistanceEntry, sides: Mapping[str, Flows]) -> str:
    records = ", ".join(f"{grouped(flows.total)} {side}" for side, flows in sides.items())
    if not all(flows.total for flows in sides.values()):
        return f"Too few records to draw a curve: {records}."
    means = ", ".join(
        f"{view.distance(flows.mean_km)} ({side})" for side, flows in sides.items()
    )
    text = f"{records} records; {means} on average."
    if entry["ks"] is None or entry["ks_at_km"] is None:
        return text
    at = view.distance(entry["ks_at_km"])
    return (
        f"{entry['verdict']['words']} The largest gap is {100 * entry['ks']:.1f} of 100 records, within "
        f"{at}. {text}"
    )


def _curve_sheet(view: CommuteView, entry: DistanceEntry, kind: str) -> FullTable:
    sides, unit = list(entry["counts"]), view.unit.short
    head = (
        f"At most, {unit}",
        *(f"{side.capitalize()} records" for side in sides),
        *(f"{side.capitalize()} within" for side in sides),
        "Implicates from",
        "Implicates to",
    )
    low, high = entry["band"]
    last = max(
        next((i for i, s in enumerate(within) if s >= 1 - 1e-9), len(within) - 1)
        for within in entry["within"].values()
    )
    rows = [
        (
            f"{view.unit.of(edge):.4g}",
            *(grouped(entry["counts"][side][index]) for side in sides),
            *(f"{entry['within'][side][index]:.4%}" for side in sides),
            f"{low[index]:.4%}",
            f"{high[index]:.4%}",
        )
        for index, edge in enumerate(entry["edges_km"][1 : last + 2])
    ]
    return FullTable(
        key=f"commutes-{kind}", caption="Records by distance", head=head, rows=rows, names=0
    )


def averages(view: CommuteView, *, short: bool) -> tuple[Card, FullTable]:
    """Makes the card of average distances by destination against its number of records: of all
    commutes, or of short ones."""
    kind = "short" if short else "averages"
    chosen = {
        side: flows.up_to(view.short_km) if short else flows
        for side, flows in view.sides.items()
    }
    by_side = {side: commutes.by_destination(flows) for side, flows in chosen.items()}
    workers = {side: _workers(view, side) for side in by_side}
    traces = [_marks(view, side, average, workers[side]) for side, average in by_side.items()]
    layout = {
        "xaxis": {
            **_QUIET,
            "type": "log",
            "dtick": 1,
            "title": {"text": f"records that end there{_totals_note(view)}", "standoff": 8},
        },
        "yaxis": {
            **_QUIET,
            "automargin": True,
            "rangemode": "tozero",
            "title": {"text": f"average commute, {view.unit.short}"},
        },
        "hovermode": "closest",
    }
    sheet = _averages_sheet(view, by_side, workers, kind=kind)
    summary = _averages_words(
        by_side, shown=max(min(MAX_MARKED, a.positions.size) for a in by_side.values())
    )
    figure = view.figure(traces, layout, words=f"Average commute by destination. {summary}")
    title = (
        f"Average of commutes up to {view.distance(view.short_km)}, by destination"
        if short
        else ""
    )
    return view.card(sheet, kind, summary, figure=figure, title=title), sheet


def _workers(view: CommuteView, side: str) -> Mapping[int, int]:
    """Records by position: the public totals, or else what the side has."""
    totals, end = view.domain.totals, view.commute.destination
    # Public totals are exact, so both sides are placed by the same numbers, and no noise moves
    # a mark sideways.
    if totals is not None and totals.column == end.name:
        return dict(enumerate(totals.counts))
    every = commutes.by_destination(view.sides[side])
    return dict(zip(every.positions.tolist(), every.records.tolist(), strict=True))


def _totals_note(view: CommuteView) -> str:
    totals = view.domain.totals
    if totals is not None and totals.column == view.commute.destination.name:
        return " (public total)"
    return "" if view.private else " (of each table)"


def _marks(
    view: CommuteView, side: str, averages: Averages, workers: Mapping[int, int]
) -> Trace:
    # Evenly along the order of sizes: the largest alone would hide where averages scatter.
    order = np.argsort(averages.records, kind="stable")
    if order.size > MAX_MARKED:
        order = order[np.linspace(0, order.size - 1, MAX_MARKED).astype(np.int64)]
    label = view.commute.destination.label
    return {
        "type": "scatter",
        "mode": "markers",
        "name": side,
        "x": [workers[int(position)] for position in averages.positions[order]],
        "y": [round(view.unit.of(float(km)), 4) for km in averages.km[order]],
        "text": [style.escape(label(int(position))) for position in averages.positions[order]],
        "marker": _MARKERS[side],
        "hovertemplate": f"%{{text}}<br>%{{x:,}} records, %{{y:.3~g}} {view.unit.short} "
        f"({side})<extra></extra>",
    }


def _averages_words(averages: dict[str, Averages], *, shown: int) -> str:
    text = ", ".join(
        f"{grouped(average.positions.size)} destinations ({side})"
        for side, average in averages.items()
    )
    largest = max((average.positions.size for average in averages.values()), default=0)
    some = (
        f" {grouped(shown)} of them are marked, evenly by size; the CSV file has all."
        if shown < largest
        else ""
    )
    return f"{text[0].upper()}{text[1:]}.{some}"


def _averages_sheet(
    view: CommuteView,
    averages: dict[str, Averages],
    workers: Mapping[str, Mapping[int, int]],
    *,
    kind: str,
) -> FullTable:
    """The largest destination first."""
    end, unit = view.commute.destination, view.unit
    records = {
        side: dict(zip(average.positions.tolist(), average.records.tolist(), strict=True))
        for side, average in averages.items()
    }
    km = {
        side: dict(zip(average.positions.tolist(), average.km.tolist(), strict=True))
        for side, average in averages.items()
    }
    side = next(iter(averages))
    ordered = sorted(
        set().union(*records.values()),
        key=lambda position: (-workers[side].get(position, 0), position),
    )
    rows = [
        (
            end.label(position),
            *(grouped(records[side].get(position, 0)) for side in averages),
            *(
                "" if position not in km[side] else f"{unit.of(km[side][position]):.2f}"
                for side in averages
            ),
        )
        for position in ordered
    ]
    head = (
        end.name,
        *(f"{side.capitalize()} records" for side in averages),
        *(f"{side.capitalize()} average, {unit.short}" for side in averages),
    )
    return FullTable(
        key=f"commutes-{kind}", caption="Average commute by destination", head=head, rows=rows
    )


def errors(view: CommuteView) -> tuple[Card, FullTable]:
    """Makes the card of errors of the averages, by bands of workers; for a comparison alone."""
    error_rows = commutes.error_rows(
        view.sides["real"], view.sides["synthetic"], short_km=view.short_km
    )
    bands, whole = error_rows[:-1], error_rows[-1]
    traces = [_boxes(view, bands, kind) for kind in ("all", "short")]
    layout = {
        "xaxis": {
            "type": "category",
            "title": {"text": "real records that end at the destination", "standoff": 8},
        },
        "yaxis": {
            **_QUIET,
            "automargin": True,
            "rangemode": "tozero",
            "title": {"text": f"error of the average, {view.unit.short}"},
        },
        "boxmode": "group",
    }
    weighted = {
        kind: "–" if km is None else view.distance(km) for kind, km in whole["weighted"].items()
    }
    summary = (
        f"Weighted by workers, the average commute is off by {weighted['all']}, of short commutes by "
        f"{weighted['short']}."
    )
    if whole["without"]["all"]:
        # These have no error, so the reader must see how many records the averages do not
        # cover.
        summary += (
            f" {grouped(whole['without']['all'])} real records end where no synthetic one does; they are "
            "left out."
        )
    sheet = _errors_sheet(view, error_rows)
    figure = view.figure(
        traces, layout, words=f"Error of the average commute by number of workers. {summary}"
    )
    return view.card(sheet, "errors", summary, figure=figure), sheet


def _boxes(view: CommuteView, bands: list[dict[str, Any]], kind: str) -> Trace:
    shown = [row for row in bands if row[kind]]
    places = ("lowerfence", "q1", "median", "q3", "upperfence")
    return {
        "type": "box",
        "name": f"{kind} commutes",
        "x": [row["band"] for row in shown],
        **{
            name: [round(view.unit.of(row[kind]["quantiles"][level]), 4) for row in shown]
            for level, name in enumerate(places)
        },
        "line": {"color": style.INK, "width": 1.5},
        "fillcolor": style.QUIET if kind == "all" else "rgba(0,0,0,0)",
    }


def _errors_sheet(view: CommuteView, error_rows: list[dict[str, Any]]) -> FullTable:
    def km(value: float | None) -> str:
        return "–" if value is None else f"{view.unit.of(value):.2f}"

    rows = [
        (
            row["band"],
            grouped(row["destinations"]),
            *(km(row[kind]["mean"] if row[kind] else None) for kind in ("all", "short")),
            *(
                km(row[kind]["quantiles"][2] if row[kind] else None)
                for kind in ("all", "short")
            ),
        )
        for row in error_rows
    ]
    rows.append(
        (
            "weighted by workers",
            "",
            *(km(error_rows[-1]["weighted"][kind]) for kind in ("all", "short")),
            "",
            "",
        )
    )
    unit = view.unit.short
    head = (
        "Workers",
        "Destinations",
        f"Mean error, {unit}",
        "Short ones",
        f"Median error, {unit}",
        "Short ones",
    )
    return FullTable(
        key="commutes-errors", caption="Error of the average commute", head=head, rows=rows
    )
