"""The number of rows a person has: real and synthetic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation import bars, wording
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.distances import chance_distance, shares, total_variation
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides, Tile
from synth_engine.evaluation.plots import Figure, Report
from synth_engine.evaluation.tallies import TallySource
from synth_engine.evaluation.wording import Explanation, Json

DIGITS = 9
NAME = "rows of a person"


class GroupSizesFigure(ComparisonFigure):
    """A histogram of persons, where persons are generated.

    Real persons have no more rows than the privacy unit allows, as in everything that is compared.
    """

    field = "group_sizes"
    position = 90
    section = FigureSection("persons", "People", 40, (("persons", "People"),))
    explanations = {
        "group_sizes": Explanation(
            title="How many rows a person has",
            what="The share of persons with one row, two, three and so on, real beside synthetic. Real "
            "rows beyond what one person may have were left out before, as for everything here.",
            how="Solid blue is real, hatched or dashed orange is synthetic. The sizes of groups are kept, "
            "and nothing else of them: the rows of one synthetic person are no more alike than those of "
            "two, so do not study with them how a person's rows go together.",
        ),
    }

    def tally(self, source: TallySource) -> NDArray[np.int64] | None:
        return source.group_sizes()

    def entry(self, sides: Sides) -> Json | None:
        counted = sides.counted(self.field)
        return None if counted is None else _entry(counted)

    def tiles(self, report: Report) -> list[Tile]:
        if not (entry := report.get(self.field)):
            return []
        return [Tile.of(self.section.title, f"{entry['tvd']:.3f}", entry["verdict"])]

    def cards(self, report: Report) -> list[Card]:
        if not (entry := report.get(self.field)):
            return []
        card = bars.card(
            report,
            "group-sizes",
            entry,
            report["reading"][self.field],
            table=bars.value_table(
                entry, caption="Persons by how many rows they have", first="Rows"
            ),
            figure=histogram(report),
        )
        return [card]


def histogram(report: Report) -> Figure:
    """Shares of persons by how many rows they have."""
    figure = bars.histogram(report, report["group_sizes"], of="persons")
    figure["layout"]["yaxis"]["title"] = {"text": "share of persons"}
    return figure


def _entry(sides: dict[str, NDArray[np.int64]]) -> Json:
    """Makes an entry in the form of one of a column, with persons counted instead of records."""
    # Sizes that occur on neither side are cut off. Two bins at least: bars on a scale need a
    # width.
    last = max(
        2, *(int(np.flatnonzero(counts)[-1]) + 1 for counts in sides.values() if counts.any())
    )
    counts = {side: counted[:last] for side, counted in sides.items()}
    share = {side: np.round(shares(counted), DIGITS) for side, counted in counts.items()}
    value = total_variation(shares(counts["real"]), shares(counts["synthetic"]))
    chance = chance_distance(counts["real"], counts["synthetic"])
    gap = int(np.argmax(np.abs(share["real"] - share["synthetic"])))
    labels = [str(size) for size in range(1, last + 1)]
    return {
        "name": NAME,
        "kind": "integer",
        "ordered": True,
        "labels": labels,
        "cuts": list(range(1, last + 2)),
        "counts": {side: counted.tolist() for side, counted in counts.items()},
        "shares": {side: values.tolist() for side, values in share.items()},
        "persons": {side: int(counted.sum()) for side, counted in counts.items()},
        "cells": last,
        "tvd": value,
        "tvd_by_chance": chance,
        "verdict": wording.distance_verdict(value, chance=chance, of="persons"),
        "largest_gap": {
            "label": labels[gap],
            **{side: float(values[gap]) for side, values in share.items()},
        },
        "missing": None,
    }


FIGURE = GroupSizesFigure()
