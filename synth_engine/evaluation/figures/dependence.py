"""Dependence between columns: normalised mutual information of every pair on both sides, and its
difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from synth_engine.evaluation import colour_ends, heatmaps, style
from synth_engine.evaluation.cards import MAX_TABLE_ROWS, Card, make_card, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection
from synth_engine.evaluation.plots import Figure, Report
from synth_engine.evaluation.wording import Explanation

Which = Literal["real", "synthetic", "difference"]
MOST_LISTED = 30
"""Pairs in the table of the columns that changed most."""
MAPS: tuple[Which, ...] = ("real", "synthetic", "difference")


class Dependence(ComparisonFigure):
    """Three maps of the entries of `pairs`."""

    position = 20
    section = FigureSection(
        "dependence", "Dependence between columns", 50, (("dependence", "Dependence"),), "maps"
    )
    explanations = {
        "nmi_real": Explanation(
            title="Dependence in the real table",
            what="How much one column tells about another, for every pair of columns: mutual information "
            "divided by the smaller of the two entropies.",
            how="Faint (0) means that the columns tell nothing about each other, strong (1) that one "
            "determines the other. Compare it with the map of the synthetic table, which has the same "
            "colour scale.",
        ),
        "nmi_synthetic": Explanation(
            title="Dependence in the synthetic table",
            what="The same measure as of the real table, computed from the synthetic one.",
            how="A square fainter than in the real map is a dependence that was weakened or lost; a "
            "stronger one was invented. Columns with many rare values look slightly dependent in any small "
            "table.",
        ),
        "nmi_difference": Explanation(
            title="Dependence: synthetic minus real",
            what="The difference of the maps of both tables, square by square.",
            how="Grey means preserved: no more than chance, or nothing to speak of. Blue means weaker in "
            "the synthetic table than in the real one, red means stronger. The colours end at 0.25 in "
            "every report. Do not use the synthetic table to study a pair of columns whose square is "
            "strongly coloured.",
        ),
    }

    def verdict(self, report: Report) -> str:
        words: str = report["summary"]["mi_err"]["verdict"]["words"]
        return words

    def cards(self, report: Report) -> list[Card]:
        return [_card(report, which) for which in MAPS] if report["pairs"] else []


def nmi_heatmap(report: Report, which: Which) -> Figure:
    """The map of one side, or of the difference.

    Both sides share one scale, from 0 to the largest value on either; that of the difference, synthetic minus
    real, has fixed ends, and pairs whose dependence is kept are grey.
    """
    pairs, field = report["pairs"], f"nmi_{which}"
    if which == "difference":
        return _difference(report)
    # A scale of its own for each map would make a weakened dependence look as strong as the
    # real one.
    largest = (max(pair["nmi_real"], pair["nmi_synthetic"]) for pair in pairs)
    scale = {
        "colorscale": style.MAGNITUDE,
        "zmin": 0.0,
        "zmax": max(largest, default=0.0) or 1.0,
    }
    words = f"Normalised mutual information of every pair of columns in the {which} table."
    return heatmaps.pair_map(report, field, scale, words=words)


def most_changed(report: Report, *, columns: int) -> Card | None:
    """The map of the difference for so many columns at most, those that changed most; None where no columns
    go together, nor seem to."""
    pairs, is_same = report["pairs"], heatmaps.is_same("dependence")
    if all(is_same(pair) and not any(pair["related"].values()) for pair in pairs):
        return None
    worst = sorted(
        pairs, key=lambda pair: (is_same(pair), -abs(pair["nmi_difference"]), -pair["nmi_real"])
    )
    chosen = set(
        list(dict.fromkeys(name for pair in worst for name in pair["attributes"]))[:columns]
    )
    names = [name for name in report["columns"] if name in chosen]
    entries = heatmaps.PairEntries(
        names=names,
        pairs=[pair for pair in pairs if chosen.issuperset(pair["attributes"])],
        hover=heatmaps.DEPENDENCES,
    )
    card = _card(report, "difference")
    rows = sorted(card.table.rows, key=lambda row: row[-1] == "Kept.")[:MOST_LISTED]
    return replace(
        card,
        key="dependence-changed",
        figure=_difference(report, entries) if len(names) > 1 else None,
        table=replace(card.table, rows=rows, more=max(0, len(pairs) - len(rows))),
    )


def _difference(report: Report, entries: heatmaps.PairEntries | None = None) -> Figure:
    return heatmaps.pair_map(
        report,
        "nmi_difference",
        colour_ends.diverging(colour_ends.DEPENDENCE_CHANGE),
        words="Difference of normalised mutual information, synthetic minus real, for every pair of columns.",
        entries=entries,
        is_chance=heatmaps.is_same("dependence"),
    )


def _card(report: Report, which: Which) -> Card:
    name = f"nmi_{which}"
    ordered = sorted(report["pairs"], key=lambda pair: -abs(pair[name]))
    rows = [
        (
            heatmaps.names(pair),
            f"{pair['nmi_real']:.3f}",
            f"{pair['nmi_synthetic']:.3f}",
            f"{pair['nmi_difference']:+.3f}",
            pair["dependence"]["words"],
        )
        for pair in ordered[:MAX_TABLE_ROWS]
    ]
    reading = report["reading"][name]
    head = ("Columns", "Real", "Synthetic", "Difference", "Verdict")
    caption = f"{reading['title']}, strongest first"
    table = make_table(caption, head, rows, words=True, of=len(ordered))
    first = ordered[0]
    if which == "difference":
        line = f"Most changed: {heatmaps.names(first)}, {first[name]:+.3f}"
    else:
        line = f"Strongest: {heatmaps.names(first)}, {first[name]:.3f}"
    key = name.replace("_", "-")
    return make_card(report, key, reading, table, line, figure=nmi_heatmap(report, which))


FIGURE = Dependence()
