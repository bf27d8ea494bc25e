"""Counting: the one thing that is done with rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import WeakBasket
from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import Boxes, Codes, Hierarchy, NodeSet, StringHierarchy
from synth_engine.indexing import prefixes
from synth_engine.indexing.contingency import Axis, CountPlan, count, histogram
from synth_engine.kinds.lattice import Positions
from synth_engine.measurement import Clique, Merged
from synth_engine.privacy.unit import VOTE
from synth_engine.room.noise import MAX_COUNT
from synth_engine.room.rows import Rows

_LARGEST = 2**64 - 1
_PASS_CELLS = 2**22  # of the tables that are counted in one pass, and in memory together


def contingency(
    rows: Rows, clique: tuple[str, ...], *, merged: Merged | None = None
) -> NDArray[np.int64]:
    """Counts the records in each cell: int64, one axis for each attribute of the clique.

    The counts are exact, so the caller must add noise, or mark the result as not private.
    merged: attributes that are counted by bins."""
    (table,) = contingencies(rows, [(clique, merged)])
    return table


def contingencies(
    rows: Rows, cliques: Iterable[tuple[Clique, Merged | None]]
) -> Iterator[NDArray[np.int64]]:
    """Counts like `contingency` for many cliques, in few passes over the records: as many tables in one as
    may be in memory together."""
    axes: dict[_Column, Axis] = {}
    tables: list[list[_Column]] = []
    cells = 0
    for clique, merged in cliques:
        table = []
        for name, size in zip(clique, rows.domain.shape(clique), strict=True):
            bins = (merged or {}).get(name)
            column = name, id(bins)  # the caller holds the bins
            if column not in axes:  # most tables share their columns
                axes[column] = Axis(size) if bins is None else Axis(int(bins.max()) + 1, bins)
            table.append(column)
        own_cells = prod(axes[column].size for column in table)
        if tables and cells + own_cells > _PASS_CELLS:
            yield from _one_pass(rows, axes, tables)
            tables, cells = [], 0
        tables.append(table)
        cells += own_cells
    yield from _one_pass(rows, axes, tables)


_Column = tuple[str, int]
"""A column, and which array of bins it is counted by."""


def _one_pass(
    rows: Rows, axes: Mapping[_Column, Axis], tables: Sequence[Sequence[_Column]]
) -> list[NDArray[np.int64]]:
    used = {column: None for table in tables for column in table}
    index = {column: axis for axis, column in enumerate(used)}
    plan = CountPlan(
        tuple(axes[column] for column in used),
        tuple(tuple(index[column] for column in table) for table in tables),
    )
    return rows.count([name for name, _ in used], plan)


def interaction(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Computes the interaction contrast of exact counts, in whole numbers: along each axis of K
    cells, K times every entry less the sum of all. Larger counts than a contrast can hold are
    cut to that public bound, so that no number of records makes noise fail."""
    # An entry is at most the largest count times the L1 length of one record's contrast, Π 2(K - 1). A cut
    # moves by at most as much as a count, and in the same direction, so the sensitivity stays
    # (docs/proofs/interaction.md).
    table = np.minimum(table, MAX_COUNT // prod(2 * (size - 1) for size in table.shape))
    for axis, size in enumerate(table.shape):
        # Whole numbers throughout: division by `size` would leave the integers on which the
        # noise is exact.
        table = size * table - table.sum(axis=axis, keepdims=True)
    return table


def largest_classes(table: NDArray[np.int64]) -> int:
    """Counts the records that are in the largest class of their group, exactly: classes along
    the last axis, groups along the others."""
    return int(table.max(axis=-1).sum())


def by_box(rows: Rows, boxes: Boxes) -> NDArray[np.int64]:
    """Counts the records in each box."""
    return np.bincount(_box_of_each(rows, boxes), minlength=len(boxes))


def largest_children(rows: Rows, boxes: Boxes, among: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Counts, for each box and each column that it may be divided by, the records in the largest of the boxes
    that it becomes; 0 for others. Shape (boxes, columns)."""
    largest = np.zeros(among.shape, dtype=np.int64)
    box_of = _box_of_each(rows, boxes)
    for column, tree in enumerate(boxes.trees):
        asked = among[:, column]
        records = np.flatnonzero(asked[box_of])
        class_of = boxes.classes[box_of[records], column]
        child = tree.child_of[class_of, rows.codes(tree.column)[records]]
        width = int(tree.widths.max())
        table = np.bincount(box_of[records] * width + child, minlength=len(boxes) * width)
        largest[asked, column] = table.reshape(len(boxes), width).max(axis=1)[asked]
    return largest


def _box_of_each(rows: Rows, boxes: Boxes) -> NDArray[np.int64]:
    return boxes.places([rows.codes(tree.column) for tree in boxes.trees])


def group_sizes(rows: Rows) -> NDArray[np.int64]:
    """Counts the units that have 1, 2, … records, up to the most that one may have: of the rows
    that truncation left, and with those that lack an id as one unit. Exact like `contingency`."""
    units = rows.units()
    records = histogram(units, int(units.max(initial=0)) + 1)
    most = rows.domain.unit.max_records
    return histogram(records, most + 1)[1:]


def items(rows: Rows, name: str, *, squared: bool) -> NDArray[np.int64]:
    """Votes for each item of a weak basket's set, in parts. Every record has one vote for the n items in its
    basket: so large a share for each that the shares, or their squares, add up to one, rounded down. Exact
    like `contingency`."""
    baskets, attribute = rows.basket(name), rows.domain.attribute(name)
    if not isinstance(attribute, WeakBasket):
        raise PrivacyError("only the items of a weak basket are counted")
    held = np.diff(baskets.offsets.to_numpy())
    share = [
        0,
        *(
            # Rounded down, so that a record's shares never exceed one vote, the sensitivity
            # that is charged for.
            isqrt(VOTE**2 // n) if squared else VOTE // n
            for n in range(1, int(held.max(initial=0)) + 1)
        ),
    ]
    table = np.zeros(attribute.values.size, dtype=np.int64)
    np.add.at(
        table,
        baskets.flatten().to_numpy(),
        np.repeat(np.array(share, dtype=np.int64)[held], held),
    )
    return table


def intervals(
    column: tuple[Positions, int],
    cuts: Sequence[int],
    divisors: Sequence[int],
    *,
    remainder: int,
    with_missing: bool,
) -> NDArray[np.int64]:
    """Counts the records by intervals of positions and, within each, by the largest divisor of their
    position; last, if wanted, those without a value. Shape (intervals · divisors + 1,) or less. Exact like
    `contingency`.

    column: the sorted positions of a column, and how many records have none. remainder: what position 0 is
    above a multiple of every divisor."""
    positions, missing = column
    # The end of the last interval may be 2^64, which no unsigned number of 64 bits is: all positions lie
    # below it.
    starts = np.array(cuts[:-1], dtype=np.uint64)
    end = positions.size if cuts[-1] > _LARGEST else _first_at(positions, cuts[-1])
    ends = np.append(np.searchsorted(positions, starts), end)
    table = np.empty((len(cuts) - 1, len(divisors)), dtype=np.int64)
    for interval, (first, last) in enumerate(pairwise(ends.tolist())):
        table[interval] = _by_divisor(positions[first:last], divisors, remainder=remainder)
    return np.append(table.ravel(), missing) if with_missing else table.ravel()


def _first_at(positions: Positions, cut: int) -> int:
    return int(np.searchsorted(positions, np.uint64(cut)))


def _by_divisor(
    positions: Positions, divisors: Sequence[int], *, remainder: int
) -> NDArray[np.int64]:
    """Counts positions by their largest divisor."""
    divisible = [positions.size]
    for divisor in divisors[1:]:
        number = np.uint64(divisor)
        shift = np.uint64(remainder % divisor)
        # Each divisor divides the next one, so that those which this one does not divide are done with.
        positions = positions[(positions % number + shift) % number == 0]
        divisible.append(positions.size)
    return np.array(divisible, dtype=np.int64) - np.array([*divisible[1:], 0], dtype=np.int64)


def by_rank(rows: Rows, name: str) -> dict[int, int]:
    """Counts the records of each value that occurs in a weak attribute, by its number within
    the public set. Exact, and it reveals what occurs: for `discovery` alone."""
    value_indices, ranks = rows.ranked(name)
    tally = histogram(value_indices, len(ranks))
    return {
        rank: records for rank, records in zip(ranks, tally.tolist(), strict=True) if records
    }


Sorted = tuple[Codes, NDArray[np.int64] | None]


def by_leaf(rows: Rows, hierarchy: Hierarchy) -> Sorted:
    """Codes, increasing, and how many records have each, None where every record has its own; records without
    a code count nowhere. Exact, and it tells what occurs: for `growth`, and for comparisons that are not
    private."""
    if isinstance(hierarchy, StringHierarchy):
        values, codes, inside = _texts(rows, hierarchy)
        counted = histogram(values, codes.size)[inside]
        order = np.argsort(codes[inside])
        return codes[inside][order], counted[order]
    codes, lacking = _codes(rows, hierarchy)
    codes = codes if lacking is None else codes[~lacking]
    codes.sort()
    return codes, None


def by_part(
    rows: Rows,
    hierarchy: Hierarchy,
    partition: NodeSet,
    *,
    by: tuple[str, ...] = (),
    leaves: Sorted | None = None,
) -> NDArray[np.int64]:
    """Counts the records in each part and each cell of the table of `by`, in one row; those in
    no part, nowhere.

    leaves: the sorted codes of the same rows, where nothing else is counted by; neighbours are
    then side by side."""
    if leaves is not None and not by:
        lie = partition.places(hierarchy, leaves[0])
        # Sums of whole numbers below 2^53, which floats hold.
        return np.bincount(lie, weights=leaves[1], minlength=len(partition) + 1)[:-1].astype(
            np.int64
        )
    if isinstance(hierarchy, StringHierarchy):
        values, codes, inside = _texts(rows, hierarchy)
        parts = np.where(inside, partition.places(hierarchy, codes), len(partition))[values]
    else:
        codes, lacking = _codes(rows, hierarchy)
        parts = partition.places(hierarchy, codes)
        if lacking is not None:
            parts[lacking] = len(partition)
    sizes = (len(partition) + 1, *rows.domain.shape(by))
    plan = CountPlan(tuple(map(Axis, sizes)), (tuple(range(len(sizes))),))
    (table,) = count([parts, *(rows.codes(name) for name in by)], plan, records=rows.total)
    # The last row counts the records that lie in no part.
    return table[:-1].ravel()


def _codes(rows: Rows, hierarchy: Hierarchy) -> tuple[Codes, NDArray[np.bool_] | None]:
    """Returns the code of every record, and which records lie nowhere."""
    columns: dict[str, NDArray[Any]] = {name: rows.codes(name) for name in hierarchy.columns}
    lacking = prefixes.nowhere(hierarchy, columns, rows.domain)
    if (words := hierarchy.component(StringHierarchy)) is not None:
        values, texts, inside = _texts(rows, words)
        columns[words.columns[0]], unread = texts[values], ~inside[values]
        lacking = unread if lacking is None else lacking | unread
    return prefixes.of_codes(hierarchy, columns, rows.domain), lacking


def _texts(
    rows: Rows, words: StringHierarchy
) -> tuple[NDArray[np.int32], Codes, NDArray[np.bool_]]:
    """Returns for every record the index of its text, and for those texts the codes and whether
    they are in the set at all."""
    (name,) = words.columns
    values, times = rows.ranked(name)
    return values, *prefixes.ranked(words, rows.domain, times)
