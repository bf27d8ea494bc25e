"""The compiled loop of `indexing.contingency`. Loading numba takes about a second, so that module imports
this one on its first count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.jit import compiled

BLOCK = 8192
"""Records at a time: their codes and cells stay in the first-level cache while every table is counted."""
NARROW_CELLS = 1 << 16
"""The most cells of a table whose cell numbers have 16 bits, of which a vector register holds four times as
many."""
COPIES = 4
"""Copies of a small table. Neighbouring records are often alike, and an increment waits for the one before it
at the same place; records take turns with the copies."""


@compiled(nogil=True)
def add_records(
    codes: NDArray[Any],
    axes: NDArray[np.int64],
    strides: NDArray[np.int64],
    tables: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add the records to every table.

    codes: shape (axes, records), unsigned or int64, within the size of their axis, which the caller has
    checked. axes, strides: shape (tables, most axes of a table); axes after the last one of a table are -1.
    tables: for each its first place in `counts`, its cells, and its copies, 1 or COPIES, which follow one
    another. counts: changed.
    """
    records = codes.shape[1]
    narrow = np.zeros(BLOCK, dtype=np.uint16)
    wide = np.zeros(BLOCK, dtype=np.int64)
    for start in range(0, records, BLOCK):
        block = codes[:, start : min(start + BLOCK, records)]
        number = block.shape[1]
        for table in range(tables.shape[0]):
            first, cells, copies = tables[table, 0], tables[table, 1], tables[table, 2]
            own = counts[first : first + cells * copies]
            if cells <= NARROW_CELLS:
                _number_cells(block, axes[table], strides[table], narrow)
                _increment(narrow[:number], own, cells, copies)
            else:
                _number_cells(block, axes[table], strides[table], wide)
                _increment(wide[:number], own, cells, copies)


@compiled(nogil=True)
def _number_cells(
    block: NDArray[Any],
    axes: NDArray[np.int64],
    strides: NDArray[np.int64],
    cells: NDArray[Any],
) -> None:
    """Write the row-major number of each record's cell to `cells`, in mixed radix."""
    number = block.shape[1]
    cells[:number] = 0
    for position in range(axes.size):
        if axes[position] < 0:
            break
        codes, stride = block[axes[position]], strides[position]
        for record in range(number):
            cells[record] += codes[record] * stride


@compiled(nogil=True)
def _increment(
    places: NDArray[Any], counts: NDArray[np.int64], cells: int, copies: int
) -> None:
    """Count the records in each cell; `counts` holds the copies one after another."""
    taken = 0
    if copies == COPIES:
        first, second = counts[:cells], counts[cells : 2 * cells]
        third, fourth = counts[2 * cells : 3 * cells], counts[3 * cells :]
        taken = places.size // COPIES * COPIES
        for record in range(0, taken, COPIES):
            first[places[record]] += 1
            second[places[record + 1]] += 1
            third[places[record + 2]] += 1
            fourth[places[record + 3]] += 1
    for record in range(taken, places.size):
        counts[places[record]] += 1
