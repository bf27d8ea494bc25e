"""How two estimates of one noisy table are averaged, by Stein's unbiased estimate of their squared errors.

The error of an estimate is not known, but what noise adds to the agreement of an estimate with its own data is: the
variance of the noise times the divergence of the estimate (Stein 1981). The divergence is found by adding a little more
noise (Ramani, Blu and Unser 2008). It is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEP = 0.5
"""Standard deviation of the added noise, in multiples of that of the table."""
_USUAL, _SPREAD = 0.5, 0.5
"""Mean and standard deviation of weights before anything is known of a table, unless another mean is given."""
_SAME = 1e-3
"""Root of the sum of squared differences, in standard deviations of noise, below which two estimates are the same."""


def weight_of_second(
    values: Floats,
    estimates: tuple[Floats, Floats],
    *,
    difference: Callable[[Floats], Floats],
    deviation: float,
    directions: Sequence[Floats],
    usual: float = _USUAL,
) -> float:
    """Return the weight, from 0 to 1, of the second of two estimates of a table in their mean.

    values: the noisy table; estimates: the two, in its shape; difference: second less first for other values;
    deviation: the standard deviation of the Gaussian noise along each axis of the space in which it lies; directions: standard
    normal vectors in this space; usual: the mean of such weights before anything is known."""
    first, second = estimates
    gap = second - first
    precision = float((gap**2).sum()) / deviation**2
    if precision < _SAME**2:
        return 0.0
    step = _STEP * deviation
    moved = [
        float((direction * (difference(values + step * direction) - gap)).sum()) / step
        for direction in directions
    ]
    # How much of the agreement with the values is agreement with their own noise.
    by_noise = math.fsum(moved) / len(moved)
    best = float(((values - first) * gap).sum()) / deviation**2 - by_noise
    # The best weight has the variance 1 / precision; it is averaged with what is usual.
    known = 1 / _SPREAD**2
    return min(max((best + known * usual) / (precision + known), 0.0), 1.0)
