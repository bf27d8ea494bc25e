"""How many values of a column are multiples of round numbers, beyond what chance makes them, from noisy
counts alone.

People record 5,000 rather than 4,987. A column is therefore taken for a mixture: a part of its values is
spread over all positions, a part over the multiples of 5 steps, a part over those of 10, and so on along a
chain of divisors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EXCESS_DEVIATIONS = 4.0
"""Standard deviations by which multiples of a divisor have to exceed what the parts before explain."""


def shares(
    counts: Floats, divisors: Sequence[int], *, spread: float
) -> tuple[tuple[int, ...], ...]:
    """The parts of the mixture in each region, as relative whole numbers; empty if no region has more
    multiples of any divisor than chance and noise explain.

    counts: noisy counts by the largest divisor of a position, shape (regions, divisors). divisors: each
    divides the next. spread: the standard deviation of the noise of one count."""
    rows = [_of_region(row, divisors, spread=spread) for row in counts]
    if not any(any(row[1:]) for row in rows):
        return ()
    return tuple(tuple(row) for row in rows)


def _of_region(row: Floats, divisors: Sequence[int], *, spread: float) -> list[int]:
    """The parts of one region. A part of multiples of m has the positions whose largest divisor is d with
    frequency m/d - m/d', where d' is the next divisor."""
    inverse = np.append(1 / np.array(divisors, dtype=np.float64), 0.0)
    of_class = inverse[:-1] - inverse[1:]
    unexplained = row.copy()
    variance = np.full(row.size, spread**2)
    parts = np.zeros(row.size)
    for part in range(row.size):
        excess = float(unexplained[part])
        if part and excess <= EXCESS_DEVIATIONS * math.sqrt(variance[part]):
            continue
        # All positions of this class that are left belong to the part, as a known fraction of it.
        fraction = of_class[part] / inverse[part]
        parts[part] = max(excess, 0.0) / fraction
        explained = of_class[part:] / inverse[part]
        unexplained[part:] -= parts[part] * explained
        variance[part:] += (spread / fraction * explained) ** 2
    if parts.sum() <= 0:
        parts[0] = 1.0
    return (
        [max(0, round(number)) for number in parts.tolist()]
        if parts.max() >= 1
        else [1] + [0] * (row.size - 1)
    )
