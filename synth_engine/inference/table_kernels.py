"""Loops over tables of two attributes, which are so small that arrays would spend most of their time on
beginning.

Every sum has the order of the source."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled

Floats = npt.NDArray[np.float64]
Bins = npt.NDArray[np.int64]

LANES = 8
"""Sums that are added up side by side, which the widest instructions of a processor do together."""


@compiled
def total(values: Floats, lanes: Floats) -> float:
    """Return the sum of values. lanes: room for `LANES` sums."""
    whole = values.size // LANES * LANES
    lanes[:] = 0
    for first in range(0, whole, LANES):
        for lane in range(LANES):
            lanes[lane] += values[first + lane]
    summed = 0.0
    for at in range(whole, values.size):
        summed += values[at]
    for lane in range(LANES):
        summed += lanes[lane]
    return summed


@compiled
def _add_up_columns(table: Floats, sums: Floats) -> None:
    sums[:] = 0
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            sums[column] += table[row, column]


@compiled
def fit(table: Floats, rows: Floats, columns: Floats, rounds: int, floor: float) -> None:
    """Scale a table, rows and then columns, until its sums are those given; changes it in place. floor: no
    sum counts as less."""
    lanes, factors = np.empty(LANES), np.empty(table.shape[1])
    for _ in range(rounds):
        for row in range(table.shape[0]):
            factor = rows[row] / max(total(table[row], lanes), floor)
            for column in range(table.shape[1]):
                table[row, column] *= factor
        _add_up_columns(table, factors)
        for column in range(table.shape[1]):
            factors[column] = columns[column] / max(factors[column], floor)
        for row in range(table.shape[0]):
            for column in range(table.shape[1]):
                table[row, column] *= factors[column]


@compiled
def adjust(
    table: Floats, variances: Floats, rows: Floats, columns: Floats, rounds: int
) -> None:
    """Share out the errors of the sums of rows and then of columns by the variances of their cells; changes
    the table in place."""
    lanes, shares = np.empty(LANES), np.empty(table.shape[1])
    of_rows, of_columns = np.empty(table.shape[0]), np.empty(table.shape[1])
    for row in range(table.shape[0]):
        of_rows[row] = total(variances[row], lanes)
    _add_up_columns(variances, of_columns)
    for _ in range(rounds):
        for row in range(table.shape[0]):
            share = (rows[row] - total(table[row], lanes)) / of_rows[row]
            for column in range(table.shape[1]):
                table[row, column] += share * variances[row, column]
        _add_up_columns(table, shares)
        for column in range(table.shape[1]):
            shares[column] = (columns[column] - shares[column]) / of_columns[column]
        for row in range(table.shape[0]):
            for column in range(table.shape[1]):
                table[row, column] += shares[column] * variances[row, column]


@compiled
def sum_into_bins(table: Floats, of_rows: Bins, of_columns: Bins, sums: Floats) -> None:
    """Add every cell to the sum of its bins."""
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            sums[of_rows[row], of_columns[column]] += table[row, column]
