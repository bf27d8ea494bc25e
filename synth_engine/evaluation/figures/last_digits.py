"""The lattice of numbers: shares of last digits and of round numbers, such as whole hundreds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec import RawColumn
from synth_engine.codec.value_counts import NumberCounts
from synth_engine.domain import Attribute
from synth_engine.evaluation import wording
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.distances import chance_distance, total_variation
from synth_engine.evaluation.figure import ComparisonFigure, Sides, Tile
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.scale_text import is_moment
from synth_engine.evaluation.share_cards import SECTION, shares_card, tile_of_columns
from synth_engine.evaluation.wording import Explanation, Json

DIGITS = 9
MAX_DECIMALS = 6
LATTICE_SHARE = 0.99
"""Share of the real values that has to be on the lattice of a column without a declared step."""
MIN_VALUES = 20
"""Different real values below which the shares of single values say all of it."""
MAX_POSITION = 2.0**53
"""Steps from zero up to which a number has its last digit."""
LABELS = ("0", *(f"…{digit}" for digit in range(1, 10)), "…0", "…00", "…000", "finer")
"""Zero, a last digit, exactly one or two last zeros, three or more, and values between the steps."""
_ZERO, _FINER = 0, len(LABELS) - 1


class LastDigits(ComparisonFigure):
    """Bars of the shares of last digits for the column that differs most, and all columns in the table."""

    field = "last_digits"
    position = 107
    section = SECTION
    explanations = {
        "digits": Explanation(
            title="Last digits and round numbers",
            what="For each column of numbers the shares of values by their last digit, counted in steps of "
            "the column, and of those that end in one, two, or three and more zeros. The column that "
            "differs most is drawn.",
            how="People round: a table of prices may have whole hundreds alone. Where the bars differ, do "
            "not use the synthetic table to study heaping, rounding or digit preference.",
        )
    }

    def entry(self, sides: Sides) -> list[Json] | None:
        return sides.column_entries(_entry)

    def tiles(self, report: Report) -> list[Tile]:
        return tile_of_columns(self.explanations["digits"]["title"], report.get(self.field))

    def cards(self, report: Report) -> list[Card]:
        entries = report.get(self.field)
        return [shares_card(report, "digits", entries, of="values")] if entries else []


def _entry(attribute: Attribute, real: RawColumn, synthetic: RawColumn) -> Json | None:
    if real.numbers is None or synthetic.numbers is None or is_moment(attribute):
        return None
    exact = real.numbers.exact and synthetic.numbers.exact
    if not exact or len(real.numbers.values) < MIN_VALUES or not synthetic.numbers.total:
        return None
    step = attribute.value_step or lattice_step(real.numbers)
    if step is None:
        return None
    counts = [digit_counts(side, step=step) for side in (real.numbers, synthetic.numbers)]
    shares = [each / each.sum() for each in counts]
    difference = total_variation(*shares)
    chance = chance_distance(*counts)
    return {
        "name": attribute.name,
        "step": step,
        "labels": list(LABELS),
        "shares": {
            side: [round(share, DIGITS) for share in each.tolist()]
            for side, each in zip(("real", "synthetic"), shares, strict=True)
        },
        "difference": round(difference, DIGITS),
        "by_chance": round(chance, DIGITS),
        "verdict": wording.distance_verdict(difference, chance=chance, of="last digits"),
    }


def lattice_step(real: NumberCounts) -> float | None:
    """The coarsest of 1, 0.1, 0.01, … whose multiples nearly all values are; None where values are finer."""
    for decimals in range(MAX_DECIMALS + 1):
        on_lattice = np.isclose(
            real.values, np.round(real.values, decimals), rtol=1e-12, atol=1e-9
        )
        if real.counts[on_lattice].sum() >= LATTICE_SHARE * real.total:
            return float(10.0**-decimals)
    return None


def digit_counts(side: NumberCounts, *, step: float) -> NDArray[np.int64]:
    """Values by the end of their number of steps, in the order of LABELS."""
    positions = np.abs(side.values / step)
    whole = np.rint(positions)
    finer = (np.abs(positions - whole) > 1e-6 * np.maximum(1, positions)) | (
        whole >= MAX_POSITION
    )
    steps = np.where(finer, 1, whole).astype(np.int64)
    zeros = sum((steps % 10**power == 0).astype(np.int64) for power in (1, 2, 3))
    ends = np.where(zeros > 0, 9 + zeros, steps % 10)
    ends = np.where(steps == 0, _ZERO, ends)
    ends = np.where(finer, _FINER, ends)
    counted = np.bincount(ends, weights=side.counts, minlength=len(LABELS))
    return counted.astype(np.int64)


FIGURE = LastDigits()
