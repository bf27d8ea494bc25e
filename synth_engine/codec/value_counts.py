"""Count the different values of a column in bounded memory: numbers in their order, texts by hash.

Both are exact up to about a million different values. Beyond it numbers become a quantile sketch and texts a
sample of their hashes, each with the error bound stated below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Hashes = NDArray[np.uint64]

MAX_VALUES = 2**20
"""Different numbers of a column that are counted exactly."""
RETAINED_VALUES = MAX_VALUES // 4
"""Numbers that remain of more. They are joined to the right within ranks of 1/RETAINED_VALUES of the records
so far, and not again before 3/4 MAX_VALUES new ones have arrived. With n records that moves a cumulative
share by at most 8 n / (3 MAX_VALUES²) + 1/RETAINED_VALUES: 3e-5 at ten million."""
MAX_HASHES = 2**20
RETAINED_HASHES = MAX_HASHES // 4
"""Hashes that remain of more: the smallest. What is estimated from them has a relative standard error of
1/√RETAINED_HASHES, .2 %."""
_HASH_RANGE = 2.0**64


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberCounts:
    """Numbers in ascending order and how often each occurs, shapes (k,), with the exact mean and standard
    deviation.

    `exact`: whether every different number stands for itself.
    """

    values: Floats = field(repr=False)
    counts: Counts = field(repr=False)
    mean: float = field(repr=False)
    standard_deviation: float = field(repr=False)
    exact: bool = True

    @cached_property
    def total(self) -> int:
        """How many numbers there are."""
        return int(self.counts.sum())

    @cached_property
    def cumulative(self) -> Floats:
        """The share of numbers up to each value."""
        shares: Floats = np.cumsum(self.counts) / max(self.total, 1)
        return shares

    def below(self, limits: Floats, *, inclusive: bool) -> Floats:
        """Return the share of numbers below each limit, or up to it."""
        ends = np.searchsorted(self.values, limits, side="right" if inclusive else "left")
        return np.append(0.0, self.cumulative)[ends]

    def quantile(self, level: float) -> float:
        """Return the smallest value up to which a share of `level` lies. There has to be a number."""
        index = int(np.searchsorted(self.cumulative, level - 1e-12))
        return float(self.values[min(index, len(self.values) - 1)])


class NumberCounter:
    """Takes in the finite numbers of a column block by block."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Floats, Counts]] = []
        self._waiting = 0
        self._exact = True
        self._total, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, values: Floats, times: Counts) -> None:
        """Count each value as often as `times` says; both of shape (k,)."""
        used = np.isfinite(values) & (times > 0)
        values, times = values[used], times[used]
        if not len(values):
            return
        self._add_moments(values, times)
        self._pieces.append(_merged(values, times))
        self._waiting += len(self._pieces[-1][0])
        if self._waiting > 2 * MAX_VALUES:
            self._join()

    def _add_moments(self, values: Floats, times: Counts) -> None:
        """Update mean and sum of squares by the parallel formula of Chan, Golub and LeVeque (1979)."""
        count = int(times.sum())
        mean = float(values @ times) / count
        shift, total = mean - self._mean, self._total + count
        squares = float((values - mean) ** 2 @ times)
        self._squares += squares + shift**2 * (self._total / total) * count
        self._mean += shift * count / total
        self._total = total

    def _join(self) -> None:
        if not self._pieces:
            return
        values, counts = _merged(
            np.concatenate([piece[0] for piece in self._pieces]),
            np.concatenate([piece[1] for piece in self._pieces]),
        )
        if len(values) > MAX_VALUES:
            values, counts = _joined_neighbours(values, counts)
            self._exact = False
        self._pieces, self._waiting = [(values, counts)], len(values)

    def merge(self, other: NumberCounter) -> None:
        """Take in what another one has counted."""
        other._join()
        for values, counts in other._pieces:
            self.add(values, counts)
        self._exact &= other._exact

    def finish(self) -> NumberCounts:
        """Return the counts of everything taken in."""
        self._join()
        nothing = (np.empty(0, dtype=np.float64), np.empty(0, dtype=np.int64))
        values, counts = self._pieces[0] if self._pieces else nothing
        spread = math.sqrt(max(self._squares, 0.0) / self._total) if self._total else 0.0
        return NumberCounts(
            values=values,
            counts=counts,
            mean=self._mean,
            standard_deviation=spread,
            exact=self._exact,
        )


def _merged(values: NDArray[Any], times: Counts) -> tuple[NDArray[Any], Counts]:
    """Different values in ascending order, and how often each occurs."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return ordered[starts], np.add.reduceat(times[order], starts)


def _joined_neighbours(values: Floats, counts: Counts) -> tuple[Floats, Counts]:
    """Join numbers whose ranks begin in the same of RETAINED_VALUES equal ranges; the last of them stands for
    all."""
    starts = np.cumsum(counts) - counts
    # What lies before the last number of a range weighs less than the range: no cumulative
    # share moves by more.
    ranges = starts * RETAINED_VALUES // int(counts.sum())
    firsts = np.flatnonzero(np.append(True, ranges[1:] != ranges[:-1]))
    lasts = np.append(firsts[1:], len(values)) - 1
    return values[lasts], np.add.reduceat(counts, firsts)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextCounts:
    """Hashes of texts in ascending order and how often each occurs. `limit`: hashes above it were not
    retained."""

    hashes: Hashes = field(repr=False)
    counts: Counts = field(repr=False)
    limit: float

    @property
    def exact(self) -> bool:
        """Whether all different texts were counted."""
        return self.limit >= _HASH_RANGE

    @property
    def distinct(self) -> int:
        """How many different texts there are, estimated by the largest retained hash where they are very many
        (Bar-Yossef et al. 2002, the k minimum values)."""
        if self.exact:
            return len(self.hashes)
        return round((len(self.hashes) - 1) * _HASH_RANGE / self.limit)

    def share_of(self, text: str) -> float:
        """The share of these texts, each as often as it occurs, that are `text`; 0 where its hash was not
        retained."""
        [hashed] = pd.util.hash_array(np.array([text], dtype=object), categorize=False)
        total = int(self.counts.sum())
        return float(self.counts[self.hashes == hashed].sum() / total) if total else 0.0

    def invented(self, real: TextCounts) -> float | None:
        """The share of these texts, each as often as it occurs, that the real ones do not contain; None
        without any."""
        common = min(self.limit, real.limit)
        mine = self.hashes <= common
        total = int(self.counts[mine].sum())
        if not total:
            return None
        new = ~np.isin(self.hashes[mine], real.hashes, assume_unique=True)
        return float(self.counts[mine][new].sum() / total)


class TextCounter:
    """Takes in the texts of a column block by block."""

    def __init__(self) -> None:
        self._hashes = np.empty(0, dtype=np.uint64)
        self._counts = np.empty(0, dtype=np.int64)
        self._limit = _HASH_RANGE

    def add(self, texts: list[str], times: Counts) -> None:
        """Count each text as often as `times` says."""
        if not texts:
            return
        hashes = pd.util.hash_array(np.array(texts, dtype=object), categorize=False)
        below = hashes <= self._limit
        self._hashes, self._counts = _merged(
            np.concatenate([self._hashes, hashes[below]]),
            np.concatenate([self._counts, times[below]]),
        )
        if len(self._hashes) > MAX_HASHES:
            self._hashes, self._counts = (
                self._hashes[:RETAINED_HASHES],
                self._counts[:RETAINED_HASHES],
            )
            self._limit = float(self._hashes[-1])

    def finish(self) -> TextCounts:
        """Return the counts of everything taken in."""
        return TextCounts(hashes=self._hashes, counts=self._counts, limit=self._limit)
