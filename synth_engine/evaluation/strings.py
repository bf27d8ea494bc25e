"""Figures of texts: how many of the records' texts a release has again, with multiplicity, in all, by length,
and cumulated by how frequent a text is, from both ends. Pure functions of tallies; on real texts not private.

Source of the figures: the paper on adaptive histograms, section 5 (recovered strings).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Texts = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Counts of records by text. `texts`: different ones, increasing; texts or codes of them,
    anything that sorts."""

    texts: Texts
    counts: Counts

    def __post_init__(self) -> None:
        if self.texts.ndim != 1 or self.texts.shape != self.counts.shape:
            raise TypeError("a tally has one count for each text")

    @property
    def records(self) -> int:
        """Counts all records."""
        return int(self.counts.sum())


def tally(texts: Texts, counts: Counts | None = None) -> Tally:
    """Counts records by text, or adds up texts that come with counts, in any order, some of
    them twice."""
    unique, places = np.unique(texts, return_inverse=True)
    return Tally(
        texts=unique,
        counts=np.bincount(places, weights=counts, minlength=unique.size).astype(np.int64),
    )


def count_matches(real: Tally, synthetic: Tally) -> Counts:
    """Counts for each real text how many of its records are found among the synthetic ones: the
    smaller of the two counts."""
    matched = np.zeros(real.texts.size, dtype=np.int64)
    if synthetic.texts.size:
        # A text beyond the last one is clipped to it, and fails the comparison below.
        places = np.minimum(
            np.searchsorted(synthetic.texts, real.texts), synthetic.texts.size - 1
        )
        same = synthetic.texts[places] == real.texts
        matched[same] = np.minimum(real.counts[same], synthetic.counts[places[same]])
    return matched


def intersection(real: Tally, synthetic: Tally, *, records: int | None = None) -> float:
    """The size of the multiset intersection as a share of the real records. records: how many there are,
    where the tally has not all of them."""
    return float(count_matches(real, synthetic).sum() / max(1, records or real.records))


def by_group(
    real: Tally, synthetic: Tally, groups: npt.NDArray[np.int64]
) -> list[tuple[int, int, float]]:
    """Returns for each group of real texts, such as those of one length, its number, its
    records, and the share that is found.

    groups: the group of each real text."""
    matched = count_matches(real, synthetic)
    records, shared = (np.bincount(groups, weights=counts) for counts in (real.counts, matched))
    return [
        (int(g), int(records[g]), float(shared[g] / records[g]))
        for g in np.flatnonzero(records)
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """`logarithms`: of frequencies, base 2, whole; at each the share of the records whose text is that
    frequent or less (`records`) and of those that are also found (`found`)."""

    logarithms: npt.NDArray[np.int64]
    records: Floats
    matched: Floats


def from_the_rare(real: Tally, synthetic: Tally) -> Curve:
    """Cumulated from texts of one record up."""
    logarithms, records, matched = _by_frequency(real, synthetic)
    return Curve(logarithms=logarithms, records=np.cumsum(records), matched=np.cumsum(matched))


def from_the_common(real: Tally, synthetic: Tally) -> Curve:
    """Cumulated from the most frequent texts down: at each frequency, those that are that frequent or
    more."""
    logarithms, records, matched = _by_frequency(real, synthetic)
    back = slice(None, None, -1)
    return Curve(
        logarithms=logarithms,
        records=np.cumsum(records[back])[back],
        matched=np.cumsum(matched[back])[back],
    )


def _by_frequency(
    real: Tally, synthetic: Tally
) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Shares of the records by the whole logarithm of how many records have a text: all of them, and those
    found."""
    some = real.counts > 0
    # frexp gives floor(log2(n)) exactly; np.log2 may round a count just below a power of two up
    # to it.
    steps = np.frexp(real.counts[some].astype(np.float64))[1].astype(np.int64) - 1
    size = int(steps.max(initial=-1)) + 1
    every = max(1, real.records)
    records, matched = (
        np.bincount(steps, weights=counts[some], minlength=size) / every
        for counts in (real.counts, count_matches(real, synthetic))
    )
    return np.arange(size), records, matched
