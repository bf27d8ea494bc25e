"""Discounts of opened nodes without randomness: records are taken evenly from the cells of the
finest depth, or from the fullest ones.

Both read only the numbers of records in cells, and both are stable: one record more leaves at most one record
more (docs/proofs/grow.md). Of cells that are equal otherwise, those come first that a public order has first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import Codes

Counts = npt.NDArray[np.int64]
_ODD = np.uint64(0x9E3779B97F4A7C15)


def public_order(codes: Codes) -> npt.NDArray[np.uint64]:
    """A public place for each code, as if by chance: so that it is not always the first corner of a node that
    pays."""
    if codes.dtype == np.uint64:
        mixed = codes.copy()
    else:
        mixed = np.zeros(codes.size, dtype=np.uint64)
        for column in codes.view(np.uint8).reshape(codes.size, -1).T:
            mixed = mixed * _ODD + column
    for shift in (33, 29, 32):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * _ODD
    return mixed


def discount_cells(
    left: Counts,
    starts: Counts,
    ends: Counts,
    order: npt.NDArray[np.uint64],
    number: int,
    *,
    fullest: bool,
) -> Counts:
    """Takes so many records, or all there are, out of each range of cells, from starts to ends,
    and returns what is left in each cell.

    Evenly: all cells give one, then all that have some left, and so on. fullest: the one with
    the most gives one, and again."""
    sizes = ends - starts
    node = np.repeat(np.arange(sizes.size), sizes)
    cells = (
        np.arange(node.size)
        - np.repeat(np.cumsum(sizes) - sizes, sizes)
        + np.repeat(starts, sizes)
    )
    counts = left[cells]
    take = np.minimum(_sums(counts, node, sizes.size), number)
    # The water level is found by binary search: record by record, it would take as many rounds
    # as there are records.
    if fullest:  # the least height down to which all is taken
        level = _last(
            lambda height: _sums(np.maximum(counts - height[node], 0), node, sizes.size) > take,
            counts,
            node,
            sizes.size,
        )
        stays = np.minimum(counts, level[node])
        may = (counts >= level[node]) & (counts > 0)
    else:  # the most rounds that are whole
        level = (
            _last(
                lambda rounds: (
                    _sums(np.minimum(counts, rounds[node]), node, sizes.size) <= take
                ),
                counts,
                node,
                sizes.size,
            )
            - 1
        )
        stays = np.maximum(counts - level[node], 0)
        may = stays > 0
    rest = take - _sums(counts - stays, node, sizes.size)
    first = np.flatnonzero(may)[np.lexsort((order[cells[may]], node[may]))]
    place = np.arange(first.size) - np.searchsorted(node[first], node[first])
    stays[first[place < rest[node[first]]]] -= 1
    after = left.copy()
    after[cells] = stays
    return after


def _sums(counts: Counts, node: Counts, nodes: int) -> Counts:
    """Adds up the counts of each node; whole numbers that a float holds."""
    return np.bincount(node, weights=counts, minlength=nodes).astype(np.int64)


def _last(
    holds: Callable[[Counts], npt.NDArray[np.bool_]], counts: Counts, node: Counts, nodes: int
) -> Counts:
    """Finds for each node the least whole number, from 0 on, for which the condition fails; at
    most one above its fullest cell."""
    low, high = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    np.maximum.at(high, node, counts + 1)
    while (low < high).any():
        middle = (low + high) // 2
        on = holds(middle) & (low < high)
        low, high = np.where(on, middle + 1, low), np.where(on, high, middle)
    return low
