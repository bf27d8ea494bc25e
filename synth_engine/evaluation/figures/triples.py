"""Triples of columns: the distance of their joint values."""

from __future__ import annotations

from synth_engine.evaluation import heatmaps
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.figure import GROUPS, CliqueEntry, ComparisonFigure, Sides
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.wording import Explanation


class Triples(ComparisonFigure):
    """A table of the distances of triples."""

    field = "triples"
    position = 40
    section = GROUPS
    explanations = {
        "triples": Explanation(
            title="Triples of columns: distance",
            what="The same distance for groups of three columns: all of them, or 200 drawn once by a fixed "
            "seed.",
            how="A synthetic table can match every pair and still miss how three columns go together. With "
            "many combinations, chance alone gives a large distance; the excess over it is what counts.",
        )
    }

    def entry(self, sides: Sides) -> list[CliqueEntry]:
        return [
            {"attributes": list(clique), **sides.distance(clique, hidden=sides.hidden(clique))}
            for clique in sides.cliques(3)
        ]

    def cards(self, report: Report) -> list[Card]:
        # Fewer than three columns, or private answers without tables of three, leave no
        # triples.
        if not report["triples"]:
            return []
        return [heatmaps.group_card(report, "triples", mean="tvd3", figure=None)]


FIGURE = Triples()
