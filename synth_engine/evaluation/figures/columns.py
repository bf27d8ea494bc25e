"""Single columns: shares of records by value, real beside synthetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synth_engine.domain import Attribute, Integer, Number
from synth_engine.evaluation import bars, blind_spots, distances, raw_values, value_cards
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides
from synth_engine.evaluation.plots import Figure, Report
from synth_engine.evaluation.value_findings import FEW_VALUES
from synth_engine.evaluation.wording import Explanation, Json

DIGITS = 9


class ColumnsFigure(ComparisonFigure):
    """A histogram for each column."""

    field = "attributes"
    position = 10
    section = FigureSection("columns", "Columns, worst first", 0, (("columns", "Columns"),))
    explanations = {
        "histogram": Explanation(
            title="How often each value occurs",
            what="For one column, the share of records in each public category or bin, real beside "
            "synthetic. The bins are those of the domain, so both sides are cut at the same edges.",
            how="Solid blue is real, hatched or dashed orange is synthetic. Where the two are equally "
            "high, the column is kept. The distance is the share of records that would have to move to "
            "another bin for both to agree: 0 is the same, 1 is nothing in common.",
        )
    }

    def entry(self, sides: Sides) -> list[Json]:
        return [_entry(column, sides) for column in sides.columns]

    def cards(self, report: Report) -> list[Card]:
        values, notes = value_cards.by_column(report), value_cards.notes(report)
        return [
            value_cards.column_card(report, f"column-{index}", entry, values[entry["name"]])
            if entry["name"] in values
            else replace(_bars(report, entry, index), note=notes.get(entry["name"], ""))
            for index, entry in enumerate(report["attributes"])
        ]


def _bars(report: Report, entry: Json, index: int) -> Card:
    reading = {**report["reading"]["histogram"], "title": entry["name"]}
    table = bars.value_table(entry, caption=f"Records by {entry['name']}", first="Value")
    figure = bars.histogram(report, entry, of="records")
    return bars.card(report, f"column-{index}", entry, reading, table=table, figure=figure)


def histogram(report: Report, attribute: str) -> Figure:
    """The histogram of one column of a report."""
    entry = next(entry for entry in report["attributes"] if entry["name"] == attribute)
    return bars.histogram(report, entry, of="records")


def _entry(column: Attribute, sides: Sides) -> Json:
    clique, limits = (column.name,), sides.limits[column.name]
    values = sides.values.get(column.name)
    counts = {
        "real": sides.real[clique].dense(),
        "synthetic": sides.synthetic[clique].dense(),
    }
    share = {side: np.round(distances.shares(table), DIGITS) for side, table in counts.items()}
    # "Other" and missing take part: losing the missing values is a difference like any other.
    gap = int(np.argmax(np.abs(share["real"] - share["synthetic"])))
    missing = column.missing_code
    distance = sides.distance(clique)
    return {
        "name": column.name,
        "kind": column.kind,
        "ordered": column.ordered,
        "labels": list(column.labels),
        "cuts": list(column.cuts) if isinstance(column, Integer | Number) else None,
        "counts": {side: table.tolist() for side, table in counts.items()},
        "shares": {side: values.tolist() for side, values in share.items()},
        **distance,
        # Replaces the verdict of the distance: agreement inside one wide bin proves nothing.
        "verdict": blind_spots.column_verdict(distance["verdict"], limits)
        if values is None
        else raw_values.column_verdict(
            distance["verdict"], values, few_codes=column.size <= FEW_VALUES
        ),
        # That of values as they are written; null without any, or without a scale.
        "ks": None if values is None else values.get("ks"),
        "limits": list(limits),
        "largest_gap": {
            "label": column.labels[gap],
            **{side: float(values[gap]) for side, values in share.items()},
        },
        "missing": None
        if missing is None
        else {side: float(values[missing]) for side, values in share.items()},
    }


FIGURE = ColumnsFigure()
