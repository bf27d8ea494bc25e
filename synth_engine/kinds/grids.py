"""Public grids over wide ranges: from bounds alone to edges at which people would cut."""

from __future__ import annotations

import math
from fractions import Fraction

CELLS = 1_000
"""About how many cells a grid has: more cost accuracy, fewer say less about where values lie."""
FAR = 100
"""Bounds of one sign whose ratio is at most this are as far from zero as from each other: their grid is
even."""
_DECADES = 9
"""Below so many powers of ten under the largest bound a grid of two digits does not look further."""


def whole_grid(low: int, high: int) -> tuple[int, ...]:
    """Increasing whole numbers from low to high; every number by itself if there are few."""
    if high - low <= CELLS:
        inner = range(low + 1, high)
    elif is_even(low, high):
        step = -(-(high - low) // CELLS)
        inner = range(low + step, high, step)
    else:
        inner = sorted({int(edge) for edge in _two_digits(low, high, smallest=0)})  # type: ignore[assignment]
    return (low, *(edge for edge in inner if low < edge < high), high)


def number_grid(low: float, high: float) -> tuple[float, ...]:
    """Increasing numbers from low to high."""
    if is_even(low, high):
        step = (high - low) / CELLS
        inner = [low + step * place for place in range(1, CELLS)]
    else:
        largest = math.floor(math.log10(max(abs(low), abs(high))))
        inner = sorted(
            {float(edge) for edge in _two_digits(low, high, smallest=largest - _DECADES)}
        )
    return tuple(dict.fromkeys((low, *(edge for edge in inner if low < edge < high), high)))


def is_even(low: float, high: float) -> bool:
    """Whether cells of one width suit a range: where zero is far away."""
    return low * high > 0 and max(abs(low), abs(high)) <= FAR * min(abs(low), abs(high))


def _two_digits(low: float, high: float, *, smallest: int) -> list[Fraction]:
    """Zero, and the numbers of two significant digits on both of its sides, from 10^smallest on."""
    top = math.floor(math.log10(max(abs(low), abs(high), 10))) + 1
    # Fractions, because a product of doubles such as 3 * 0.1 is not the number that people
    # write.
    sizes = [
        Fraction(digits) * Fraction(10) ** (power - 1)
        for power in range(smallest, top)
        for digits in range(10, 100)
    ]
    return [Fraction(0)] + [
        sign * size for size in sizes for sign in (1, -1) if low < sign * size < high
    ]
