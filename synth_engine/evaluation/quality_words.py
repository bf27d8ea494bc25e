"""The words for what a release keeps of a table, and where one ends and the next begins: one vocabulary for
what is forecast before a run and for what is known after it.

A column is *found*, *coarse* or *not found*; relations between columns are *kept*, *weak* or *lost*."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

ColumnWord = Literal["found", "coarse", "not found", "unknown"]
"""unknown: the release has no question about the column whose noise can be followed."""
COLUMN_WORDS = get_args(ColumnWord)
Relations = Literal["kept", "weak", "lost", "unknown"]
"""unknown: nothing is known of them, or there is one column alone."""
RELATION_LEVELS = get_args(Relations)

FOUND_SHARE, COARSE_SHARE = 0.05, 0.15
"""The largest deviation of a share of records, or distance of tables, of a column that is found, and of one
that is coarse."""
FOUND_MEAN, COARSE_MEAN = 0.05, 0.2
"""The same of means, in standard deviations."""
WIDE_INTERVAL = 0.2
"""Share of the records with a value that one interval, or "other", may hold at most in a column that is
found. Where values lie within an interval is not known, nor which values "other" stands for."""
KEPT, WEAK = 0.25, 0.6
"""The largest share of dependence that is lost of relations that are kept, and of weak ones."""
KEPT_DISTANCE, WEAK_DISTANCE = FOUND_SHARE, COARSE_SHARE
"""The largest mean distance of the measured tables, by their noise, for the same."""

_SEVERITY: tuple[ColumnWord, ...] = ("found", "unknown", "coarse", "not found")


def of_share(deviation: float | None) -> ColumnWord:
    """The word of a deviation of shares of records, or of a distance."""
    return _column(deviation, FOUND_SHARE, COARSE_SHARE)


def of_mean(deviation: float | None) -> ColumnWord:
    """The word of a deviation of a mean, in standard deviations."""
    return _column(deviation, FOUND_MEAN, COARSE_MEAN)


def of_lost(share: float) -> Relations:
    """The word of relations of which such a share is lost."""
    return _relations(share, KEPT, WEAK)


def of_distance(distance: float) -> Relations:
    """The word of relations whose tables are so far off by noise alone."""
    return _relations(distance, KEPT_DISTANCE, WEAK_DISTANCE)


def worst_column(words: Iterable[ColumnWord]) -> ColumnWord:
    """The worst of some words; unknown of none."""
    return max(words, key=_SEVERITY.index, default="unknown")


def _column(value: float | None, for_found: float, for_coarse: float) -> ColumnWord:
    if value is None:
        return "unknown"
    return "found" if value <= for_found else "coarse" if value <= for_coarse else "not found"


def _relations(value: float, for_kept: float, for_weak: float) -> Relations:
    return "kept" if value <= for_kept else "weak" if value <= for_weak else "lost"
