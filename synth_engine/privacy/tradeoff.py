"""The delta of Gaussian differential privacy at an epsilon, rounded up: whole numbers alone decide.

mu-GDP implies (epsilon, delta)-DP for this delta and for no smaller one (Balle and Wang 2018; Dong, Roth and
Su 2022, Corollary 1),

    delta = Q(a) - exp(epsilon) Q(b),    a = epsilon / mu - mu / 2,    b = a + mu,

Q(x) the probability that N(0, 1) exceeds x. As b² - a² = 2 epsilon, exp(epsilon) times the density at b is
the density at a; so with Mills' ratio R = Q / density it is Q(a) - density(a) R(b), in which nothing
overflows however large epsilon is.
"""

from __future__ import annotations

import math
from fractions import Fraction

from synth_engine.privacy.tails import Interval, exp_minus

BITS = 240
_ONE = 1 << BITS
_DENSITY_AT_0 = Fraction(
    3989422804014326779399460599343818684758586311649346576659258296706579258993018385012523339073069364,
    10**100,
)
"""1 / sqrt(2 pi), cut."""
_NOTHING = 2 * BITS
"""The largest x² with a density of at least e^-BITS; beyond it the density is less than one unit."""
_FAR = 4
"""The x from which Mills' ratio is computed by its continued fraction; below it a series is used."""


def delta_bound(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """An upper bound of the delta of mu-GDP at epsilon.

    It exceeds the truth by 2⁻²⁰⁰ at most, and by what rounding mu up to some 90 bits adds; delta rises with
    mu.
    """
    mu = _root_up(mu_squared)
    a = epsilon / mu - mu / 2
    b = a + mu
    density = _density(a)
    mills = _mills(b) if b >= _FAR else _tail(b) * _density(b).inverse()
    # delta = Q(a) - density(a) R(b): the first from above, the second from below.
    return Fraction(_tail(a).high - (density.low * mills.low >> BITS), _ONE)


def _root_up(square: Fraction) -> Fraction:
    """The root, rounded up to some 90 significant bits."""
    shift = 180 - square.numerator.bit_length() + square.denominator.bit_length()
    shift += shift % 2
    scaled = square * Fraction(2) ** shift
    return (math.isqrt(math.ceil(scaled)) + 1) / Fraction(2) ** (shift // 2)


def _density(x: Fraction) -> Interval:
    if x * x > _NOTHING:
        return Interval(0, 1, BITS)
    return exp_minus(x * x / 2, BITS) * _around(_DENSITY_AT_0) if x else _around(_DENSITY_AT_0)


def _tail(x: Fraction) -> Interval:
    """Q(x)."""
    if x >= _FAR:
        return _mills(x) * _density(x)
    if x <= -_FAR:
        return (_mills(-x) * _density(x)).complement()
    middle = _density(x) * _series(abs(x))
    half = _ONE // 2
    if x < 0:
        return Interval(half + middle.low, half + middle.high, BITS)
    return Interval(half - middle.high, half - middle.low, BITS)


def _series(x: Fraction) -> Interval:
    """(1/2 - Q(x)) / density(x) for x >= 0: the sum of x^(2k+1) / (1 · 3 · … · (2k+1)), all of whose terms
    are positive."""
    square = _around(x * x)
    term = total = _around(x)
    count = 1
    while term.high > 1 or count < 4 * _FAR**2:
        count += 2
        term = (term * square).times(Fraction(1, count))
        total += term
    return total + Interval(0, 2 * term.high, BITS)  # ratios are below 1/2 by now


def _mills(x: Fraction) -> Interval:
    """R(x) for x >= 4: 1 / (x + 1 / (x + 2 / (x + 3 / …))), where what is cut off lies between x and x + n /
    x."""
    at = _around(x)
    n = math.ceil((BITS / (2.8 * min(float(x), 100.0))) ** 2) + 8
    low, high = at.low, at.high + (n << 2 * BITS) // at.low + 1
    # From the inside out; each level inverts, so its lower bound comes from an upper one.
    for i in range(n - 1, 0, -1):
        numerator = i << 2 * BITS
        low, high = at.low + numerator // high, at.high + numerator // low + 1
    return Interval(low, high, BITS).inverse()


def _around(value: Fraction) -> Interval:
    low = value.numerator * _ONE // value.denominator
    return Interval(low, low + 1, BITS)
