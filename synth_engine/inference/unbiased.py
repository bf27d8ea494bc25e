"""Unbiased estimates of counts from noisy tables, each with the exact variance of its noise: for intervals,
not for models.

The indicator of a cell is a product over columns, and each factor is split into its mean and what deviates
from it. The count of the cell is then a sum of parts, one for each subset of the columns, which a noisy table
tells of every subset of its own columns, and an interaction contrast of the whole set alone. Several tables
that tell of one part are averaged by inverse variance: where all count by the same bins this is weighted
least squares over all of them (Mullins and others 2024; see `residuals`). Where they count by different bins
the weights are no longer the best ones, and the estimate is still unbiased. The variance is that of the sum
which is really taken: noise that two parts share through one table is added up before it is squared, so that
it is exact in any case.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt

from synth_engine.measurement import Clique
from synth_engine.measurement.paid_counts import PaidCounts

Floats = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
Groups = npt.NDArray[np.bool_]
"""Groups of codes of one column, shape (groups, codes): whether a group holds a code."""

_NONE = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class UnbiasedTable:
    """Estimates of the cells of a table, one axis for each of its columns, along it groups of codes.

    values: the estimates, NaN of cells that no answer counts; variances: of their noise; heavy: whether some
    of the noise has the tails of a Laplace law."""

    values: Floats
    variances: Floats
    heavy: Truth

    @property
    def measured(self) -> Truth:
        """The cells that answers count."""
        return ~np.isnan(self.values)


def estimate(
    tables: Sequence[PaidCounts],
    clique: Clique,
    groups: Sequence[Groups],
    *,
    total: float | None = None,
) -> UnbiasedTable:
    """Estimate every cell of a table of groups of codes. groups: of each column of the clique, in its order;
    total: the number of records where it is public. A cell is measured where some answer counts all columns
    of the clique by bins of which the groups of the cell are made up."""
    shape = tuple(len(each) for each in groups)
    best = UnbiasedTable(
        values=np.full(shape, np.nan),
        variances=np.full(shape, np.inf),
        heavy=np.zeros(shape, dtype=np.bool_),
    )
    if not clique:
        return _Resolution(tables=tables, clique=(), groups=(), means=(), total=total).table()
    resolutions = {
        tuple(_bins_of(table, name).tobytes() for name in clique): table
        for table in tables
        if set(clique) <= set(table.clique)
    }
    # Which resolution is used follows from the scales of noise alone: to choose by the noisy values would
    # bias them.
    for table in resolutions.values():
        bins = [_bins_of(table, name) for name in clique]
        fine = [_made_up_of(each, by) for each, by in zip(groups, bins, strict=True)]
        if not all(each.any() for each in fine):
            continue
        chosen = [each[rows] for each, rows in zip(groups, fine, strict=True)]
        means = [_by_bins(each, by).mean(axis=1) for each, by in zip(chosen, bins, strict=True)]
        estimates = _Resolution(
            tables=tables, clique=clique, groups=chosen, means=means, total=total
        ).table()
        cells = np.ix_(*(np.flatnonzero(rows) for rows in fine))
        better = estimates.variances < best.variances[cells]
        for name in ("values", "variances", "heavy"):
            whole = getattr(best, name)
            whole[cells] = np.where(better, getattr(estimates, name), whole[cells])
    return best


def _bins_of(table: PaidCounts, name: str) -> npt.NDArray[np.int64]:
    return table.bins[table.clique.index(name)]


def _by_bins(vectors: npt.NDArray[np.generic], bins: npt.NDArray[np.int64]) -> Floats:
    """Vectors over codes that are constant within bins, by bins; shape (groups, bins)."""
    first = np.unique(bins, return_index=True)[1]
    by_bins: Floats = vectors[:, first].astype(np.float64)
    return by_bins


def _made_up_of(groups: Groups, bins: npt.NDArray[np.int64]) -> Truth:
    """Whether each group consists of whole bins."""
    sizes = np.bincount(bins)
    if sizes.size == bins.size:
        return np.ones(len(groups), dtype=np.bool_)
    order = np.argsort(bins, kind="stable")
    starts = np.cumsum(sizes) - sizes
    inside = np.add.reduceat(groups[:, order].astype(np.int64), starts, axis=1)
    whole: Truth = ((inside == 0) | (inside == sizes)).all(axis=1)
    return whole


@dataclass(frozen=True, kw_only=True, eq=False)
class _Factor:
    """A column within a table, for a resolution. deviating: what deviates from the mean, shape (groups, bins
    of the table); means: shape (groups,)."""

    deviating: Floats
    means: Floats

    @property
    def bins(self) -> int:
        return int(self.deviating.shape[1])

    def gram(self, first: bool, second: bool) -> Floats:
        """Products of two vectors of the column, each either what deviates or the mean; shape (groups,)."""
        if first and second:
            return np.asarray((self.deviating**2).sum(axis=1))
        if first or second:
            return np.asarray(self.means * self.deviating.sum(axis=1))
        return np.asarray(self.means**2 * self.bins)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Resolution:
    """Cells whose indicators are split at these means; groups: of each column, shape (groups, codes)."""

    tables: Sequence[PaidCounts]
    clique: Clique
    groups: Sequence[Groups]
    means: Sequence[Floats]
    total: float | None
    _usable: dict[Clique, list[tuple[int, float]]] = field(default_factory=dict)

    def table(self) -> UnbiasedTable:
        shape = tuple(len(each) for each in self.groups)
        factors = [self._factors(table) for table in self.tables]
        values = np.zeros(shape)
        variances = np.zeros(shape)
        heavy = False
        taken: dict[int, dict[Clique, float]] = {}
        for part in self._parts():
            if not part and self.total is not None:
                values += self._spread(np.array(float(self.total)), part)
                continue
            weights = self._weights(part, factors)
            if not weights:
                return UnbiasedTable(
                    values=np.full(shape, np.nan),
                    variances=np.full(shape, np.inf),
                    heavy=np.zeros(shape, dtype=np.bool_),
                )
            for number, weight in weights.items():
                observed = self._observed(self.tables[number], factors[number], part)
                values += weight * self._spread(observed, part)
                taken.setdefault(number, {})[part] = weight
        for number, by_part in taken.items():
            heavy |= self.tables[number].law == "discrete-laplace"
            variances += self._variance(self.tables[number], factors[number], by_part)
        return UnbiasedTable(values=values, variances=variances, heavy=np.full(shape, heavy))

    def _parts(self) -> Iterator[Clique]:
        for size in range(len(self.clique) + 1):
            yield from itertools.combinations(self.clique, size)

    def _factors(self, table: PaidCounts) -> dict[str, _Factor | None]:
        """The columns of the clique in a table; None of one that the table counts too coarsely for these
        groups."""
        estimates: dict[str, _Factor | None] = {}
        for name, groups, means in zip(self.clique, self.groups, self.means, strict=True):
            if name not in table.clique:
                continue
            bins = _bins_of(table, name)
            if not _made_up_of(groups, bins).all():
                estimates[name] = None
                continue
            estimates[name] = _Factor(
                deviating=_by_bins(groups, bins) - means[:, None], means=means
            )
        return estimates

    def _weights(
        self, part: Clique, factors: Sequence[dict[str, _Factor | None]]
    ) -> dict[int, float]:
        """The weights of the tables that tell of a part; they add up to 1."""
        precisions: dict[int, float] = {}
        for number, (table, columns) in enumerate(zip(self.tables, factors, strict=True)):
            variance = self._variance_of_part(table, columns, part)
            if variance is not None:
                precisions[number] = 1 / variance
        whole = sum(precisions.values())
        return {number: precision / whole for number, precision in precisions.items()}

    def _variance_of_part(
        self, table: PaidCounts, columns: dict[str, _Factor | None], part: Clique
    ) -> float | None:
        """The variance of the noise of a part in a table, on average over groups; None of a table that does
        not tell of it."""
        used = [columns.get(name) for name in part]
        if any(each is None for each in used):
            return None
        if table.interaction:
            # A contrast tells of its own columns alone, and of vectors that add up to zero over its bins.
            if set(part) != set(table.clique):
                return None
            if any(np.abs(each.deviating.sum(axis=1)).max() > _NONE for each in used if each):
                return None
            scale = 1.0 / math.prod(table.values.shape) ** 2
        else:
            others = [name for name in table.clique if name not in part]
            scale = float(math.prod(table.values.shape[table.clique.index(n)] for n in others))
        for each in used:
            if each is not None:
                scale *= max(float(each.gram(True, True).mean()), _NONE)
        return table.variance * scale

    def _observed(
        self, table: PaidCounts, columns: dict[str, _Factor | None], part: Clique
    ) -> Floats:
        """What a table tells of a part: one axis for each of its columns, in order, along it groups."""
        axes = [table.clique.index(name) for name in part]
        others = tuple(axis for axis in range(table.values.ndim) if axis not in axes)
        left = table.values.sum(axis=others).astype(np.float64)
        left = np.transpose(left, np.argsort(np.argsort(axes)) if axes else None)
        for name in part:
            factor = columns[name]
            if (
                factor is None
            ):  # `_weights` took tables alone that count all of the part finely enough
                raise ValueError("a table does not tell of this part")
            # The first axis is contracted and its groups are put last, so that the order stays.
            left = np.tensordot(left, factor.deviating, axes=(0, 1))
        observed: Floats = left / math.prod(table.values.shape) if table.interaction else left
        return observed

    def _spread(self, observed: Floats, part: Clique) -> Floats:
        """A part over the groups of all columns: times the means of those that it does not have."""
        spread = np.asarray(observed)
        for axis, name in enumerate(self.clique):
            if name not in part:
                spread = np.expand_dims(spread, axis)
                means = self.means[axis]
                spread = spread * means.reshape(
                    tuple(-1 if other == axis else 1 for other in range(spread.ndim))
                )
        return spread

    def _variance(
        self,
        table: PaidCounts,
        columns: dict[str, _Factor | None],
        weights: dict[Clique, float],
    ) -> Floats:
        """The variance of the noise that one table adds to each cell, through all parts for which it is
        used."""
        if table.interaction:
            used = [columns[name] for name in self.clique if name in table.clique]
            (weight,) = weights.values()
            squares = [each.gram(True, True) for each in used if each is not None]
            scale = table.variance * (weight / math.prod(table.values.shape)) ** 2
            return scale * self._product(squares, next(iter(weights)))
        shape = tuple(len(each) for each in self.groups)
        others = math.prod(
            size
            for name, size in zip(table.clique, table.values.shape, strict=True)
            if name not in self.clique
        )
        variances = np.zeros(shape)
        for (first, weight), (second, other) in itertools.product(weights.items(), repeat=2):
            vectors = []
            for name, means in zip(self.clique, self.means, strict=True):
                factor = columns.get(name)
                if factor is not None:
                    vectors.append(factor.gram(name in first, name in second))
                elif name in table.clique:
                    # Too coarse for these groups, so that no part here has it: only its sum is taken.
                    size = table.values.shape[table.clique.index(name)]
                    vectors.append(means**2 * size)
                else:
                    vectors.append(means**2)
            if all(np.abs(each).max() > _NONE for each in vectors):
                variances += weight * other * reduce(np.multiply.outer, vectors, np.ones(()))
        return np.asarray(table.variance * others * np.maximum(variances, 0.0))

    def _product(self, squares: Sequence[Floats], part: Clique) -> Floats:
        """The product over columns of what deviates, and of the squared means of columns that a part does not
        have."""
        given = dict(zip(part, squares, strict=True))
        vectors = [
            given[name] if name in given else means**2
            for name, means in zip(self.clique, self.means, strict=True)
        ]
        return np.asarray(reduce(np.multiply.outer, vectors, np.ones(())))
