"""Counting: the one thing that is done with rows."""

from __future__ import annotations

from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec import places, prefixes
from synth_engine.confidential.rows import Rows
from synth_engine.constraints import counting
from synth_engine.domain import WeakBasket
from synth_engine.hierarchy import Codes, Hierarchy
from synth_engine.measurement import Merged
from synth_engine.privacy.unit import VOTE

_BLOCK = 2**16  # records at a time: their cells fit a processor's cache


def contingency(rows: Rows, clique: tuple[str, ...], *, merged: Merged | None = None) -> NDArray[np.int64]:
    """How many records fall into each cell: int64, one axis for each attribute of the clique. Exact, so what calls
    this must add noise, or mark the result as not private. merged: attributes that are counted by bins."""
    bins = {name: np.asarray(codes, dtype=np.intp) for name, codes in (merged or {}).items()}
    sizes = dict(zip(clique, rows.domain.shape(clique), strict=True)) | {n: int(b.max()) + 1 for n, b in bins.items()}
    shape = tuple(sizes.values())
    cells = prod(shape)
    table = np.zeros(cells, dtype=np.int64)
    columns = [rows.codes(name) for name in clique]
    for start in range(0, rows.total, _BLOCK):
        place = np.zeros(min(_BLOCK, rows.total - start), dtype=np.intp)
        for (name, size), column in zip(sizes.items(), columns, strict=True):
            if size > 1:
                codes = column[start : start + _BLOCK]
                place *= size
                place += bins[name][codes] if name in bins else codes
        if cells <= _BLOCK:
            table += np.bincount(place, minlength=cells)
        else:  # a block touches few cells of a large table
            touched, times = np.unique(place, return_counts=True)
            table[touched] += times
    return table.reshape(shape)


def interaction(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of exact counts, and exact as they are: along each axis of K cells, K times every entry less the sum of all."""
    for axis, size in enumerate(table.shape):
        table = size * table - table.sum(axis=axis, keepdims=True)
    return table


def distances(rows: Rows, pair: tuple[str, str]) -> NDArray[np.int64]:
    """How many records have their two places how far apart, in public bins, and last, how many lack one. Exact like
    `contingency`, and never to be released."""
    return places.histogram(rows.codes, domain=rows.domain, pair=pair)


def group_sizes(rows: Rows) -> NDArray[np.int64]:
    """How many units have 1, 2, … records, up to the most that one may have: of the rows that truncation left, and with
    those that lack an id as one unit. Exact like `contingency`."""
    records = np.bincount(rows.units())
    most = rows.domain.unit.max_records
    return np.bincount(records[records > 0], minlength=most + 1)[1:].astype(np.int64)


def items(rows: Rows, name: str, *, squared: bool) -> NDArray[np.int64]:
    """Votes for each item of a weak basket's set, in parts. Every record has one vote for the n items in its basket: so
    large a share for each that the shares, or their squares, add up to one, rounded down. Exact like `contingency`."""
    baskets, attribute = rows.basket(name), rows.domain.attribute(name)
    assert isinstance(attribute, WeakBasket)  # noqa: S101 - the session looked
    held = np.diff(baskets.offsets.to_numpy())
    share = [0, *(isqrt(VOTE**2 // n) if squared else VOTE // n for n in range(1, int(held.max(initial=0)) + 1))]
    table = np.zeros(attribute.values.size, dtype=np.int64)
    np.add.at(table, baskets.flatten().to_numpy(), np.repeat(np.array(share, dtype=np.int64)[held], held))
    return table


def by_rank(rows: Rows, name: str) -> dict[int, int]:
    """How many records have each value that occurs in a weak attribute, by its number within the public set. Exact, and
    it tells what occurs: for `discovery` alone."""
    places, ranks = rows.ranked(name)
    found = np.bincount(places, minlength=len(ranks))
    return {rank: int(count) for rank, count in zip(ranks, found, strict=True) if count}


def by_leaf(rows: Rows, hierarchy: Hierarchy) -> tuple[Codes, NDArray[np.int64] | None]:
    """Codes, increasing, and how many records have each, None where every record has its own; records without a code count
    nowhere. Exact, and it tells what occurs: for `growth` alone."""
    if (found := prefixes.ranked(hierarchy, rows.domain)) is not None:
        values, times = rows.ranked(hierarchy.columns[0])
        codes, inside = found(times)
        counted = np.bincount(values, minlength=len(times))[inside]
        order = np.argsort(codes[inside])
        return codes[inside][order], counted[order].astype(np.int64)
    codes = prefixes.of_codes(hierarchy, {name: rows.codes(name) for name in hierarchy.columns}, rows.domain)
    codes.sort()
    return codes, None


def breaking(rows: Rows) -> tuple[int, ...]:
    """How many records break each declared constraint. Exact like `contingency`, and never to be released."""
    return counting.breaking(rows.codes, domain=rows.domain)
