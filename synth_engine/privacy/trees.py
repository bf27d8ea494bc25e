"""The exact loss of a tree whose nodes are opened where a discounted count plus discrete Laplace noise
reaches a threshold.

p(x) is the chance that a node is opened whose count is x above what a node without records has; it needs
noise of b - x or more. One record more changes the counts along one path by one, and from a node to the next
above it they differ by t or more, so the loss is at most the sum over j >= 0 of ln p(1 + jt) / p(jt), however
deep the tree is (docs/proofs/grow.md).
"""

from __future__ import annotations

import decimal
import functools
import math
from fractions import Fraction

from synth_engine.privacy import tails
from synth_engine.privacy.tails import Interval

GRID = 10**12
"""Losses are rounded up to multiples of one over this."""
_BITS = 320
_DIGITS = 60
MIN_DISCOUNT_SHARE = Fraction(69, 100)
"""The least discount, as a share of the scale: from it on the terms of the sum nearly halve from one to the
next."""


@functools.lru_cache(maxsize=1024)
def loss(*, scale: Fraction, threshold: int, discount: int) -> Fraction:
    """The privacy loss of one record more or less, rounded up to the grid. threshold: b; discount: t."""
    if threshold < 1 or discount < 1 or discount < MIN_DISCOUNT_SHARE * scale:
        raise ValueError("the discount is too small for the noise")
    unit = Interval(1 << _BITS, 1 << _BITS, _BITS)
    ratio, exact, step = unit, 0, 0
    by_one, by_step = (tails.exp_minus(Fraction(more) / scale, _BITS) for more in (1, discount))
    at_one = unit + by_one
    beyond: Interval | None = None
    while True:
        x = step * discount
        if x < threshold:
            exact += (
                1  # both chances are below the threshold, where each step is worth 1 / scale
            )
        else:
            if beyond is None:
                beyond = tails.exp_minus(Fraction(x - threshold + 1) / scale, _BITS)
            # 1 - p is exp(-(x - b + 1) / s) / (1 + exp(-1 / s)) from the threshold on; one record
            # more multiplies it by exp(-1 / s).
            fails, fails_less = (part * at_one.inverse() for part in (beyond, beyond * by_one))
            ratio *= fails_less.complement() * fails.complement().inverse()
            if beyond.high < 1 << (_BITS - 140):
                break
            beyond *= by_step
        step += 1
    # Each later term is below a half and a little of the one before, all of them together below twice the
    # first.
    return exact / scale + _grid_up(ratio.high + (ratio.high >> 138), exact / scale)


def _grid_up(high: int, exact: Fraction) -> Fraction:
    """The amount that takes `exact` to the next grid point at or above exact + ln(high / 2^bits)."""
    with decimal.localcontext(prec=_DIGITS):
        logarithm = (
            decimal.Decimal(high) / decimal.Decimal(1 << _BITS)
        ).ln() + decimal.Decimal(10) ** (8 - _DIGITS)
    total = exact + Fraction(logarithm)
    return Fraction(math.ceil(total * GRID), GRID) - exact


def least_discount(*, scale: Fraction, threshold: int) -> int:
    """The smallest whole t >= b + ln(1 + e^(-1/s)) s, from which on a tree costs at most 2 / s."""
    for bits in (128, 256, 512):
        needed = Interval(1 << bits, 1 << bits, bits) + tails.exp_minus(1 / scale, bits)
        more = math.ceil(float(scale) * math.log1p(math.exp(-1 / float(scale))))
        for guess in range(max(0, more - 2), more + 3):
            # e^(-guess / s) <= 1 / (1 + e^(-1/s)), beyond doubt
            reached = (
                tails.exp_minus(Fraction(guess) / scale, bits)
                if guess
                else Interval(1 << bits, 1 << bits, bits)
            )
            if (reached * needed).high <= 1 << bits:
                return threshold + guess
    raise ArithmeticError("no bound was found")


def least_decay(*, scale: Fraction, branching: int) -> int:
    """PrivTree's discount: the smallest whole number of at least s ln(branching)."""
    return max(
        1,
        math.ceil(float(scale) * math.log(branching) * (1 + 1e-12)),
        math.ceil(MIN_DISCOUNT_SHARE * scale),
    )


def least_threshold(*, scale: Fraction, branching: int) -> int:
    """The least threshold at which a node without records has less than one split child without records on
    average."""
    return max(1, math.ceil(float(scale) * math.log(max(branching, 2))))
