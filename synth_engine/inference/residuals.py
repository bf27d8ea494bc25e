"""The best estimate of many marginals at once from noisy tables of any cliques: residuals (Mullins and others
2024, ReM).

A table over a clique is a sum of parts, one for each subset of the clique, which are orthogonal to one
another: the part of a subset is what its table says beyond the tables of smaller subsets (it adds up to zero
along every axis), spread evenly over the other attributes. All tables that hold a subset share that part, and
white noise on a table is independent noise on its parts. So weighted least squares over all tables is a
weighted mean for each subset: noise of variance v on the table of a clique is noise of variance v·n on the
part of a subset, n the cells that add up to one cell of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from synth_engine.inference import factors
from synth_engine.inference.factors import Floats, Noisy, Sizes
from synth_engine.measurement import Clique

Parts = dict[Clique, Floats]


def estimate(
    noisy: Sequence[Noisy],
    *,
    sizes: Sizes,
    wanted: Sequence[Clique],
    total: float | None = None,
) -> dict[Clique, Floats]:
    """Tables of the wanted cliques that agree with one another wherever they overlap: weighted least squares
    in closed form, with negative cells. `total`: the number of records where it is public; otherwise it is
    estimated with the rest."""
    known = Residuals(sizes, total=total)
    for table in noisy:
        known.add(table)
    return {clique: known.table(clique) for clique in wanted}


class Residuals:
    """Weighted means of residuals; tables can be added at any time."""

    def __init__(self, sizes: Sizes, *, total: float | None = None) -> None:
        self._sizes, self._total = sizes, total
        self._sums: Parts = {}
        self._weights: dict[Clique, float] = {}

    def add(self, noisy: Noisy) -> None:
        """Take in a table; several of one clique add up in weight."""
        clique = factors.ordered(noisy.clique, self._sizes)
        values = np.asarray(
            factors.turned(noisy.values, noisy.clique, clique), dtype=np.float64
        )
        for part, residual in parts(values, clique).items():
            # A residual that sums n cells has n times the variance of a cell.
            weight = 1 / (noisy.variance * self._merged(clique, part))
            self._weights[part] = self._weights.get(part, 0.0) + weight
            self._sums[part] = self._sums.get(part, 0.0) + weight * residual

    def table(self, clique: Clique) -> Floats:
        """The least-squares estimate; what nothing was measured of is as flat as the rest allows."""
        inner = factors.ordered(clique, self._sizes)
        known = {
            part: self._mean(part) for part in factors.subsets(inner) if self._is_known(part)
        }
        return np.asarray(
            factors.turned(self._whole(known, inner), inner, clique), dtype=np.float64
        )

    def variance(self, clique: Clique) -> float:
        """The mean variance of a cell of `table`; infinite if some part of the clique was not measured."""
        inner = factors.ordered(clique, self._sizes)
        summed = 0.0
        for part in factors.subsets(inner):
            if part == () and self._total is not None:
                continue
            if part not in self._weights:
                return math.inf
            free = math.prod(self._sizes[name] - 1 for name in part)
            summed += free / (self._weights[part] * self._merged(inner, part))
        return summed / factors.cells(inner, self._sizes)

    def _merged(self, clique: Clique, part: Clique) -> int:
        return factors.cells((name for name in clique if name not in part), self._sizes)

    def _is_known(self, part: Clique) -> bool:
        return part in self._weights or (part == () and self._total is not None)

    def _mean(self, part: Clique) -> Floats:
        if part == () and self._total is not None:
            return np.asarray(float(self._total))
        if part not in self._weights:
            return np.zeros(tuple(self._sizes[name] for name in part))
        return np.asarray(self._sums[part] / self._weights[part], dtype=np.float64)

    def _whole(self, known: Parts, clique: Clique) -> Floats:
        return whole(known, clique, self._sizes)


def parts(values: Floats, clique: Clique) -> Parts:
    """The residual of every subset: the sums over the other attributes, less their mean along each axis."""
    residuals: Parts = {(): values}
    for name in clique:
        after: Parts = {}
        for part, table in residuals.items():
            sums = table.sum(axis=len(part))
            after[part] = sums
            after[(*part, name)] = table - np.expand_dims(
                sums / table.shape[len(part)], len(part)
            )
        residuals = after
    return residuals


def whole(known: Parts, clique: Clique, sizes: Sizes) -> Floats:
    """The table whose residuals these are; those that are lacking are zero."""
    table = np.zeros(tuple(sizes[name] for name in clique))
    for part, residual in known.items():
        others = factors.cells((name for name in clique if name not in part), sizes)
        table += factors.spread(residual / others, part, clique)
    return table
