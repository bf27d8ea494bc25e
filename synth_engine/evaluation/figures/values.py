"""Values as they are written: median, mean, spread, quantiles, spikes and distances of single columns,
without bins."""

from __future__ import annotations

from synth_engine.codec import RawColumn
from synth_engine.evaluation import value_cards
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.figure import ComparisonFigure, Sides
from synth_engine.evaluation.figures.numbers import SECTION
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.tallies import TallySource
from synth_engine.evaluation.wording import Explanation, Json


class Values(ComparisonFigure):
    """A table with two lines for each column of numbers, days or times; the cards of single columns show the
    rest."""

    field = "values"
    position = 105
    section = SECTION
    explanations = {
        "values": Explanation(
            title="Values in short",
            what="For each column of numbers, days or times the median, the mean, the standard deviation "
            "and four quantiles, of the real cells as they are written and of the synthetic values.",
            how="Nothing is moved to a bound or put in a bin, so a difference is one of the values "
            "themselves. Cells that the description cannot read are read as they are usually written, if "
            "that is possible.",
        ),
        "listed": Explanation(
            title="Categories, texts and identifiers in short",
            what="How many different values each column has, what share of real cells is not among the "
            "declared values, and what share of synthetic values does not occur in the real table.",
            how="Categories that are not declared are lost, or become the first value, missing or (other). "
            "Invented values of a category are declared ones that no real record has, or (other); of texts "
            "and identifiers they are made up, and all of them should be.",
        ),
        "value": Explanation(
            title="How often each value occurs",
            what="The share of values in equal parts of the axis, real beside synthetic: real cells as "
            "they are written, neither moved to a declared bound nor put in a public bin. The axis ends at "
            "the 1st and the 99th percentile, and is logarithmic where all values are positive and the "
            "largest are far away.",
            how="Solid blue is real, dashed orange is synthetic. The largest gap is that between the "
            "cumulative shares (Kolmogorov), the move is how far an average value would have to be moved "
            "(earth mover). Invented values are those of synthetic records that no real record has: of "
            "codes there should be none, of measured numbers there may be many. A column is damaged where "
            "more than 2 of 100 real cells are lost, where most lie in one bin with other values inside, "
            "or where the gap exceeds chance by more than 10 of 100.",
        ),
    }

    def tally(self, source: TallySource) -> dict[str, RawColumn] | None:
        return dict(source.raw_columns()) or None

    def entry(self, sides: Sides) -> list[Json] | None:
        return list(sides.values.values()) or None

    def cards(self, report: Report) -> list[Card]:
        cards = (value_cards.overview_card(report), value_cards.listed_card(report))
        return [card for card in cards if card is not None]


FIGURE = Values()
