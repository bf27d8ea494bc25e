"""How two estimates of one noisy table are averaged, by Stein's unbiased estimate of their squared errors.

The error of an estimate is not known, but what noise adds to the agreement of an estimate with its own data
is: the variance of the noise times the divergence of the estimate (Stein 1981). The divergence is found by
adding a little more noise (Ramani, Blu and Unser 2008). It is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEP = 0.5
"""Standard deviation of the added noise, in multiples of that of the table."""
_USUAL, _SPREAD = 0.5, 0.5
"""Mean and standard deviation of weights before anything is known of a table, unless another mean is
given."""
_ALIKE_SPREAD = 0.2
"""The standard deviation of the weights of tables that are alike around their mean."""
_SAME = 1e-3
"""Root of the sum of squared differences, in standard deviations of noise, below which two estimates are the
same."""


@dataclass(frozen=True, kw_only=True)
class WeightEstimate:
    """Two estimates of a table. best: the weight of the second one with which their mean has the least error,
    as estimated; precision: how well it is known, the reciprocal of its variance."""

    best: float
    precision: float

    def weight(self, *, usual: float, spread: float) -> float:
        """Return the weight, from 0 to 1. usual, spread: mean and standard deviation of such weights before
        anything is known."""
        known = 1 / spread**2
        weight = (self.best * self.precision + known * usual) / (self.precision + known)
        return min(max(weight, 0.0), 1.0)


def weight_of_second(
    values: Floats,
    estimates: tuple[Floats, Floats],
    *,
    difference: Callable[[Floats], Floats],
    deviation: float,
    directions: Sequence[Floats],
    usual: float = _USUAL,
) -> float:
    """Return the weight, from 0 to 1, of the second of two estimates of a table in their mean: see
    `compared`. usual: the mean of such weights before anything is known."""
    estimate = compared(
        values, estimates, difference=difference, deviation=deviation, directions=directions
    )
    return 0.0 if estimate is None else estimate.weight(usual=usual, spread=_SPREAD)


def weights_alike(estimates: Sequence[WeightEstimate | None]) -> list[float]:
    """Return the weights of the second estimates of tables among which the same one tends to be nearer: each
    is drawn to the mean of all, which many tables tell far better than one."""
    known = [one for one in estimates if one is not None]
    precision = 1 / _SPREAD**2 + math.fsum(one.precision for one in known)
    best = _USUAL / _SPREAD**2 + math.fsum(one.best * one.precision for one in known)
    usual = min(max(best / precision, 0.0), 1.0)
    return [
        0.0 if one is None else one.weight(usual=usual, spread=_ALIKE_SPREAD)
        for one in estimates
    ]


def compared(
    values: Floats,
    estimates: tuple[Floats, Floats],
    *,
    difference: Callable[[Floats], Floats],
    deviation: float,
    directions: Sequence[Floats],
) -> WeightEstimate | None:
    """Compare two estimates of a table; None where they are the same.

    values: the noisy table; estimates: the two, in its shape; difference: second less first for other values;
    deviation: the standard deviation of the Gaussian noise along each axis of the space in which it lies;
    directions: standard normal vectors in this space."""
    first, second = estimates
    gap = second - first
    precision = float((gap**2).sum()) / deviation**2
    if precision < _SAME**2:
        return None
    step = _STEP * deviation
    moved = [
        float((direction * (difference(values + step * direction) - gap)).sum()) / step
        for direction in directions
    ]
    # How much of the agreement with the values is agreement with their own noise.
    by_noise = math.fsum(moved) / len(moved)
    best = float(((values - first) * gap).sum()) / deviation**2 - by_noise
    # Its variance is 1 / precision.
    return WeightEstimate(best=best / precision, precision=precision)
