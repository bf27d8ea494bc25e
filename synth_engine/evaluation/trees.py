"""Real and synthetic records over a hierarchy of cells: how far apart they are, depth by depth, as entries of a report.

At depth d the shares of records in the cells of that depth are compared, and a difference weighs 2^-d, the side of a cell
beside that of the box: the earth mover's distance of Indyk and Thaper (2003), which bounds from above how far an average
record would have to be moved. Beside it stands what a plain resample of the real records would come to on average.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp as exponential
from math import floor, hypot, lgamma, log, log1p, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec import places, prefixes
from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synth_engine.evaluation import cell_sizes, wording
from synth_engine.hierarchy import Codes, Hierarchy, SpatialHierarchy

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
DIGITS = 9
MAX_DEPTH = 16
"""A difference below it weighs less than a hundred-thousandth."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OccupiedCells:
    """The smallest cells that hold records: their codes, increasing, and how many each holds. `read`: of real texts, how many
    records have one `as written`, `changed` by the rules for reading, `outside` of what is declared, and `missing`."""

    hierarchy: Hierarchy
    codes: Codes
    counts: Counts
    read: Mapping[str, int] | None = None

    @property
    def records(self) -> int:
        """How many there are in all."""
        return int(self.counts.sum())

    def at(self, depth: int) -> OccupiedCells:
        """The same by cells of a depth."""
        prefixes = self.hierarchy.prefix(self.codes, depth)
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
    """Of codes in any order, some of them twice; each stands for one record, or for as many as `counts` says."""
    unique, index = np.unique(codes, return_inverse=True)
    whole = np.bincount(index, weights=counts, minlength=unique.size).astype(np.int64)
    return OccupiedCells(hierarchy=hierarchy, codes=unique, counts=whole)


def hierarchies(domain: Domain) -> list[Hierarchy]:
    """Over which a table is compared: the coordinates of all of its places together, where every record has them, and of its
    columns of codes that have public points. A public list."""
    columns = [column for place in domain.places for column in place.columns]
    columns += [points.column for points in domain.points if points.column]
    try:
        return [prefixes.hierarchy(domain, list(dict.fromkeys(columns)))] if columns else []
    except DomainError:  # a place may be missing, or is too coarse to be halved
        return []


def of_codes(codes: Mapping[str, NDArray[Any]], domain: Domain) -> list[OccupiedCells]:
    """Of a synthetic table: one array of codes a column. Records that lie nowhere are left out."""
    tables = []
    for hierarchy in hierarchies(domain):
        leaves, outside = (
            prefixes.of_codes(hierarchy, codes, domain),
            prefixes.nowhere(hierarchy, codes, domain),
        )
        tables.append(aggregate(hierarchy, leaves if outside is None else leaves[~outside]))
    return tables


def entries(
    real: Iterable[OccupiedCells], synthetic: Iterable[OccupiedCells], domain: Domain
) -> list[dict[str, Any]]:
    """One entry for every hierarchy of points that both sides have counted."""
    by_columns = {cells.hierarchy.columns: cells for cells in synthetic}
    of_points = [cells for cells in real if isinstance(cells.hierarchy, SpatialHierarchy)]
    pairs = [
        (cells, by_columns[cells.hierarchy.columns])
        for cells in of_points
        if cells.hierarchy.columns in by_columns
    ]
    return [_entry(*pair, domain) for pair in pairs if pair[0].records and pair[1].records]


def _entry(real: OccupiedCells, synthetic: OccupiedCells, domain: Domain) -> dict[str, Any]:
    depths = range(1, min(MAX_DEPTH, real.hierarchy.depth) + 1)
    weights = np.array([2.0**-depth for depth in depths])
    at = [(real.at(depth), synthetic.at(depth)) for depth in depths]
    lines = {
        "synthetic": np.array([share_difference(*pair) for pair in at]),
        "resample": np.array(
            [resample_difference(pair[0].counts, size=synthetic.records) for pair in at]
        ),
    }
    moved = {line: np.cumsum(weights * values) for line, values in lines.items()}
    value, chance = (float(moved[line][-1]) for line in ("synthetic", "resample"))
    diagonal_km = diagonal(real.hierarchy)
    return {
        "diagonal_km": round(diagonal_km, 3),
        "columns": list(real.hierarchy.columns),
        "places": [
            *(place.name for place in domain.places),
            *(points.column for points in domain.points if points.column),
        ],
        "depths": list(depths),
        "kilometres": _kilometres(real.hierarchy, domain, depths),
        "cells": [len(pair[0].codes) for pair in at],
        "differing": {
            line: np.round(values, DIGITS).tolist() for line, values in lines.items()
        },
        "moved": {line: np.round(values, DIGITS).tolist() for line, values in moved.items()},
        "verdict": wording.moved_verdict(value, chance=chance, kilometres=diagonal_km),
    }


def _kilometres(
    hierarchy: Hierarchy, domain: Domain, depths: Iterable[int]
) -> dict[str, list[list[float]]]:
    """Of each place the cells of every depth, from south to north and from west to east."""
    by_place: dict[str, list[list[float]]] = {}
    for depth in depths:
        for size in cell_sizes.of_depth(hierarchy, domain, depth):
            by_place.setdefault(size.name, []).append(
                [round(size.north, 6), round(size.east, 6)]
            )
    return by_place


def diagonal(hierarchy: Hierarchy) -> float:
    """Kilometres along the diagonal of a box of degrees, of which every two coordinates are north and east of a place: of
    several places, of all of them together, the root of the sum of squares."""
    assert isinstance(hierarchy, SpatialHierarchy)  # noqa: S101 - the only ones with a box
    (south, west), (north, east) = (
        (ends[0::2], ends[1::2]) for ends in (hierarchy.low, hierarchy.high)
    )
    return hypot(*(places.across(*box) for box in zip(south, west, north, east, strict=True)))


def share_difference(first: OccupiedCells, second: OccupiedCells) -> float:
    """The sum over all cells of how far the two shares of records are apart, from 0 to 2."""
    union = np.union1d(first.codes, second.codes)
    shares = np.zeros((2, union.size))
    for side, cells in enumerate((first, second)):
        shares[side, np.searchsorted(union, cells.codes)] = cells.counts / cells.records
    return float(np.abs(shares[0] - shares[1]).sum())


def resample_difference(counts: Counts, *, size: int) -> float:
    """The same, on average, between records and `size` of them drawn with replacement."""
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
    """E|X - size share| of X ~ Binomial(size, share), by de Moivre's formula 2k C(size, k) share^k (1 - share)^(size - k + 1)
    with k = ⌊size share⌋ + 1."""
    if share >= 1.0:
        return 0.0
    k = min(floor(size * share) + 1, size)
    if k > 10**7:  # where the logarithms below would lose digits
        return sqrt(2 / np.pi * size * share * (1 - share))
    ways = lgamma(size + 1) - lgamma(k + 1) - lgamma(size - k + 1)
    return 2 * k * exponential(ways + k * log(share) + (size - k + 1) * log1p(-share))
