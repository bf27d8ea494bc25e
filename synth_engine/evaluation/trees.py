"""Real and synthetic records over a hierarchy of cells: how far apart they are, depth by depth.

At depth d the shares of records in the cells of that depth are compared, and a difference weighs 2^-d, the
side of a cell beside that of the box: the earth mover's distance of Indyk and Thaper (2003), which bounds
from above how far an average record would have to be moved. Beside it stands what a plain resample of the
real records would come to on average.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp as exponential
from math import floor, hypot, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synth_engine.evaluation import ascending
from synth_engine.hierarchy import Codes, Hierarchy, SpatialHierarchy
from synth_engine.indexing import places, prefixes

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
DIGITS = 9
MAX_DEPTH = 16
"""A difference below it weighs less than a hundred-thousandth."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OccupiedCells:
    """The smallest cells that hold records: their codes, increasing, and how many each holds. `read`: of real
    texts, how many records have one `as written`, `changed` by the rules for reading, `outside` of what is
    declared, and `missing`."""

    hierarchy: Hierarchy
    codes: Codes
    counts: Counts
    read: Mapping[str, int] | None = None

    @property
    def records(self) -> int:
        """Counts all records."""
        return int(self.counts.sum())

    def at(self, depth: int) -> OccupiedCells:
        """The same by cells of a depth."""
        prefixes = self.hierarchy.prefix(self.codes, depth)
        # Codes increase, so cells of one prefix are adjacent and each new prefix starts a
        # group.
        starts = (
            np.flatnonzero(np.append(True, prefixes[1:] != prefixes[:-1]))
            if prefixes.size
            else np.zeros(0, dtype=np.int64)
        )
        counts = np.add.reduceat(self.counts, starts) if starts.size else self.counts
        return OccupiedCells(hierarchy=self.hierarchy, codes=prefixes[starts], counts=counts)


def aggregate(
    hierarchy: Hierarchy, codes: Codes, counts: Counts | None = None
) -> OccupiedCells:
    """Counts codes in any order, some of them twice; each stands for one record, or for as many
    as in `counts`."""
    unique, index = np.unique(codes, return_inverse=True)
    whole = np.bincount(index, weights=counts, minlength=unique.size).astype(np.int64)
    return OccupiedCells(hierarchy=hierarchy, codes=unique, counts=whole)


def hierarchies(domain: Domain) -> list[Hierarchy]:
    """Over which a table is compared: the coordinates of all of its places together, where every record has
    them, and of its columns of codes that have public points. A public list."""
    columns = [column for place in domain.places for column in place.columns]
    columns += [points.column for points in domain.points if points.column]
    try:
        return [prefixes.hierarchy(domain, list(dict.fromkeys(columns)))] if columns else []
    except DomainError:  # a place may be missing, or is too coarse to be halved
        return []


def diagonal(hierarchy: SpatialHierarchy) -> float:
    """Kilometres along the diagonal of a box of degrees, of which every two coordinates are north and east of
    a place: of several places, of all of them together, the root of the sum of squares."""
    (south, west), (north, east) = (
        (ends[0::2], ends[1::2]) for ends in (hierarchy.low, hierarchy.high)
    )
    return hypot(*(places.across(*box) for box in zip(south, west, north, east, strict=True)))


def share_difference(first: OccupiedCells, second: OccupiedCells) -> float:
    """The sum over all cells of how far the two shares of records are apart, from 0 to 2."""
    union = ascending.union(first.codes, second.codes)
    shares = np.zeros((2, union.size))
    for side, cells in enumerate((first, second)):
        shares[side, np.searchsorted(union, cells.codes)] = cells.counts / cells.records
    return float(np.abs(shares[0] - shares[1]).sum())


def resample_difference(counts: Counts, *, size: int) -> float:
    """The same, on average, between records and `size` of them drawn with replacement."""
    # The mean deviation depends on the count alone, and most cells share few counts.
    different, times = np.unique(counts, return_counts=True)
    total = int(counts.sum())
    return float(
        sum(
            t * mean_deviation(size, c / total)
            for c, t in zip(different.tolist(), times, strict=True)
        )
        / size
    )


@lru_cache(maxsize=2**16)
def mean_deviation(size: int, share: float) -> float:
    """E|X - size share| of X ~ Binomial(size, share), by de Moivre's formula 2k C(size, k) share^k (1 -
    share)^(size - k + 1) with k = ⌊size share⌋ + 1."""
    if share >= 1.0:
        return 0.0
    k = min(floor(size * share) + 1, size)
    # De Moivre (1730); see Diaconis and Zabell, Closed Form Summation for Classical
    # Distributions (1991). Beyond this bound the normal value is used.
    if k > 10**7:  # where the logarithms below would lose digits
        return sqrt(2 / np.pi * size * share * (1 - share))
    ways = lgamma(size + 1) - lgamma(k + 1) - lgamma(size - k + 1)
    return 2 * k * exponential(ways + k * log(share) + (size - k + 1) * log1p(-share))
