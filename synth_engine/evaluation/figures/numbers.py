"""Numeric columns in short: median, mean, spread and missing numbers, real beside synthetic.

Values are read at the centres of the public bins, so nothing besides the tallies of single columns is
counted.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from synth_engine.domain import Integer, Number
from synth_engine.evaluation.cards import Card, make_card, make_table
from synth_engine.evaluation.distances import Array, shares
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.wording import Explanation, Json
from synth_engine.indexing import places

DIGITS = 9
QUANTILES = {"quantile_5": 0.05, "median": 0.5, "quantile_95": 0.95}
_MEASURES = ("median", "mean", "standard_deviation", "quantile_5", "quantile_95")

SECTION = FigureSection("numeric", "Numbers in short", 10, (("numbers", "Numbers"),))


class Numbers(ComparisonFigure):
    """A table with two lines for each numeric column."""

    field = "numbers"
    position = 110
    section = SECTION
    explanations = {
        "numbers": Explanation(
            title="Median, mean and spread",
            what="For each numeric column the median, the mean, the standard deviation, the quantiles that "
            "5 and 95 of 100 numbers do not exceed, and the share of records without a number, real and "
            "synthetic.",
            how="Every number is read at the centre of its public bin, on both sides: differences smaller "
            "than a bin mean nothing, and numbers beyond the declared bounds count at the bound. A mean "
            "that moved while the median stayed points at the tails: compare the two quantiles.",
        )
    }

    def entry(self, sides: Sides) -> list[Json]:
        return [
            _entry(column.name, sides)
            for column in sides.columns
            if isinstance(column, Integer | Number)
        ]

    def cards(self, report: Report) -> list[Card]:
        # Where values were compared as they are written, those at the centres of bins say less.
        if report.get("values") or not (entries := report.get(self.field)):
            return []
        rows = [
            (
                entry["name"],
                side,
                *(_text(entry[measure][side]) for measure in _MEASURES),
                f"{entry['missing'][side]:.2%}",
            )
            for entry in entries
            for side in ("real", "synthetic")
        ]
        head = (
            "Column",
            "Table",
            "Median",
            "Mean",
            "Standard deviation",
            "5 % quantile",
            "95 % quantile",
            "Without a number",
        )
        table = make_table("Numeric columns, real and synthetic", head, rows, names=2)
        reading = report["reading"][self.field]
        return [make_card(report, "numbers", reading, table, _verdict(entries), figure=None)]


def _entry(name: str, sides: Sides) -> Json:
    centres = places.centres(sides.domain, name)
    real = _measures(centres, shares(sides.real[name,].dense()))
    synthetic = _measures(centres, shares(sides.synthetic[name,].dense()))
    return {
        "name": name,
        **{key: {"real": real[key], "synthetic": synthetic[key]} for key in real},
    }


def _measures(centres: Array, share: Array) -> Mapping[str, float | None]:
    """Measures of one side. centres: the number of each code, NaN for codes without one; share: of records by
    code."""
    known = ~np.isnan(centres)
    held = float(share[known].sum())
    # "Other" and missing have no number. Both count here, so that the measures are of numbers
    # alone.
    missing = round(float(share[~known].sum()), DIGITS)
    if not held:
        return {**dict.fromkeys(_MEASURES), "missing": missing}
    values, weights = centres[known], share[known] / held
    mean = float(values @ weights)
    # A sum of shares may end just below 1, so the last bin bounds the search.
    within = np.cumsum(weights)
    at = {
        name: min(int(np.searchsorted(within, level - 1e-12)), values.size - 1)
        for name, level in QUANTILES.items()
    }
    quantiles = {name: float(values[index]) for name, index in at.items()}
    spread = float(np.sqrt(weights @ (values - mean) ** 2))
    measures = {
        **quantiles,
        "mean": round(mean, DIGITS),
        "standard_deviation": round(spread, DIGITS),
    }
    return {name: measures[name] for name in _MEASURES} | {"missing": missing}


def _verdict(entries: list[Json]) -> str:
    """The column whose mean moved most, in standard deviations of its real numbers."""
    moved = {
        entry["name"]: abs(entry["mean"]["synthetic"] - entry["mean"]["real"])
        / entry["standard_deviation"]["real"]
        for entry in entries
        # In units of the real spread, columns of different units can be compared; a constant
        # column has none.
        if entry["standard_deviation"]["real"] and entry["mean"]["synthetic"] is not None
    }
    if not moved:
        return "No mean can be compared."
    name = max(moved, key=lambda column: moved[column])
    return f"The mean of {name} moved most: by {moved[name]:.2g} of its standard deviations."


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


FIGURE = Numbers()
