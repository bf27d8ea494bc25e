"""Enclosures of the probability that noise reaches a threshold, and of how many of many independent noises
do.

An enclosure is two whole numbers between which the truth lies; every operation rounds outwards. No step uses
a float.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """A number between low and high, both in units of 2^-bits, rounded outwards by every operation."""

    low: int
    high: int
    bits: int

    def __mul__(self, other: Interval) -> Interval:
        return Interval(
            self.low * other.low >> self.bits,
            -(-self.high * other.high >> self.bits),
            self.bits,
        )

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high, self.bits)

    def times(self, factor: Fraction) -> Interval:
        numerator, denominator = factor.numerator, factor.denominator
        return Interval(
            self.low * numerator // denominator,
            -(-self.high * numerator // denominator),
            self.bits,
        )

    def inverse(self) -> Interval:
        # The inverse falls, so the bounds swap.
        unit = 1 << (2 * self.bits)
        return Interval(unit // self.high, -(-unit // self.low), self.bits)

    def power(self, exponent: int) -> Interval:
        result, base = Interval(1 << self.bits, 1 << self.bits, self.bits), self
        while exponent:
            if exponent & 1:
                result *= base
            base *= base
            exponent >>= 1
        return result

    def complement(self) -> Interval:
        unit = 1 << self.bits
        return Interval(max(0, unit - self.high), unit - self.low, self.bits)


def exp_minus(x: Fraction, bits: int) -> Interval:
    """e^-x for x > 0: the series of e^y for y = x / 2^halvings <= 1/2, all of whose terms are positive, then
    squares."""
    if (
        x > bits
    ):  # below 2^-bits: the same two numbers would come out, after powers that have as many digits as x
        return Interval(0, 1, bits)
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 1)
    y = x / (1 << halvings)
    term = total = Interval(1 << bits, 1 << bits, bits)
    count = 0
    while term.high > 1:
        count += 1
        term = term.times(y / count)
        total += term
    total += Interval(
        0, 2 * term.high, bits
    )  # the rest is at most a geometric series with ratio 1/2
    return total.power(1 << halvings).inverse()


def passing(*, scale: Fraction, threshold: int, bits: int) -> Interval:
    """P(discrete Laplace noise >= threshold) for a threshold of 1 or more: e^(-threshold/scale) / (1 +
    e^(-1/scale))."""
    unit = Interval(1 << bits, 1 << bits, bits)
    return (
        exp_minus(Fraction(threshold) / scale, bits)
        * (unit + exp_minus(1 / scale, bits)).inverse()
    )


def locate_count(word: int, length: int, *, n: int, p: Interval) -> int | None:
    """The least k with u < P(at most k pass), for every u in [word, word + 1) / 2^length; None if the word
    leaves it open."""
    shift = p.bits - length
    first, last = word << shift, (word + 1) << shift
    others = p.complement()
    odds = p * others.inverse()
    mass = reached = others.power(n)
    for count in range(n + 1):
        if last <= reached.low:
            return count
        # The interval of the word meets a step: more digits of the number must decide.
        if first < reached.high and count < n:
            return None
        mass = (mass * odds).times(Fraction(n - count, count + 1))
        reached += mass
    return n
