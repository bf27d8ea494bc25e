"""Rank correlations of columns of values as they are written: of both sides, and their difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from synth_engine.codec import RankCorrelation, RawPairs
from synth_engine.evaluation import colour_ends, heatmaps, summaries, wording
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_table
from synth_engine.evaluation.dependences import DEVIATIONS, KEPT, LostDependence
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides, Tile
from synth_engine.evaluation.plots import Figure, Report
from synth_engine.evaluation.tallies import TallySource
from synth_engine.evaluation.wording import Explanation, Json

DIGITS = 9
LEAST = 0.1
"""Rank correlation from which on two columns are correlated."""
CERTAINTY = 4.5
"""Standard deviations of unrelated columns by which a correlation has to differ from 0: of 780 pairs one in
two hundred tables."""
Which = Literal["real", "synthetic", "difference"]
MAPS: tuple[Which, ...] = ("real", "synthetic", "difference")
_HOW = (
    "Red means that large values go together, blue that large values of one go with small values of the "
    "other, white that neither holds."
)
HOVER: Sequence[heatmaps.HoverLine] = (
    ("real", "real", "+.3f"),
    ("synthetic", "synthetic", "+.3f"),
    ("difference", "difference", "+.3f"),
    ("by chance", "by_chance", ".3f"),
)


class RankCorrelations(ComparisonFigure):
    """Three maps of Spearman's rho, with Kendall's tau in their table."""

    field = "rank_correlation"
    position = 35
    section = FigureSection(
        "ranks", "Rank correlation", 52, (("ranks", "Rank correlation"),), "maps"
    )
    explanations = {
        "rank_real": Explanation(
            title="Rank correlation in the real table",
            what="Spearman's rho of every pair of columns of numbers, days or times, from the cells as "
            "they are written; equal values have their mean rank. The table has Kendall's tau-b as well.",
            how=_HOW,
        ),
        "rank_synthetic": Explanation(
            title="Rank correlation in the synthetic table",
            what="The same measure of the synthetic values, with the same colours.",
            how=_HOW,
        ),
        "rank_difference": Explanation(
            title="Rank correlation: synthetic minus real",
            what="The difference of the maps of both tables, square by square.",
            how="Grey means preserved: no more than chance, or nothing to speak of. The colours end at 0.5 "
            "in every report. By chance is the mean difference between two samples of unrelated columns of "
            "these sizes. Do not use the synthetic table to study the order of two columns whose square is "
            "strongly coloured.",
        ),
    }

    def tally(self, source: TallySource) -> RawPairs | None:
        pairs = source.raw_pairs()
        return pairs if pairs is not None and pairs.ranks else None

    def entry(self, sides: Sides) -> Json | None:
        counted = sides.counted(self.field)
        if counted is None:
            return None
        real, synthetic = counted["real"], counted["synthetic"]
        pairs = [
            _entry(pair, real.ranks[pair], synthetic.ranks[pair])
            for pair in real.ranks
            if pair in synthetic.ranks
        ]
        judged = [pair for pair in pairs if pair["difference"] is not None]
        excess = [max(0.0, abs(pair["difference"]) - pair["by_chance"]) for pair in judged]
        return {
            "records": {"real": real.records, "synthetic": synthetic.records},
            "retained": {"real": real.retained, "synthetic": synthetic.retained},
            "pairs": sorted(pairs, key=lambda pair: -abs(pair["difference"] or 0.0)),
            "mean_difference": round(float(np.mean(excess)), DIGITS) if excess else None,
            **(_summary(judged) if judged else {"verdict": None}),
        }

    def verdict(self, report: Report) -> str:
        entry = report.get(self.field)
        if not entry or entry["verdict"] is None:
            return ""
        words: str = entry["verdict"]["words"]
        return words

    def tiles(self, report: Report) -> list[Tile]:
        entry = report.get(self.field)
        if not entry or entry["verdict"] is None:
            return []
        return [
            Tile.of_parts(
                self.section.title,
                preserved=entry["kept"],
                of=entry["related"],
                verdict=entry["verdict"],
            )
        ]

    def cards(self, report: Report) -> list[Card]:
        entry = report.get(self.field)
        if not entry or entry["verdict"] is None:
            return []
        return [_card(report, entry, which) for which in MAPS]


def _summary(judged: Sequence[Json]) -> Json:
    """Judge the correlations that exist in the real table: those beyond what unrelated columns have, and of
    some size."""
    related = [pair for pair in judged if _exists(pair, "real")]
    invented = [
        pair
        for pair in judged
        if _exists(pair, "synthetic") and not _exists(pair, "real") and _change(pair)
    ]
    whole = sum(abs(pair["real"]) for pair in related)
    changed = sum(_change(pair) for pair in (*related, *invented))
    lost = LostDependence(
        real=len(related),
        preserved=sum(_change(pair) <= KEPT * abs(pair["real"]) for pair in related),
        invented=len(invented),
        lost=min(1.0, changed / whole) if whole else None,
    )
    parts = [
        (heatmaps.names(pair), pair["verdict"]["level"], pair["difference"]) for pair in judged
    ]
    return summaries.of_relations(lost, parts, kind="correlation")


def _exists(pair: Json, side: str) -> bool:
    deviation = 1 / math.sqrt(max(pair["records"][side] - 1, 1))
    return bool(abs(pair[side]) >= max(LEAST, CERTAINTY * deviation))


def _change(pair: Json) -> float:
    """By how much a correlation changed, beyond chance."""
    return max(0.0, abs(float(pair["difference"])) - largest_by_chance(pair["by_chance"]))


def largest_by_chance(mean: float) -> float:
    """Up to how much two correlations differ by chance, three standard deviations, from the mean of their
    difference."""
    return DEVIATIONS * mean / math.sqrt(2 / math.pi)


def _entry(pair: tuple[str, str], real: RankCorrelation, synthetic: RankCorrelation) -> Json:
    entry: Json = {
        "attributes": list(pair),
        "records": {"real": real.records, "synthetic": synthetic.records},
        "real": _rounded(real.spearman),
        "synthetic": _rounded(synthetic.spearman),
        "kendall": {"real": _rounded(real.kendall), "synthetic": _rounded(synthetic.kendall)},
        "difference": None,
        "by_chance": round(chance_difference(real.records, synthetic.records), DIGITS),
        "verdict": None,
    }
    if real.spearman is None or synthetic.spearman is None:
        return entry
    return entry | {
        "difference": round(synthetic.spearman - real.spearman, DIGITS),
        "verdict": wording.rank_verdict(
            real=real.spearman,
            synthetic=synthetic.spearman,
            chance=largest_by_chance(entry["by_chance"]),
        ),
    }


def chance_difference(real: int, synthetic: int) -> float:
    """The mean absolute difference of Spearman's rho between two samples of unrelated columns, of so many
    records each.

    The variance of rho is then 1/(n − 1) exactly (Kendall, Rank Correlation Methods, chapter 5); the
    difference is taken as normal."""
    if min(real, synthetic) < 2:
        return 0.0
    return math.sqrt(2 / math.pi * (1 / (real - 1) + 1 / (synthetic - 1)))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def rank_heatmap(report: Report, which: Which) -> Figure:
    """The map of one side, or of the difference; in this, pairs whose correlation is kept are grey. All have
    fixed ends."""
    pairs = [pair for pair in report["rank_correlation"]["pairs"] if pair["verdict"]]
    named = {name for pair in pairs for name in pair["attributes"]}
    changed = which == "difference"
    words = (
        (
            "Difference of Spearman's rank correlation, synthetic minus real, for every pair of columns of "
            "values."
        )
        if changed
        else f"Spearman's rank correlation of every pair of columns of values in the {which} table."
    )
    end = colour_ends.RANK_CHANGE if changed else colour_ends.RANK
    entries = heatmaps.PairEntries(
        names=[name for name in report["columns"] if name in named], pairs=pairs, hover=HOVER
    )
    return heatmaps.pair_map(
        report,
        which,
        colour_ends.diverging(end),
        words=words,
        entries=entries,
        is_chance=heatmaps.is_same("verdict") if changed else None,
    )


def _card(report: Report, entry: Json, which: Which) -> Card:
    pairs = [pair for pair in entry["pairs"] if pair["verdict"]]
    ordered = sorted(pairs, key=lambda pair: -abs(pair[which]))
    rows = [
        (
            heatmaps.names(pair),
            *(f"{pair[side]:+.3f}" for side in MAPS),
            *(f"{pair['kendall'][side]:+.3f}" for side in ("real", "synthetic")),
            f"{MARKS[pair['verdict']['level']]} {pair['verdict']['words']}",
        )
        for pair in ordered
    ]
    reading = report["reading"][f"rank_{which}"]
    head = ("Columns", "Real", "Synthetic", "Difference", "τ real", "τ synthetic", "Verdict")
    table = make_table(f"{reading['title']}, strongest first", head, rows, words=True)
    label = "Most changed" if which == "difference" else "Strongest"
    line = f"{label}: {heatmaps.names(ordered[0])}, {ordered[0][which]:+.3f}"
    retained, records = entry["retained"]["real"], entry["records"]["real"]
    if retained < records:
        line += f". From {retained:,} of {records:,} real records".replace(",", "\u202f")
    return make_card(
        report, f"rank-{which}", reading, table, line, figure=rank_heatmap(report, which)
    )


FIGURE = RankCorrelations()
