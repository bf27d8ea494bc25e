"""The verifier converts mu² to epsilon: the delta of Gaussian differential privacy, from whole-number
arithmetic alone.

Standard library only, and nothing shared with `tradeoff`. With a = epsilon / mu - mu / 2 and b = a + mu,
delta is Q(a) - exp(epsilon) Q(b), Q(x) the chance that N(0, 1) exceeds x (Balle and Wang 2018). Q is summed
by the series of the error function, whose terms alternate. Where b is large, exp(epsilon) Q(b) = density(a)
R(b), and Mills' ratio R(b) is at least its asymptotic series 1/b - 1/b³ + 1·3/b⁵ - …, cut after a term with a
minus sign.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from synth_engine.verifier.bounds import ceil_div, exp_bounds

_WIDTH = 256
_SERIES_LIMIT = 1000
"""The largest x² for which the series of the error function is short enough."""
_STEPS = 36


def epsilon_of_mu(mu_squared: Fraction, delta: Fraction, *, near: Fraction) -> Fraction:
    """An epsilon that mu-GDP implies at delta: the least one, up to 2⁻³⁶ of the bound that doubling `near`
    reaches first."""
    if mu_squared == 0 or _delta(mu_squared, Fraction(0)) <= delta:
        return Fraction(0)
    low, high = Fraction(0), max(near, Fraction(1, 10**18))
    while _delta(mu_squared, high) > delta:
        low, high = high, 2 * high
    step = high / 2**_STEPS
    while high - low > step:
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(mu_squared, middle) > delta else (low, middle)
    return high


def _delta(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """An upper bound of delta at epsilon. Delta rises with mu, which is rounded up."""
    bits = max(0, 200 - mu_squared.numerator.bit_length() + mu_squared.denominator.bit_length())
    mu = Fraction(math.isqrt(math.ceil(mu_squared * 4**bits)) + 1, 2**bits)
    a = epsilon / mu - mu / 2
    b = a + mu
    return max(Fraction(0), _upper_tail(a)[1] - _shifted_upper_tail(a, b, epsilon))


def _shifted_upper_tail(a: Fraction, b: Fraction, epsilon: Fraction) -> Fraction:
    """A lower bound of exp(epsilon) Q(b)."""
    if b * b < _SERIES_LIMIT:
        width = _WIDTH + 2 * math.ceil(epsilon)
        return _upper_tail(b)[0] * Fraction(1 << width, exp_bounds(epsilon, width)[1])
    # 0 is a lower bound, and a density below exp(-500) matters to no accepted delta.
    if a * a >= _SERIES_LIMIT:
        return Fraction(0)
    unit = 1 << _WIDTH
    density = Fraction(
        exp_bounds(a * a / 2, _WIDTH)[0] * _root_of_two_pi(_WIDTH)[0], unit * unit
    )
    square, term, total, count = b * b, Fraction(1, 1) / b, Fraction(0), 0
    # Mills' ratio lies above every partial sum that ends with a negative term.
    while count % 2 or term > Fraction(1, unit):
        total += -term if count % 2 else term
        count += 1
        term = _rounded(term * (2 * count - 1) / square, up=count % 2 == 1)
    return density * max(Fraction(0), total)


def _rounded(value: Fraction, *, up: bool) -> Fraction:
    scaled = value * (1 << 4 * _WIDTH)
    return Fraction(math.ceil(scaled) if up else math.floor(scaled), 1 << 4 * _WIDTH)


def _upper_tail(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of Q(x)."""
    if x < 0:
        less, more = _upper_tail(-x)
        return 1 - more, 1 - less
    square = x * x
    if square >= _SERIES_LIMIT:
        return Fraction(0), Fraction(
            1, 1 << 700
        )  # less than exp(-x²/2), 2 to the power of -721
    # No term exceeds exp(x²/2); a fixed number of bits beyond that keeps what is left after they cancel.
    width = _WIDTH + 64 + 2 * math.ceil(square)
    unit = 1 << width
    low, high = math.floor(x * unit), math.ceil(x * unit)
    low_sum = high_sum = count = 0
    while high > 1 or count <= square:
        odd = 2 * count + 1
        down, up = low // odd, ceil_div(high, odd)
        low_sum, high_sum = (
            (low_sum + down, high_sum + up)
            if count % 2 == 0
            else (low_sum - up, high_sum - down)
        )
        count += 1
        low = low * square.numerator // (2 * count * square.denominator)
        high = ceil_div(high * square.numerator, 2 * count * square.denominator)
    low_sum, high_sum = (
        low_sum - 2,
        high_sum + 2,
    )  # alternating and falling, so what is left out is less than a unit
    below, above = _root_of_two_pi(width)
    return Fraction(1, 2) - Fraction(high_sum * above, unit * unit), Fraction(1, 2) - Fraction(
        max(0, low_sum) * below, unit * unit
    )


@lru_cache(maxsize=64)
def _root_of_two_pi(width: int) -> tuple[int, int]:
    """Bounds of 1 / sqrt(2 pi) in 2^-width; pi = 16 atan(1/5) - 4 atan(1/239) (Machin)."""
    unit = 1 << width + 64
    low = high = 0
    for factor, of in ((16, 5), (-4, 239)):
        power, count = unit // of, 0
        while power:
            term = factor * (power // (2 * count + 1))
            low, high = (
                (low + term, high + term) if count % 2 == 0 else (low - term, high - term)
            )
            power //= of * of
            count += 1
        # A term is a quotient of a rounded power, times 16 at most: off by less than 64 units.
        low, high = low - 64 * count, high + 64 * count
    return math.isqrt((unit << 2 * width - 1) // high), math.isqrt(
        (unit << 2 * width - 1) // low
    ) + 1
