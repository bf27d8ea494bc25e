"""Pairs of columns: the distance of their joint values, and how dependent they are."""

from __future__ import annotations

from synth_engine.evaluation import blind_spots, colour_ends, heatmaps, wording
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.dependences import chance_change
from synth_engine.evaluation.figure import GROUPS, CliqueEntry, ComparisonFigure, Sides
from synth_engine.evaluation.plots import Figure, Report
from synth_engine.evaluation.tallies import Clique
from synth_engine.evaluation.wording import Explanation, FigureVerdict


class PairEntry(CliqueEntry):
    """The distance of a pair, and its normalised mutual information."""

    nmi_real: float
    nmi_synthetic: float
    nmi_difference: float
    nmi_by_chance: float
    related: dict[str, bool]
    dependence: FigureVerdict


class Pairs(ComparisonFigure):
    """A map of the distances of all pairs. The entries hold their dependence as well, which `dependence`
    shows."""

    field = "pairs"
    position = 30
    section = GROUPS
    explanations = {
        "pairs": Explanation(
            title="Pairs of columns: distance",
            what="For every pair of columns, the total variation distance between the real and the "
            "synthetic table of their joint values.",
            how="Grey means no difference to speak of: no more than chance. The redder, the more records "
            "would have to change; the colours end at 0.3 in every report. Pairs with many combinations "
            "differ somewhat by chance alone: the table says how much.",
        )
    }

    def entry(self, sides: Sides) -> list[PairEntry]:
        return [_entry(clique, sides) for clique in sides.cliques(2)]

    def cards(self, report: Report) -> list[Card]:
        if not report["pairs"]:
            return []
        return [heatmaps.group_card(report, "pairs", mean="tvd2", figure=tvd_heatmap(report))]


def tvd_heatmap(report: Report) -> Figure:
    """Total variation distance of every pair, from white to red at a fixed end; pairs without a difference
    are grey."""
    return heatmaps.pair_map(
        report,
        "tvd",
        colour_ends.from_zero(colour_ends.DISTANCE),
        words="Total variation distance between the real and the synthetic table of every pair of columns.",
        is_chance=heatmaps.is_same("verdict"),
    )


def _entry(clique: Clique, sides: Sides) -> PairEntry:
    real, synthetic = sides.dependences(clique)
    # Values inside one wide bin may depend on the other column however similar the two tables
    # look.
    hidden = sides.hidden(clique)
    by_chance = chance_change(real, synthetic)
    verdict = wording.dependence_verdict(
        real=real.strength,
        synthetic=synthetic.strength,
        chance=by_chance,
        is_real=real.is_real,
    )
    return {
        "attributes": list(clique),
        **sides.distance(clique, hidden=hidden),
        "nmi_real": real.nmi,
        "nmi_synthetic": synthetic.nmi,
        "nmi_difference": synthetic.nmi - real.nmi,
        "nmi_by_chance": by_chance,
        "related": {"real": real.is_real, "synthetic": synthetic.is_real},
        "dependence": blind_spots.group_verdict(verdict, hidden),
    }


FIGURE = Pairs()
