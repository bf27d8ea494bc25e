"""The expected error of a link from public numbers alone, and the number of buckets that makes it least."""

from __future__ import annotations

import math
from collections.abc import Sequence

from synth_engine.linking.hashing import MAX_BITS

TYPICAL_OVERLAP = 0.5
FEWEST_BITS = 6


def laplace_cumulants(epsilon: float) -> tuple[float, float]:
    """The variance and the fourth cumulant of discrete Laplace noise of scale 1/epsilon: twice those of a
    geometric law."""
    q = math.exp(-epsilon)
    return 2 * q / (1 - q) ** 2, 2 * q * (1 + 4 * q + q * q) / (1 - q) ** 4


def deviation(
    sides: Sequence[tuple[float, int]],
    *,
    rows: int,
    buckets: int,
    overlap: float = TYPICAL_OVERLAP,
) -> float:
    """The expected standard deviation of the number of persons in both tables (docs/linking.md). sides:
    epsilon of a cell and number of combinations of linked columns, of each. rows: of each side. overlap: the
    share of rows that are in both."""
    noise, fourth = 0.0, 0.0
    for epsilon, cells in sides:
        variance, cumulant = laplace_cumulants(epsilon)
        noise += cells * variance
        fourth += cells * cumulant
    unshared = 2 * rows * (1 - overlap) + 1
    of_noise = unshared * noise + buckets * (2 * noise**2 + fourth) / 4
    of_collisions = unshared**2 / (2 * buckets)
    return math.sqrt(of_noise + of_collisions)


def best_bits(sides: Sequence[tuple[float, int]], *, rows: int) -> int:
    """The bits of a bucket that make the expected deviation least."""
    return min(
        range(FEWEST_BITS, MAX_BITS + 1),
        key=lambda bits: deviation(sides, rows=rows, buckets=1 << bits),
    )
