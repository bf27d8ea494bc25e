"""Cards of how far records go: curves of all and of those near a place, averages by destination, and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from synth_engine.evaluation import commutes, curves, style
from synth_engine.evaluation.cards import MARKS, Card, count
from synth_engine.evaluation.commute_view import Sheet, View
from synth_engine.evaluation.commutes import Averages, Flows

MARKED = 1500  # destinations that a figure marks, evenly by their numbers of records; its table has all
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


def all_records(view: View) -> tuple[Card, Sheet]:
    """The curve of all."""
    return _curve(view, view.sides, kind="all", title="")


def near_records(view: View) -> tuple[Card, Sheet]:
    """The curve of those who start near the point."""
    return _curve(
        view, view.nearby, kind="near", title=f"How far those go who start within {view.around}"
    )


def _curve(
    view: View, sides: Mapping[str, Flows], *, kind: str, title: str
) -> tuple[Card, Sheet]:
    entry = commutes.curve(sides, seed=f"{view.domain.digest}/{kind}")
    traces, layout = curves.arranged(entry, unit=view.unit)
    said = _curve_words(view, entry, sides)
    figure = view.figure(
        traces, layout, words=f"Cumulative shares of records by distance. {said}"
    )
    sheet = _curve_sheet(view, entry, kind)
    mark = "" if entry["ks"] is None else MARKS[entry["verdict"]["level"]]
    return view.card(sheet, kind, said, figure=figure, mark=mark, title=title), sheet


def _curve_words(view: View, entry: dict[str, Any], sides: Mapping[str, Flows]) -> str:
    many = ", ".join(f"{count(flows.total)} {side}" for side, flows in sides.items())
    if not all(flows.total for flows in sides.values()):
        return f"Too few records to draw a curve: {many}."
    means = ", ".join(
        f"{view.distance(flows.mean_km)} ({side})" for side, flows in sides.items()
    )
    text = f"{many} records; {means} on average."
    if entry["ks"] is None:
        return text
    at = view.distance(entry["ks_at_km"])
    return f"{entry['verdict']['words']} Distance of Kolmogorov and Smirnov {entry['ks']:.3f}, at {at}. {text}"


def _curve_sheet(view: View, entry: dict[str, Any], kind: str) -> Sheet:
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
            *(count(entry["counts"][side][place]) for side in sides),
            *(f"{entry['within'][side][place]:.4%}" for side in sides),
            f"{low[place]:.4%}",
            f"{high[place]:.4%}",
        )
        for place, edge in enumerate(entry["edges_km"][1 : last + 2])
    ]
    return Sheet(
        key=f"commutes-{kind}", caption="Records by distance", head=head, rows=rows, names=0
    )


def averages(view: View, *, short: bool) -> tuple[Card, Sheet]:
    """By destination against its number of records: of all commutes, or of short ones."""
    kind = "short" if short else "averages"
    chosen = {
        side: flows.up_to(view.short_km) if short else flows
        for side, flows in view.sides.items()
    }
    found = {side: commutes.by_destination(flows) for side, flows in chosen.items()}
    workers = {side: _workers(view, side) for side in found}
    traces = [_marks(view, side, one, workers[side]) for side, one in found.items()]
    layout = {
        "xaxis": {
            **_QUIET,
            "type": "log",
            "dtick": 1,
            "title": {"text": f"records that end there{_whose(view)}", "standoff": 8},
        },
        "yaxis": {
            **_QUIET,
            "automargin": True,
            "rangemode": "tozero",
            "title": {"text": f"average commute, {view.unit.short}"},
        },
        "hovermode": "closest",
    }
    sheet = _averages_sheet(view, found, workers, kind=kind)
    said = _averages_words(found, shown=max(len(trace["x"]) for trace in traces))
    figure = view.figure(traces, layout, words=f"Average commute by destination. {said}")
    title = (
        f"Average of commutes up to {view.distance(view.short_km)}, by destination"
        if short
        else ""
    )
    return view.card(sheet, kind, said, figure=figure, title=title), sheet


def _workers(view: View, side: str) -> Any:
    """Records by position: the public totals, or else what the side has."""
    totals, end = view.domain.totals, view.commute.destination
    if totals is not None and totals.column == end.name:
        return np.array(totals.counts)
    every = commutes.by_destination(view.sides[side])
    return dict(zip(every.positions.tolist(), every.records.tolist(), strict=True))


def _whose(view: View) -> str:
    totals = view.domain.totals
    if totals is not None and totals.column == view.commute.destination.name:
        return " (public total)"
    return "" if view.private else " (of each table)"


def _marks(view: View, side: str, found: Averages, workers: Any) -> dict[str, Any]:
    order = np.argsort(found.records, kind="stable")
    if order.size > MARKED:
        order = order[np.linspace(0, order.size - 1, MARKED).astype(np.int64)]
    label = view.commute.destination.label
    return {
        "type": "scatter",
        "mode": "markers",
        "name": side,
        "x": [int(workers[int(position)]) for position in found.positions[order]],
        "y": [round(view.unit.of(float(km)), 4) for km in found.km[order]],
        "text": [style.escaped(label(int(position))) for position in found.positions[order]],
        "marker": _MARKERS[side],
        "hovertemplate": f"%{{text}}<br>%{{x:,}} records, %{{y:.3~g}} {view.unit.short} ({side})<extra></extra>",
    }


def _averages_words(found: dict[str, Averages], *, shown: int) -> str:
    text = ", ".join(
        f"{count(one.positions.size)} destinations ({side})" for side, one in found.items()
    )
    most = max((one.positions.size for one in found.values()), default=0)
    some = (
        f" {count(shown)} of them are marked, evenly by size; the CSV file has all."
        if shown < most
        else ""
    )
    return f"{text[0].upper()}{text[1:]}.{some}"


def _averages_sheet(
    view: View, found: dict[str, Averages], workers: dict[str, Any], *, kind: str
) -> Sheet:
    """The largest destination first."""
    end, unit = view.commute.destination, view.unit
    records = {
        side: dict(zip(one.positions.tolist(), one.records.tolist(), strict=True))
        for side, one in found.items()
    }
    km = {
        side: dict(zip(one.positions.tolist(), one.km.tolist(), strict=True))
        for side, one in found.items()
    }
    side = next(iter(found))
    known = sorted(
        set().union(*records.values()), key=lambda place: (-_get(workers[side], place), place)
    )
    rows = [
        (
            end.label(place),
            *(count(records[each].get(place, 0)) for each in found),
            *(
                "" if place not in km[each] else f"{unit.of(km[each][place]):.2f}"
                for each in found
            ),
        )
        for place in known
    ]
    head = (
        end.name,
        *(f"{each.capitalize()} records" for each in found),
        *(f"{each.capitalize()} average, {unit.short}" for each in found),
    )
    return Sheet(
        key=f"commutes-{kind}", caption="Average commute by destination", head=head, rows=rows
    )


def _get(workers: Any, position: int) -> int:
    return int(workers.get(position, 0) if isinstance(workers, dict) else workers[position])


def errors(view: View) -> tuple[Card, Sheet]:
    """Of the averages, by bands of workers; of a comparison alone."""
    found = commutes.error_rows(
        view.sides["real"], view.sides["synthetic"], short_km=view.short_km
    )
    bands, whole = found[:-1], found[-1]
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
    said = f"Weighted by workers, the average commute is off by {weighted['all']}, of short commutes by {weighted['short']}."
    if whole["without"]["all"]:
        said += f" {count(whole['without']['all'])} real records end where no synthetic one does; they are left out."
    sheet = _errors_sheet(view, found)
    figure = view.figure(
        traces, layout, words=f"Error of the average commute by number of workers. {said}"
    )
    return view.card(sheet, "errors", said, figure=figure), sheet


def _boxes(view: View, bands: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    shown = [row for row in bands if row[kind]]
    places = ("lowerfence", "q1", "median", "q3", "upperfence")
    return {
        "type": "box",
        "name": f"{kind} commutes",
        "x": [row["band"] for row in shown],
        **{
            place: [round(view.unit.of(row[kind]["quantiles"][level]), 4) for row in shown]
            for level, place in enumerate(places)
        },
        "line": {"color": style.INK, "width": 1.5},
        "fillcolor": style.QUIET if kind == "all" else "rgba(0,0,0,0)",
    }


def _errors_sheet(view: View, found: list[dict[str, Any]]) -> Sheet:
    def km(value: float | None) -> str:
        return "–" if value is None else f"{view.unit.of(value):.2f}"

    rows = [
        (
            row["band"],
            count(row["destinations"]),
            *(km(row[kind]["mean"] if row[kind] else None) for kind in ("all", "short")),
            *(
                km(row[kind]["quantiles"][2] if row[kind] else None)
                for kind in ("all", "short")
            ),
        )
        for row in found
    ]
    rows.append(
        (
            "weighted by workers",
            "",
            *(km(found[-1]["weighted"][kind]) for kind in ("all", "short")),
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
    return Sheet(
        key="commutes-errors", caption="Error of the average commute", head=head, rows=rows
    )
