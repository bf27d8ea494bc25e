"""Cells of a table of several columns, by their number in row-major order, as they occur."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_CELLS = 2**62  # numbers of cells are 64-bit integers


def occupied_cells(
    codes: Callable[[str], NDArray[Any]], columns: Sequence[str], shape: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells that hold records, ascending, and the records in each; the table itself may be too large for
    memory.

    codes: of a column by its name, shape (records,). shape: the codes of each column, of at most `MAX_CELLS`
    cells."""
    if prod(shape) > MAX_CELLS:
        raise ValueError("more cells than numbers of 64 bits")
    first, *others = columns
    cells = codes(first).astype(np.int64)
    # Horner's rule gives the row-major number of each record's cell.
    for name, size in zip(others, shape[1:], strict=True):
        cells *= size
        cells += codes(name)
    return np.unique(cells, return_counts=True)
