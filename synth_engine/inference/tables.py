"""From a noisy table of several attributes to a plausible one: less noise, nothing negative, known margins.

All of it is post-processing: it sees noisy values, the public noise scale, and what was paid for before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.inference import table_kernels

Floats = npt.NDArray[np.float64]
Margin = tuple[tuple[int, ...], Floats]
"""Axes, ascending, and the table of sums that a larger table is to have on them."""

ROUNDS = 12
"""Passes over all margins that proportional fitting makes unless the caller asks for fewer."""
ADJUSTMENTS = 30
"""Passes over all margins in which the errors of sums are shared out."""
_FLOOR = 1e-9


def shrink_towards(values: npt.NDArray[np.number], baseline: Floats, *, sigma: float) -> Floats:
    """Noisy counts pulled to a baseline by as much as is lost in noise of that standard deviation per cell.

    The difference from the baseline is laid out as a matrix, the last attribute against all others, and its
    singular values are shrunk as is best in squared error for white noise (Gavish and Donoho 2017). Where the
    noise hides every deviation, the baseline comes back. Not negative; same shape.
    """
    rows, columns = math.prod(values.shape[:-1]), values.shape[-1]
    difference = (values - baseline).reshape(rows, columns)
    # The shrinkage formula is stated for matrices that are at least as wide as high.
    turned = rows > columns
    left_vectors, singular, right_vectors = np.linalg.svd(
        difference.T if turned else difference, full_matrices=False
    )
    signal = (
        left_vectors
        * _shrink_singular_values(
            singular, short=min(rows, columns), long=max(rows, columns), sigma=sigma
        )
    ) @ right_vectors
    estimate: Floats = np.maximum(
        baseline + (signal.T if turned else signal).reshape(values.shape), 0.0
    )
    return estimate


def _shrink_singular_values(singular: Floats, *, short: int, long: int, sigma: float) -> Floats:
    """The optimal shrinkage of singular values in the Frobenius norm, for a matrix of that shape."""
    unit = sigma * math.sqrt(long)
    scaled, aspect = singular / unit, short / long
    inside = np.maximum((scaled**2 - aspect - 1) ** 2 - 4 * aspect, 0.0)
    # Below this edge, singular values cannot be told from those of pure noise.
    above = scaled > 1 + math.sqrt(aspect)
    shrunk: Floats = np.where(above, np.sqrt(inside) / np.maximum(scaled, 1.0), 0.0) * unit
    return shrunk


def fit_margins(table: Floats, margins: Sequence[Margin], *, rounds: int = ROUNDS) -> Floats:
    """The table scaled, margin after margin, until its sums are those given: iterative proportional fitting
    (Deming and Stephan 1940). The last margin holds exactly where the table has mass."""
    fitted: Floats = np.maximum(table, _FLOOR)
    if _of_two(margins):
        fitted = np.ascontiguousarray(fitted)
        rows, columns = _sums(margins)
        table_kernels.fit(fitted, rows, columns, rounds, _FLOOR)
        return fitted
    for _ in range(rounds):
        for axes, margin in margins:
            others = tuple(axis for axis in range(table.ndim) if axis not in axes)
            sums = fitted.sum(axis=others, keepdims=True)
            fitted = fitted * (margin.reshape(sums.shape) / np.maximum(sums, _FLOOR))
    return fitted


def adjust_to_margins(
    counts: Floats, variances: Floats, margins: Sequence[Margin], *, rounds: int = ADJUSTMENTS
) -> Floats:
    """The counts given their sums: each sum's error is shared out among its cells by their variances, margin
    after margin.

    For independent normal errors this converges to the mean of the counts given the margins, which is
    weighted least squares. Scaling would share an error out by size instead, so that what the many cells of a
    row hold too much, all of them small, would be taken from its largest. counts, variances: the same shape.
    Counts may come out slightly negative."""
    if _of_two(margins):
        adjusted = np.array(counts, order="C")
        rows, columns = _sums(margins)
        table_kernels.adjust(adjusted, np.ascontiguousarray(variances), rows, columns, rounds)
        return adjusted
    adjusted = counts
    for _ in range(rounds):
        for axes, margin in margins:
            others = tuple(axis for axis in range(counts.ndim) if axis not in axes)
            missing = margin - adjusted.sum(axis=others)
            shares = variances / variances.sum(axis=others, keepdims=True)
            adjusted = adjusted + shares * np.expand_dims(missing, others)
    return adjusted


def _of_two(margins: Sequence[Margin]) -> bool:
    """Return whether a table is of two attributes, of which each has its sums."""
    return [axes for axes, _ in margins] == [(0,), (1,)]


def _sums(margins: Sequence[Margin]) -> Sequence[Floats]:
    return [np.ascontiguousarray(sums, dtype=np.float64) for _, sums in margins]
