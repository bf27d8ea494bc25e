"""Suppression thresholds: below them a noisy count is not published, so that few values that nobody has pass
by chance.

Of n values each has an independent noisy count; the ones at or above the threshold are published. With
probability `rho` none of them is a value that nobody has (Rodriguez and Howe 2018, section 3). All of it is
public arithmetic: the threshold protects nothing, the noise does.
"""

from __future__ import annotations

import math
from fractions import Fraction

from synth_engine.errors import SpecError

MAX_BY_CHANCE = 40
"""Values that may be expected by chance. A threshold below that would publish noise."""


def threshold(n: int, *, rho: float, scale: Fraction) -> int:
    """The smallest whole number, 1 or more, that meets `rho` with discrete Laplace noise of this scale.

    Errors: SpecError for a rho that is not strictly between 0 and 1.
    """
    # P(noise >= t) = exp(-t / scale) / (1 + exp(-1 / scale)), solved for t.
    minimum = -float(scale) * math.log(
        (1 + math.exp(-1 / float(scale))) * _chance_per_value(n, rho)
    )
    return max(1, math.ceil(minimum))


def expected_by_chance(n: int, *, threshold: int, scale: Fraction) -> float:
    """How many of n values that nobody has are expected at or above the threshold."""
    return n * math.exp(-threshold / float(scale)) / (1 + math.exp(-1 / float(scale)))


def _chance_per_value(n: int, rho: float) -> float:
    """The probability with which a single value may pass: 1 - rho^(1/n), without cancellation."""
    if n < 1:
        raise SpecError("a set of values has at least one", repair="declare the set")
    if not 0 < rho < 1:
        raise SpecError(
            "rho must lie strictly between 0 and 1", repair="0.9 is a common choice"
        )
    return -math.expm1(math.log(rho) / n)
