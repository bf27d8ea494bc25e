"""Unbiased estimates of sums over all records of functions of several columns, with the exact covariance of
their noise.

A sum of f(a, b) over records is the inner product of f and the counts of the columns a and b. As in
`unbiased`, f is split into parts, one for each subset of its columns, of which each adds up to zero over the
bins of every column of the subset. A noisy table tells of every part over its own columns, and an interaction
contrast of the part over all of them alone. Estimates of one part from several tables are averaged by inverse
variance. Parts are orthogonal to one another over the bins of a table, so that noise of a table is
independent between them (Mullins and others 2024; see `residuals`) and covariances add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from synth_engine.measurement import Clique
from synth_engine.measurement.paid_counts import PaidCounts

Floats = npt.NDArray[np.float64]
Partition = Mapping[str, npt.NDArray[np.int64]]
"""The group of each code of every column: groups from 0 on without a gap."""
Terms = Mapping[Clique, Floats]
"""Functions of groups, several at once, as sums of functions of fewer columns; shape (functions, groups of
the first column, …)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisySums:
    """values: shape (functions,); covariance: of their noise, shape (functions, functions)."""

    values: Floats
    covariance: Floats


class Sums:
    """Estimates of sums over all records from noisy tables."""

    def __init__(
        self, tables: Sequence[PaidCounts], partition: Partition, *, total: float | None = None
    ) -> None:
        """partition: of every column that a function is of; total: the number of records where it is
        public."""
        self._tables = [_GroupedTable.of(table, partition) for table in tables]
        self._total = total
        self._weights: dict[Clique, list[tuple[_GroupedTable, float]]] = {}

    def estimate(self, terms: Terms) -> NoisySums:
        """Cliques have their columns in one order, the same in all. Errors: ValueError where nothing tells of
        a part."""
        functions = len(next(iter(terms.values())))
        values, covariance = np.zeros(functions), np.zeros((functions, functions))
        left = dict(terms)
        while left:
            # What a part leaves is said of fewer columns, so that the largest subsets come first.
            clique = max(left, key=len)
            function = left.pop(clique)
            if not clique and self._total is not None:
                values += function * self._total
                continue
            for table, weight in self._weighted(clique):
                centred, rest = table.split(clique, function)
                centred = centred.reshape(functions, -1)
                values += weight * (centred @ table.observed(clique).ravel())
                spread = centred * np.sqrt(table.bins(clique).ravel())
                variance = table.noisy.variance * table.scale(clique)
                covariance += variance * weight**2 * (spread @ spread.T)
                for part, each in rest.items():
                    left[part] = left.get(part, 0.0) + weight * each
        return NoisySums(values=values, covariance=covariance)

    def _weighted(self, clique: Clique) -> list[tuple[_GroupedTable, float]]:
        """The tables that tell of a part, with weights that add up to 1."""
        if clique not in self._weights:
            tables = [table for table in self._tables if table.tells(clique)]
            if not tables:
                raise ValueError("no table tells of a part")
            precisions = [1 / table.variance_of_group(clique) for table in tables]
            self._weights[clique] = [
                (table, precision / sum(precisions))
                for table, precision in zip(tables, precisions, strict=True)
            ]
        return self._weights[clique]


@dataclass(frozen=True, kw_only=True, eq=False)
class _GroupedTable:
    """A noisy table. sizes: bins of each column; groups: the group of each bin, of columns whose bins lie
    within groups."""

    noisy: PaidCounts
    sizes: Mapping[str, int]
    groups: Mapping[str, npt.NDArray[np.int64]]

    @classmethod
    def of(cls, noisy: PaidCounts, partition: Partition) -> _GroupedTable:
        groups = {}
        for name, bins in zip(noisy.clique, noisy.bins, strict=True):
            if name in partition:
                by_bin = np.zeros(int(bins.max()) + 1, dtype=np.int64)
                by_bin[bins] = partition[name]
                if np.array_equal(by_bin[bins], partition[name]):
                    groups[name] = by_bin
        sizes = dict(zip(noisy.clique, noisy.values.shape, strict=True))
        return cls(noisy=noisy, sizes=sizes, groups=groups)

    def tells(self, clique: Clique) -> bool:
        """Whether it tells of a part over these columns: it counts all of them, by bins that lie within
        groups."""
        if self.noisy.interaction and len(clique) < len(self.sizes):
            return False
        return all(name in self.groups for name in clique)

    def scale(self, clique: Clique) -> float:
        """The variance of noise in one entry of what it tells of these columns, as a multiple of that of its
        own entries."""
        if self.noisy.interaction:
            return 1.0 / math.prod(self.sizes.values()) ** 2
        return float(math.prod(size for name, size in self.sizes.items() if name not in clique))

    def variance_of_group(self, clique: Clique) -> float:
        """About that of the noise of one group, which is that of all bins in it."""
        bins = math.prod(self.sizes[name] / (self.groups[name].max() + 1) for name in clique)
        return self.noisy.variance * self.scale(clique) * float(bins)

    def bins(self, clique: Clique) -> Floats:
        """How many bins each group has, an axis for each of these columns."""
        counts = [np.bincount(self.groups[name]).astype(np.float64) for name in clique]
        return np.asarray(reduce(np.multiply.outer, counts, np.ones(())))

    def observed(self, clique: Clique) -> Floats:
        """What it tells of groups of these columns, an axis for each in this order."""
        others = tuple(axis for axis, name in enumerate(self.sizes) if name not in clique)
        summed = self.noisy.values.sum(axis=others).astype(np.float64)
        remaining = [name for name in self.sizes if name in clique]
        for axis, name in enumerate(remaining):
            groups = self.groups[name]
            shape = (*summed.shape[:axis], int(groups.max()) + 1, *summed.shape[axis + 1 :])
            grouped = np.zeros(shape)
            np.add.at(np.moveaxis(grouped, axis, 0), groups, np.moveaxis(summed, axis, 0))
            summed = grouped
        turned: Floats = np.transpose(summed, [remaining.index(name) for name in clique])
        return turned / math.prod(self.sizes.values()) if self.noisy.interaction else turned

    def split(self, clique: Clique, function: Floats) -> tuple[Floats, dict[Clique, Floats]]:
        """The part of functions of groups that adds up to zero over the bins of each of these columns, and
        what they are beyond it, as functions of groups of fewer columns."""
        centred, shares = function, []
        for axis, name in enumerate(clique, start=1):
            shares.append(np.bincount(self.groups[name]) / self.groups[name].size)
            mean = np.tensordot(centred, shares[-1], axes=(axis, 0))
            centred = centred - np.expand_dims(mean, axis)
        rest: dict[Clique, Floats] = {}
        # f is its centred part minus the sum over S, not empty, of (-1)^|S| times its mean over the columns
        # in S.
        for size in range(1, len(clique) + 1):
            for away in itertools.combinations(range(len(clique)), size):
                mean = function
                for axis in reversed(away):
                    mean = np.tensordot(mean, shares[axis], axes=(axis + 1, 0))
                remaining = tuple(name for axis, name in enumerate(clique) if axis not in away)
                rest[remaining] = mean if size % 2 else -mean
        return centred, rest
