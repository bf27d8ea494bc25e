"""Noise that costs no more than its share of the budget and can be handed to the sampler without rounding.

The sampler takes a float and reads it as the exact rational that it is. So a float that is large enough
is chosen, and the event stores that very number. It is rounded up to about 24 significant bits: that keeps
receipts short enough to be read and costs less than a millionth of the budget.
"""

from __future__ import annotations

import math
from fractions import Fraction

from synth_engine.errors import SpecError

BITS = 24
MIN_SCALE = Fraction(1, 2**40)
MAX_SCALE = Fraction(2**40)


def laplace_scale(epsilon_share: Fraction, l1: int) -> Fraction:
    """The smallest scale with l1 / scale <= epsilon_share."""
    _require(epsilon_share, l1)
    return round_up(Fraction(l1) / epsilon_share)


def selection_scale(epsilon_share: Fraction, linf: int) -> Fraction:
    """The smallest scale with 2 linf / scale <= epsilon_share."""
    _require(epsilon_share, linf)
    return round_up(Fraction(2 * linf) / epsilon_share)


def gaussian_sigma(rho_share: Fraction, l2_squared: int) -> Fraction:
    """The smallest sigma with l2_squared / (2 sigma²) <= rho_share, or the next one above it."""
    _require(rho_share, l2_squared)
    variance = Fraction(l2_squared) / (2 * rho_share)
    # The root of num · den over den, rounded up, with 64 bits more than a float holds.
    shifted = math.isqrt((variance.numerator * variance.denominator) << 256) + 1
    return round_up(Fraction(shifted, variance.denominator << 128))


def root_down(square: Fraction) -> Fraction:
    """The root of a positive number, rounded down with 64 bits to spare: an epsilon that costs no more than
    its rho."""
    return Fraction(
        math.isqrt(square.numerator * square.denominator << 128), square.denominator << 64
    )


def split(total: Fraction, weights: list[Fraction]) -> list[Fraction]:
    """Shares of a total in proportion to the weights; they add up to it exactly."""
    whole = sum(weights, Fraction(0))
    return [total * weight / whole for weight in weights]


def round_up(lower_bound: Fraction) -> Fraction:
    """The smallest rational of 24 or 25 significant bits that is not below; a float holds it exactly."""
    exponent = lower_bound.numerator.bit_length() - lower_bound.denominator.bit_length() - BITS
    step = Fraction(2) ** exponent
    value = math.ceil(lower_bound / step) * step
    if not MIN_SCALE <= value <= MAX_SCALE:
        raise SpecError(
            "noise for this privacy loss is too large or too small to be drawn",
            repair="use epsilon near 1",
        )
    return value


def _require(share: Fraction, sensitivity: int) -> None:
    if not isinstance(share, Fraction) or share <= 0:
        raise TypeError("a share of the budget must be a positive Fraction")
    if type(sensitivity) is not int or sensitivity < 1:
        raise TypeError("the sensitivity must be a positive whole number")
