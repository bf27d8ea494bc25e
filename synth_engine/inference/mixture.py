"""A mixture of products of columns, fitted to all noisy tables at once: what a table looks like before its own answer.

Every component has a distribution of each attribute, over at most some thirty bins, and a share. The fit is by weighted
least squares (each table by the precision of its noise), pulled to the one-way tables and, the more so the less a pair
was found to depend, to independence. It is post-processing of noisy answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from synth_engine import watching
from synth_engine.inference import bins as binning
from synth_engine.inference.bins import Bins

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

COMPONENTS = 24
STEPS = 300
COMPONENT_LEVEL = 2
"""The resolution at which components are described: the third of `bins.LEVELS`."""
_ONEWAY_WEIGHT = 50.0
"""Weight of the one-way tables in the loss, whose cells of pairs have a median least weight of one."""
_RATE, _MIN_RATE = 0.1, 1e-3
_INDEPENDENCE = 2.0
"""The standard deviation, in multiples of a pair's distance, by which a cell is taken to differ from independence."""
_SPREAD = 0.5
"""Standard deviation of the random initial logits, by which components begin to differ."""
_LEAST_BINS = 4
"""Tables of fewer bins are fitted as tables of so many, together with others."""
_LOG_ZERO = -1e9
"""Logit of bins that an attribute does not have."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """A noisy table of two attributes at one resolution of each, the variance of its cells, and how far the pair was
    found from independence, in L1, as a share of the records."""

    axes: tuple[int, int]
    levels: tuple[int, int]
    values: Floats
    variance: float
    distance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixture:
    """shares: of the components; columns: of each attribute the shares of its codes within each component; coarse: the same of
    its bins at `COMPONENT_LEVEL`."""

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
class _TableSide:
    """One side of a group of tables. views: of each table, which view it has here; bins: how many bins all of these have, at most;
    sums: adds up tables of the same view, shape (views, tables)."""

    views: npt.NDArray[np.intp]
    bins: int
    sums: sparse.csr_array


@dataclass(frozen=True, kw_only=True, eq=False)
class _TableGroup:
    """Tables of about the same shape, each in a rectangle of its own; shape (tables, bins, bins)."""

    wanted: Singles
    weight: Singles
    left: _TableSide
    right: _TableSide


@dataclass(frozen=True, kw_only=True, eq=False)
class _Blocks:
    """All tables in groups, with what connects them to the attributes.

    views: one for each attribute and resolution in use; `of` is its attribute, `sums` what adds up its bins.
    """

    groups: tuple[_TableGroup, ...]
    of: npt.NDArray[np.intp]
    sums: Singles


def fit(
    columns: Sequence[Floats],
    levels: Sequence[Sequence[Bins]],
    pairs: Sequence[Pair],
    *,
    rows: float,
    rng: np.random.Generator,
) -> Mixture:
    """columns: one-way counts; levels: the bins of each attribute at every resolution; rows: their sum."""
    coarse = [one[COMPONENT_LEVEL] for one in levels]
    shares = [
        binning.sum_into_bins(column, [bins]) / rows
        for column, bins in zip(columns, coarse, strict=True)
    ]
    width = max(share.size for share in shares)
    ones = np.zeros((len(shares), width), dtype=np.float32)
    logits = np.full((len(shares), width, COMPONENTS), _LOG_ZERO, dtype=np.float32)
    for axis, share in enumerate(shares):
        ones[axis, : share.size] = share
        # Components start near the one-way tables, with random differences that break their
        # symmetry.
        start = np.log(np.maximum(share, 1e-6))[:, None] + rng.normal(
            0, _SPREAD, (share.size, COMPONENTS)
        )
        logits[axis, : share.size] = start
    weights = rng.normal(0, _SPREAD / 5, COMPONENTS).astype(np.float32)
    if pairs:
        blocks = _blocks(columns, levels, pairs, rows=rows, width=width)
        _descend(logits, weights, ones=ones, blocks=blocks)
    within_components = _softmax(logits, axis=1).astype(np.float64)
    return Mixture(
        shares=_softmax(weights, axis=0).astype(np.float64),
        columns=tuple(
            within_components[axis][bins] * _within(column, bins)[:, None]
            for axis, (column, bins) in enumerate(zip(columns, coarse, strict=True))
        ),
        coarse=tuple(
            within_components[axis, : share.size] for axis, share in enumerate(shares)
        ),
    )


def _within(column: Floats, bins: Bins) -> Floats:
    """The share of each code within its bin."""
    of_bin, codes = np.bincount(bins, weights=column)[bins], np.bincount(bins)[bins]
    return np.where(of_bin > 0, column / np.maximum(of_bin, 1e-12), 1 / codes)


def _blocks(
    columns: Sequence[Floats],
    levels: Sequence[Sequence[Bins]],
    pairs: Sequence[Pair],
    *,
    rows: float,
    width: int,
) -> _Blocks:
    views: dict[tuple[int, int], int] = {}
    tables: dict[tuple[int, int], list[_WantedTable]] = {}
    for pair in pairs:
        used = [
            (axis, max(level, COMPONENT_LEVEL))
            for axis, level in zip(pair.axes, pair.levels, strict=True)
        ]
        left, right = (views.setdefault(seen, len(views)) for seen in used)
        between = [
            binning.coarse_of_fine(levels[axis][level], levels[axis][view])
            for (axis, view), level in zip(used, pair.levels, strict=True)
        ]
        values = binning.sum_into_bins(pair.values, between)
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
        table = _WantedTable(
            views=(left, right),
            wanted=(values / rows * noise + product * prior) / (noise + prior),
            weight=noise + prior,
        )
        shape = _padded(values.shape[0], width), _padded(values.shape[1], width)
        tables.setdefault(shape, []).append(table)
    # Scaled, so that one learning rate suits every number of records and budget.
    scale = float(np.median([one.weight.min() for group in tables.values() for one in group]))
    sums = np.zeros((len(views), width, width), dtype=np.float32)
    for (axis, level), number in views.items():
        bins = binning.coarse_of_fine(levels[axis][COMPONENT_LEVEL], levels[axis][level])
        sums[number, bins, np.arange(bins.size)] = 1
    return _Blocks(
        groups=tuple(
            _group(tables[shape], shape, views=len(views), scale=scale)
            for shape in sorted(tables)
        ),
        of=np.array([axis for axis, _ in views]),
        sums=sums,
    )


class _WantedTable(NamedTuple):
    """What a pair shall have in each cell and how much that counts, with the views of its two sides."""

    views: tuple[int, int]
    wanted: Floats
    weight: Floats


def _padded(bins: int, width: int) -> int:
    """The next of a few numbers of bins, so that there are few groups and little of them is empty."""
    return min(max(_LEAST_BINS, 1 << (bins - 1).bit_length()), width)


def _group(
    tables: Sequence[_WantedTable], shape: tuple[int, int], *, views: int, scale: float
) -> _TableGroup:
    wanted, weight = (np.zeros((len(tables), *shape), dtype=np.float32) for _ in range(2))
    for number, table in enumerate(tables):
        rectangle = np.s_[number, : table.wanted.shape[0], : table.wanted.shape[1]]
        wanted[rectangle] = table.wanted
        weight[rectangle] = table.weight / scale
    left, right = (
        _side(np.array([table.views[at] for table in tables]), shape[at], views=views)
        for at in range(2)
    )
    return _TableGroup(wanted=wanted, weight=weight, left=left, right=right)


def _side(of_tables: npt.NDArray[np.intp], bins: int, *, views: int) -> _TableSide:
    ones = np.ones(of_tables.size, dtype=np.float32)
    sums = sparse.csr_array(
        (ones, (of_tables, np.arange(of_tables.size))), shape=(views, of_tables.size)
    )
    return _TableSide(views=of_tables, bins=bins, sums=sums)


def _descend(logits: Singles, weights: Singles, *, ones: Singles, blocks: _Blocks) -> None:
    """Adam (Kingma and Ba 2015) with a rate that falls to almost nothing; changes logits and weights in place."""
    moments = [(np.zeros_like(one), np.zeros_like(one)) for one in (logits, weights)]
    to_attribute = _indicator(blocks.of, len(logits))
    for step in watching.each(range(1, STEPS + 1)):
        columns, shares = _softmax(logits, axis=1), _softmax(weights, axis=0)
        seen = blocks.sums @ columns[blocks.of]
        back = np.zeros_like(seen)
        of_shares = np.zeros_like(shares)
        for group in blocks.groups:
            of_shares += _slopes(group, seen, shares, back=back)
        back = blocks.sums.transpose(0, 2, 1) @ back
        gradient = (to_attribute @ back.reshape(len(back), -1)).reshape(logits.shape)
        pull = (columns @ shares - ones) * np.float32(_ONEWAY_WEIGHT)
        gradient += pull[:, :, None] * shares
        of_shares += np.einsum("aw,awk->k", pull, columns)
        # Backwards through the softmax of the columns, and below through that of the
        # shares.
        gradient = columns * (gradient - (gradient * columns).sum(axis=1, keepdims=True))
        of_shares = shares * (of_shares - (of_shares * shares).sum())
        # Cosine decay: the last steps are too small to oscillate.
        rate = _RATE / 2 * (1 + math.cos(math.pi * (step - 1) / STEPS)) + _MIN_RATE
        for value, slope, (mean, square) in zip(
            (logits, weights), (gradient, of_shares), moments, strict=True
        ):
            # Adam with beta1 = 0.9 and beta2 = 0.99.
            mean += np.float32(0.1) * (slope - mean)
            square += np.float32(0.01) * (slope * slope - square)
            scale = np.sqrt(square / np.float32(1 - 0.99**step)) + np.float32(1e-10)
            value -= np.float32(rate / (1 - 0.9**step)) * mean / scale


def _slopes(group: _TableGroup, seen: Singles, shares: Singles, *, back: Singles) -> Singles:
    """Adds to `back` by how much the loss of a group rises with the bins of each view, and returns by how much with the shares."""
    left, right = group.left, group.right
    first, second = seen[left.views, : left.bins], seen[right.views, : right.bins]
    weighted = first * shares
    wrong = weighted @ second.transpose(0, 2, 1)
    wrong -= group.wanted
    wrong *= group.weight
    to_left, to_right = wrong @ second, wrong.transpose(0, 2, 1) @ weighted
    of_shares: Singles = np.einsum("twk,twk->k", to_left, first)
    to_left *= shares
    for side, slopes in ((left, to_left), (right, to_right)):
        added = side.sums @ slopes.reshape(len(slopes), -1)
        back[:, : side.bins] += added.reshape(len(back), side.bins, -1)
    return of_shares


def _indicator(places: npt.NDArray[np.intp], size: int) -> Singles:
    indicator = np.zeros((size, places.size), dtype=np.float32)
    indicator[places, np.arange(places.size)] = 1
    return indicator


def _softmax(logits: Singles, *, axis: int) -> Singles:
    exponentials = np.exp(logits - logits.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)  # type: ignore[no-any-return]
