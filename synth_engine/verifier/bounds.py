"""The conversion of rho to epsilon for the verifier, logarithms and exponentials, from whole-number
arithmetic alone.

Standard library only, and nothing shared with `conversion`: another search for alpha, and logarithms by
their series with proven bounds on both sides.
"""

from __future__ import annotations

import math
from fractions import Fraction

_BITS = 220


def epsilon_bound(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon that rho-zCDP implies at delta: Canonne, Kamath and Steinke 2020, Corollary 13, at one
    alpha.

    Any alpha above 1 is a proof, so that floats may choose it.
    """
    alpha = _alpha(float(rho), math.log(delta.numerator) - math.log(delta.denominator))
    # Each logarithm is taken from the side that raises the bound.
    logs = log_bounds(alpha)[0] + log_bounds(delta)[0]
    bound = alpha * rho + log_bounds((alpha - 1) / alpha)[1] - logs / (alpha - 1)
    return max(Fraction(0), bound)


def _alpha(rho: float, log_delta: float) -> Fraction:
    """An alpha near the minimum, by bisection on the slope in alpha: rho + (ln alpha + ln delta) / (alpha -
    1)²."""
    low, high = 1e-6, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        if rho + (math.log1p(middle) + log_delta) / middle**2 < 0:
            low = middle
        else:
            high = middle
    return 1 + Fraction(low)


def log_bounds(value: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of the natural logarithm below and above: k ln 2 + 2 atanh((m - 1) / (m + 1)) for value = 2^k
    m."""
    k = value.numerator.bit_length() - value.denominator.bit_length()
    m = value / Fraction(2) ** k
    # m lies in (1/2, 4/3] then, so |z| <= 1/3 and each term of the series adds three bits.
    if m > Fraction(4, 3):
        k, m = k + 1, m / 2
    low, high = _atanh_bounds((m - 1) / (m + 1))
    two = _atanh_bounds(Fraction(1, 3))  # ln 2 is twice atanh(1/3)
    # A negative k swaps the bounds of ln 2.
    below, above = two if k >= 0 else two[::-1]
    return 2 * (low + k * below), 2 * (high + k * above)


def _atanh_bounds(z: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of atanh(z), |z| <= 1/2, by its series in multiples of 2^-220; every rounding widens the
    bounds."""
    unit = 1 << _BITS
    if z < 0:
        below, above = _atanh_bounds(-z)
        return -above, -below
    down, up = math.floor(z * unit), math.ceil(z * unit)
    low = high = 0
    power_low, power_high = down, up
    terms = 0
    while power_high > 1:
        low += power_low // (2 * terms + 1)
        high += -(-power_high // (2 * terms + 1))
        power_low = power_low * down * down >> 2 * _BITS
        power_high = -(-power_high * up * up >> 2 * _BITS)
        terms += 1
        if terms > _BITS:
            break
    return Fraction(low, unit), Fraction(high + 2 * power_high, unit)


def ceil_div(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def exp_bounds(value: Fraction, width: int) -> tuple[int, int]:
    """exp(-value) for value >= 0 in 2^-width, from below and from above: the series of exp at a small
    fraction of the value, every term rounded, its inverse, and as many squares as the value was halved."""
    halvings = max(0, math.floor(value).bit_length() + 8)
    precise = width + halvings + 16
    unit = 1 << precise
    small = value / (1 << halvings)
    down, up = math.floor(small * unit), math.ceil(small * unit)
    low = high = term_low = term_high = unit
    terms = 0
    while term_high > 1:
        terms += 1
        term_low = term_low * down // (terms << precise)
        term_high = ceil_div(term_high * up, terms << precise)
        low, high = low + term_low, high + term_high
    high += (
        2 * term_high
    )  # what is left of the series, each term less than half of the one before
    # The series was that of exp(+small), with positive terms; its inverse swaps the bounds.
    low, high = unit * unit // high, ceil_div(unit * unit, low)
    for _ in range(halvings):
        low, high = low * low >> precise, -(-high * high >> precise)
    return low >> precise - width, min(-(-high >> precise - width), 1 << width)
