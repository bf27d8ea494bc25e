"""A mixture of products of columns, fitted to all noisy tables at once: what a table looks like before its
own answer.

Every component has a distribution of each attribute, over at most some thirty bins, and a share. The fit is
by weighted least squares (each table by the precision of its noise), pulled to the one-way tables and, the
more so the less a pair was found to depend, to independence. It is post-processing of noisy answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from synth_engine import watching
from synth_engine.inference import bins as binning
from synth_engine.inference import mixture_kernels as kernels
from synth_engine.inference.bins import Bins
from synth_engine.inference.mixture_kernels import COMPONENTS, Places, Singles, WantedTables

Floats = npt.NDArray[np.float64]

STEPS = 300
COMPONENT_LEVEL = 2
"""The resolution at which components are described: the third of `bins.LEVELS`."""
_ONEWAY_WEIGHT = 50.0
"""Weight of the one-way tables in the loss, whose cells of pairs have a median least weight of one."""
_RATE, _MIN_RATE = 0.1, 1e-3
_INDEPENDENCE = 3.0
"""The standard deviation, in multiples of a pair's distance, by which a cell is taken to differ from
independence."""
_SPREAD = 0.25
"""Standard deviation of the random initial logits, by which components begin to differ."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """A noisy table of two attributes at one resolution of each, the variance of its cells, and how far the
    pair was found from independence, in L1, as a share of the records."""

    axes: tuple[int, int]
    levels: tuple[int, int]
    values: Floats
    variance: float
    distance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixture:
    """shares: of the components; columns: of each attribute the shares of its codes within each component;
    coarse: the same of its bins at `COMPONENT_LEVEL`."""

    shares: Floats
    columns: tuple[Floats, ...]
    coarse: tuple[Floats, ...]

    def table(self, axes: Sequence[int]) -> Floats:
        """The shares of the cells of two or three attributes; they add up to 1."""
        first, *others = (self.columns[axis] for axis in axes)
        if len(others) == 1:
            table: Floats = (first * self.shares) @ others[0].T
            return table
        between = np.einsum("ik,jk->ijk", first * self.shares, others[0]).reshape(
            -1, self.shares.size
        )
        three: Floats = (between @ others[1].T).reshape(first.shape[0], others[0].shape[0], -1)
        return three


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bins:
    """The bins of all attributes at `COMPONENT_LEVEL`, one attribute after the other, and how views add them
    up: each is an attribute at one resolution in use.

    first: where each attribute begins, and the end of all; ones: the shares of the bins in the one-way
    tables; source, target: which bin belongs to which bin of a view; seen: how many bins all views have."""

    first: Places
    ones: Singles
    source: Places
    target: Places
    seen: int

    @classmethod
    def of(
        cls,
        shares: Sequence[Floats],
        levels: Sequence[Sequence[Bins]],
        views: Sequence[tuple[int, int]],
    ) -> _Bins:
        first = np.cumsum([0, *(share.size for share in shares)])
        source, target, seen = [], [], 0
        for axis, level in views:
            bins = binning.coarse_of_fine(levels[axis][COMPONENT_LEVEL], levels[axis][level])
            source.append(first[axis] + np.arange(bins.size))
            target.append(seen + bins)
            seen += int(bins.max()) + 1
        return cls(
            first=first,
            ones=np.concatenate(shares).astype(np.float32),
            source=np.concatenate([*source, first[:0]]),
            target=np.concatenate([*target, first[:0]]),
            seen=seen,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Wanted:
    """All tables, and the attribute and the resolution of each view, in the order in which their bins are
    numbered."""

    views: tuple[tuple[int, int], ...]
    tables: WantedTables


def fits(
    columns: Sequence[Floats],
    levels: Sequence[Sequence[Bins]],
    pairs: Sequence[Pair],
    *,
    rows: float,
    rngs: Sequence[np.random.Generator],
) -> list[Mixture]:
    """One mixture for each generator, from which its random start comes.

    columns: one-way counts; levels: the bins of each attribute at every resolution; rows: their sum."""
    shares = [
        binning.sum_into_bins(column, [one[COMPONENT_LEVEL]]) / rows
        for column, one in zip(columns, levels, strict=True)
    ]
    wanted = _wanted(columns, levels, pairs, rows=rows) if pairs else None
    bins = _Bins.of(shares, levels, () if wanted is None else wanted.views)
    return [_fit(columns, levels, bins, wanted, rng=rng) for rng in watching.each(list(rngs))]


def _fit(
    columns: Sequence[Floats],
    levels: Sequence[Sequence[Bins]],
    bins: _Bins,
    wanted: _Wanted | None,
    *,
    rng: np.random.Generator,
) -> Mixture:
    # Components start near the one-way tables, with random differences that break their
    # symmetry.
    start = np.log(np.maximum(bins.ones, 1e-6))[:, None] + rng.normal(
        0, _SPREAD, (bins.ones.size, COMPONENTS)
    )
    logits = start.astype(np.float32)
    weights = rng.normal(0, _SPREAD / 5, COMPONENTS).astype(np.float32)
    if wanted is not None:
        _descend(logits, weights, bins=bins, tables=wanted.tables)
    coarse = np.split(_softmax(logits, bins.first).astype(np.float64), bins.first[1:-1])
    return Mixture(
        shares=_softmax_of_shares(weights).astype(np.float64),
        columns=tuple(
            within[one[COMPONENT_LEVEL]] * _within(column, one[COMPONENT_LEVEL])[:, None]
            for within, column, one in zip(coarse, columns, levels, strict=True)
        ),
        coarse=tuple(coarse),
    )


def _within(column: Floats, bins: Bins) -> Floats:
    """The share of each code within its bin."""
    of_bin, codes = np.bincount(bins, weights=column)[bins], np.bincount(bins)[bins]
    return np.where(of_bin > 0, column / np.maximum(of_bin, 1e-12), 1 / codes)


def _wanted(
    columns: Sequence[Floats],
    levels: Sequence[Sequence[Bins]],
    pairs: Sequence[Pair],
    *,
    rows: float,
) -> _Wanted:
    begins: dict[tuple[int, int], int] = {}
    end = 0
    tables: list[_WantedTable] = []
    for pair in pairs:
        used = [
            (axis, max(level, COMPONENT_LEVEL))
            for axis, level in zip(pair.axes, pair.levels, strict=True)
        ]
        between = [
            binning.coarse_of_fine(levels[axis][level], levels[axis][view])
            for (axis, view), level in zip(used, pair.levels, strict=True)
        ]
        values = binning.sum_into_bins(pair.values, between)
        for view, size in zip(used, values.shape, strict=True):
            if view not in begins:
                begins[view] = end
                end += size
        margins = [
            binning.sum_into_bins(columns[axis], [levels[axis][view]]) / rows
            for axis, view in used
        ]
        product = np.multiply.outer(*margins)
        dependence = np.multiply.outer(
            *(binning.dependence_weights(margin * rows) for margin in margins)
        )
        noise = rows**2 * values.size / (pair.variance * pair.values.size)
        # The less dependent a pair was found to be, the stronger its cells are pulled to
        # independence.
        prior = 1 / ((_INDEPENDENCE * pair.distance * dependence) ** 2 + 1e-14)
        cells = (values / rows * noise + product * prior) / (noise + prior)
        weight = noise + prior
        left, right = (begins[view] for view in used)
        # The longer side of a table lies along the rows in memory.
        if values.shape[0] > values.shape[1]:
            left, right, cells, weight = right, left, cells.T, weight.T
        tables.append(_WantedTable(left, right, cells, weight))
    tables.sort(key=lambda table: (table.right, table.left))
    return _Wanted(views=tuple(begins), tables=_laid_out(tables))


def _laid_out(tables: Sequence[_WantedTable]) -> WantedTables:
    """The tables one after another, as the compiled loop reads them."""
    # Scaled, so that one learning rate suits every number of records and budget.
    scale = float(np.median([table.weight.min() for table in tables]))
    starts = np.cumsum([0, *(table.cells.size for table in tables)])
    return WantedTables(
        sides=np.array(
            [
                (table.left, table.right, *table.cells.shape, start)
                for table, start in zip(tables, starts, strict=False)
            ],
            dtype=np.int64,
        ),
        wanted=np.concatenate([table.cells.ravel() for table in tables], dtype=np.float32),
        weight=np.concatenate(
            [table.weight.ravel() / scale for table in tables], dtype=np.float32
        ),
    )


class _WantedTable(NamedTuple):
    """What a pair shall have in each cell and how much that counts, with where its two sides begin among the
    views."""

    left: int
    right: int
    cells: Floats
    weight: Floats


def _descend(logits: Singles, weights: Singles, *, bins: _Bins, tables: WantedTables) -> None:
    """Adam (Kingma and Ba 2015) with a rate that falls to almost nothing; changes logits and weights in
    place."""
    moments = [
        (np.zeros(one.size, np.float32), np.zeros(one.size, np.float32))
        for one in (logits, weights)
    ]
    seen, back = (np.zeros((bins.seen, COMPONENTS), dtype=np.float32) for _ in range(2))
    for step in watching.each(range(1, STEPS + 1)):
        columns, shares = _softmax(logits, bins.first), _softmax_of_shares(weights)
        kernels.see(columns, bins.source, bins.target, seen)
        gradient, of_shares = np.zeros_like(logits), np.zeros_like(weights)
        back[:] = 0
        kernels.add_slopes(tables, seen, shares, back, of_shares)
        kernels.see_back(back, bins.source, bins.target, gradient)
        kernels.add_pulls(columns, shares, bins.ones, _ONEWAY_WEIGHT, gradient, of_shares)
        kernels.through_softmax(columns, bins.first, gradient)
        of_shares = shares * (of_shares - (of_shares * shares).sum())
        # Cosine decay: the last steps are too small to oscillate.
        rate = _RATE / 2 * (1 + math.cos(math.pi * (step - 1) / STEPS)) + _MIN_RATE
        for value, slopes, (mean, square) in zip(
            (logits, weights), (gradient, of_shares), moments, strict=True
        ):
            kernels.adam(value.ravel(), slopes.ravel(), mean, square, step, rate)


def _softmax(logits: Singles, first: Places) -> Singles:
    """Of each component over the bins of each attribute, shape (bins, components)."""
    largest = np.maximum.reduceat(logits, first[:-1], axis=0)
    shares: Singles = np.exp(logits - np.repeat(largest, np.diff(first), axis=0))
    kernels.normalize(shares, first)
    return shares


def _softmax_of_shares(weights: Singles) -> Singles:
    exponentials = np.exp(weights - weights.max())
    shares: Singles = exponentials / exponentials.sum()
    return shares
