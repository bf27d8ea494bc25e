"""Days of the calendar without a record: weekends, holidays and other gaps of columns of days and moments."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec import RawColumn
from synth_engine.codec.value_counts import NumberCounts
from synth_engine.domain import Attribute, Date, DateTime
from synth_engine.evaluation import wording
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.figure import ComparisonFigure, Sides, Tile
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.share_cards import SECTION, shares_card, tile_of_columns
from synth_engine.evaluation.wording import Explanation, Json

Counts = NDArray[np.int64]

DIGITS = 9
_DAY_SECONDS = 86_400
LENGTHS = (1, 2, 7, 31)
"""The first lengths, in days, of the classes of gaps."""
LABELS = ("with records", "1 day", "2–6 days", "7–30 days", "31+ days")


class DateGaps(ComparisonFigure):
    """Bars of the shares of days that lie in gaps of each length, for the column that differs most."""

    field = "date_gaps"
    position = 106
    section = SECTION
    explanations = {
        "gaps": Explanation(
            title="Days without a record",
            what="For each column of days or times of days the shares of days between the first and the "
            "last real day that have a record, and that lie in gaps of so many days. The column that "
            "differs most is drawn.",
            how="A table of working days has a gap at each weekend. For the verdict the larger table is "
            "thinned to the number of records of the smaller one, because fewer records leave more days "
            "empty. Where gaps are filled, do not use the synthetic table to study on which days something "
            "happens.",
        )
    }

    def entry(self, sides: Sides) -> list[Json] | None:
        return sides.column_entries(_entry)

    def tiles(self, report: Report) -> list[Tile]:
        return tile_of_columns(self.explanations["gaps"]["title"], report.get(self.field))

    def cards(self, report: Report) -> list[Card]:
        entries = report.get(self.field)
        return [shares_card(report, "gaps", entries, of="days")] if entries else []


def _entry(attribute: Attribute, real: RawColumn, synthetic: RawColumn) -> Json | None:
    if not isinstance(attribute.reader, Date | DateTime):
        return None
    numbers = (real.numbers, synthetic.numbers)
    if any(side is None or not side.exact for side in numbers):
        return None
    seconds = 1 if isinstance(attribute.reader, Date) else _DAY_SECONDS
    days = [_days(side, seconds=seconds) for side in numbers if side is not None]
    if not len(days[0][0]):
        return None
    first, last = int(days[0][0][0]), int(days[0][0][-1])
    counts = [_by_day(*side, first=first, last=last) for side in days]
    if last == first or not len(days[1][0]):
        return None
    # Values outside of the range are drawn as well: without them, a table that lies elsewhere would be
    # thinned to nothing.
    totals = [int(side[1].sum()) for side in days]
    records = min(totals)
    empty = [
        thinned_empty_share(side, records=records, total=total)
        for side, total in zip(counts, totals, strict=True)
    ]
    difference = abs(empty[1] - empty[0])
    variances = [
        _variance(side, part=records / total)
        for side, total in zip(counts, totals, strict=True)
    ]
    chance = math.sqrt(2 / math.pi * sum(variances))
    return {
        "name": attribute.name,
        "days": last - first + 1,
        "labels": list(LABELS),
        "shares": {
            side: [round(share, DIGITS) for share in gap_shares(each).tolist()]
            for side, each in zip(("real", "synthetic"), counts, strict=True)
        },
        "longest": {
            side: int(gap_lengths(each).max(initial=0))
            for side, each in zip(("real", "synthetic"), counts, strict=True)
        },
        "difference": round(difference, DIGITS),
        "by_chance": round(chance, DIGITS),
        "verdict": wording.empty_days_verdict(empty[0], empty[1], chance=chance),
    }


def _days(side: NumberCounts, *, seconds: int) -> tuple[Counts, Counts]:
    """Days in ascending order, and the records of each."""
    days, places = np.unique(
        np.floor(side.values / seconds).astype(np.int64), return_inverse=True
    )
    return days, np.bincount(places, weights=side.counts, minlength=len(days)).astype(np.int64)


def _by_day(days: Counts, counts: Counts, *, first: int, last: int) -> Counts:
    """The records of every day of a range, shape (last - first + 1,)."""
    filled = np.zeros(last - first + 1, dtype=np.int64)
    inside = (days >= first) & (days <= last)
    filled[days[inside] - first] = counts[inside]
    return filled


def gap_lengths(counts: Counts) -> Counts:
    """The lengths of all runs of days without a record."""
    at = np.flatnonzero(np.concatenate([[1], counts, [1]]))
    lengths = np.diff(at) - 1
    gaps: Counts = lengths[lengths > 0]
    return gaps


def gap_shares(counts: Counts) -> NDArray[np.float64]:
    """The share of days with records, and in gaps of each class of lengths; shape (LABELS,)."""
    lengths = gap_lengths(counts)
    classes = np.searchsorted(LENGTHS, lengths, side="right")
    days = np.bincount(classes, weights=lengths, minlength=len(LABELS))
    days[0] = np.count_nonzero(counts)
    shares: NDArray[np.float64] = days / len(counts)
    return shares


def thinned_empty_share(counts: Counts, *, records: int, total: int) -> float:
    """The expected share of days without a record among so many records of all, drawn without replacement
    (rarefaction, Hurlbert 1971)."""
    empty = 0.0
    sizes, days = np.unique(counts, return_counts=True)
    for size, number in zip(sizes.tolist(), days.tolist(), strict=True):
        if size <= total - records:
            # All of a day's records are among those that are not drawn.
            logarithm = (
                math.lgamma(total - size + 1)
                - math.lgamma(total - size - records + 1)
                - math.lgamma(total + 1)
                + math.lgamma(total - records + 1)
            )
            empty += number * math.exp(min(0.0, logarithm))
    return empty / len(counts)


def _variance(counts: Counts, *, part: float) -> float:
    """The variance of the share of empty days in a new table of such a part of the records, with days taken
    as Poisson."""
    none = np.exp(-counts * part)
    return float((none * (1 - none)).sum()) / len(counts) ** 2


FIGURE = DateGaps()
