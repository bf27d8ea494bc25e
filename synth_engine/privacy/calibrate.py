"""Noise that costs no more than its share of the budget and can be handed to the sampler without rounding.

The sampler takes a float and reads it as the exact rational that it is. So the smallest float that is
large enough is chosen, and the event stores that very number.
"""

from __future__ import annotations

import math
from fractions import Fraction

from synth_engine.errors import SpecError

LARGEST_SCALE = 2.0**40


def laplace_scale(epsilon_share: Fraction, l1: int) -> Fraction:
    """The smallest float scale with l1 / scale <= epsilon_share."""
    _require(epsilon_share, l1)
    return _float_at_least(Fraction(l1) / epsilon_share)


def selection_scale(epsilon_share: Fraction, linf: int) -> Fraction:
    """The smallest float scale with 2 linf / scale <= epsilon_share."""
    _require(epsilon_share, linf)
    return _float_at_least(Fraction(2 * linf) / epsilon_share)


def gaussian_sigma(rho_share: Fraction, l2_squared: int) -> Fraction:
    """The smallest float sigma with l2_squared / (2 sigma²) <= rho_share."""
    _require(rho_share, l2_squared)
    least = Fraction(l2_squared) / (2 * rho_share)
    sigma = math.sqrt(least)
    while Fraction(sigma) ** 2 < least:
        sigma = math.nextafter(sigma, math.inf)
    while Fraction(math.nextafter(sigma, 0.0)) ** 2 >= least:
        sigma = math.nextafter(sigma, 0.0)
    return _bounded(sigma)


def gaussian_sigma_squared(rho_share: Fraction, l2_squared: int) -> Fraction:
    """The exact square of `gaussian_sigma`, as the event stores it."""
    return gaussian_sigma(rho_share, l2_squared) ** 2


def split(total: Fraction, weights: list[Fraction]) -> list[Fraction]:
    """Shares of a total in proportion to the weights; they add up to it exactly."""
    whole = sum(weights, Fraction(0))
    return [total * weight / whole for weight in weights]


def _float_at_least(least: Fraction) -> Fraction:
    value = float(least)
    if Fraction(value) < least:
        value = math.nextafter(value, math.inf)
    return _bounded(value)


def _bounded(value: float) -> Fraction:
    if value > LARGEST_SCALE:
        raise SpecError("this privacy loss is too small for its noise to fit", repair="give a larger epsilon")
    return Fraction(value)


def _require(share: Fraction, sensitivity: int) -> None:
    if not isinstance(share, Fraction) or share <= 0:
        raise TypeError("a share of the budget must be a positive Fraction")
    if type(sensitivity) is not int or sensitivity < 1:
        raise TypeError("the sensitivity must be a positive whole number")
