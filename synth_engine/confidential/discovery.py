"""Noisy counts of a set of values too large to be written down, thresholded: exactly the law of adding noise to every
value of the set and keeping those at or above the threshold, in time that does not depend on the size of the set.

A value that somebody has gets its noise like any other count. Of the N values that nobody has, each passes with the same
probability p = P(noise >= threshold), independently: so their number is Binomial(N, p), which values they are is uniform
without repetition, and how far each exceeds the threshold is geometric. No step uses a float.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from synth_engine.errors import PrivacyError
from synth_engine.privacy import thresholds

Bits = Callable[[int], int]
Below = Callable[[int], int]

GUARD = 64
"""Bits of every probability beyond what a decision needs, so that it seldom has to be computed again."""
STEP = 128


@dataclass(frozen=True, slots=True)
class _Interval:
    """A number between low and high, both in units of 2^-bits, rounded outwards by every operation."""

    low: int
    high: int
    bits: int

    def __mul__(self, other: _Interval) -> _Interval:
        return _Interval(self.low * other.low >> self.bits, -(-self.high * other.high >> self.bits), self.bits)

    def __add__(self, other: _Interval) -> _Interval:
        return _Interval(self.low + other.low, self.high + other.high, self.bits)

    def times(self, factor: Fraction) -> _Interval:
        numerator, denominator = factor.numerator, factor.denominator
        return _Interval(self.low * numerator // denominator, -(-self.high * numerator // denominator), self.bits)

    def inverse(self) -> _Interval:
        one = 1 << (2 * self.bits)
        return _Interval(one // self.high, -(-one // self.low), self.bits)

    def power(self, exponent: int) -> _Interval:
        result, base = _Interval(1 << self.bits, 1 << self.bits, self.bits), self
        while exponent:
            if exponent & 1:
                result *= base
            base *= base
            exponent >>= 1
        return result

    def complement(self) -> _Interval:
        one = 1 << self.bits
        return _Interval(max(0, one - self.high), one - self.low, self.bits)


def _exp_minus(x: Fraction, bits: int) -> _Interval:
    """e^-x for x > 0: the series of e^y for y = x / 2^halvings <= 1/2, all of whose terms are positive, then squares."""
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 1)
    y = x / (1 << halvings)
    term = total = _Interval(1 << bits, 1 << bits, bits)
    count = 0
    while term.high > 1:
        count += 1
        term = term.times(y / count)
        total += term
    total += _Interval(0, 2 * term.high, bits)  # the rest is at most a geometric series with ratio 1/2
    return total.power(1 << halvings).inverse()


def passing(*, scale: Fraction, threshold: int, bits: int) -> _Interval:
    """P(discrete Laplace noise >= threshold) for a threshold of 1 or more: e^(-threshold/scale) / (1 + e^(-1/scale))."""
    one = _Interval(1 << bits, 1 << bits, bits)
    return _exp_minus(Fraction(threshold) / scale, bits) * (one + _exp_minus(1 / scale, bits)).inverse()


def number_passing(n: int, *, scale: Fraction, threshold: int, bits: Bits = secrets.randbits) -> int:
    """A draw from Binomial(n, P(noise >= threshold)), exactly: a uniform number is compared with the distribution's
    steps, and where the bits drawn so far leave open on which side of a step it lies, more are drawn."""
    drawn, length = bits(STEP), STEP
    while True:
        precision = length + GUARD + n.bit_length() + 2 * thresholds.MOST_BY_CHANCE
        found = _place(drawn, length, n=n, p=passing(scale=scale, threshold=threshold, bits=precision))
        if found is not None:
            return found
        drawn, length = drawn << STEP | bits(STEP), length + STEP


def _place(drawn: int, length: int, *, n: int, p: _Interval) -> int | None:
    """The least k with u < P(at most k pass), for every u in [drawn, drawn + 1) / 2^length; None if that is open."""
    shift = p.bits - length
    first, last = drawn << shift, (drawn + 1) << shift
    others = p.complement()
    odds = p * others.inverse()
    mass = reached = others.power(n)
    for count in range(n + 1):
        if last <= reached.low:
            return count
        if first < reached.high and count < n:
            return None
        mass = (mass * odds).times(Fraction(n - count, count + 1))
        reached += mass
    return n


def discovered(
    counts: Mapping[int, int],
    *,
    size: int,
    threshold: int,
    scale: Fraction,
    noisy: Callable[[list[int]], list[int]],
    bits: Bits = secrets.randbits,
    below: Below = secrets.randbelow,
) -> list[tuple[int, int]]:
    """(rank, noisy count) of every value at or above the threshold, by rank.

    counts: how many records have a value, by its rank, for the values that somebody has. noisy: adds independent
    discrete Laplace noise of `scale`. The same rule holds for a value that somebody has and for one that nobody has, so
    nothing tells them apart.
    """
    if threshold < 1 or thresholds.by_chance(size, threshold=threshold, scale=scale) > thresholds.MOST_BY_CHANCE:
        raise PrivacyError("the threshold is too low for a set of this size")
    ranks = sorted(counts)
    kept = [
        (rank, count)
        for rank, count in zip(ranks, noisy([counts[rank] for rank in ranks]), strict=True)
        if count >= threshold
    ]
    number = number_passing(size - len(ranks), scale=scale, threshold=threshold, bits=bits)
    strangers = _without_repetition(number, size=size, taken=ranks, below=below)
    return sorted(kept + list(zip(strangers, _exceeding(number, threshold=threshold, noisy=noisy), strict=True)))


def _without_repetition(number: int, *, size: int, taken: Iterable[int], below: Below) -> list[int]:
    """Different ranks that are not taken, each set of them as likely as another. Drawing again what was hit already
    takes two tries on average at worst: where more than half is taken, what is left is short enough to be listed."""
    gone = set(taken)
    if 2 * (len(gone) + number) > size:
        left = [rank for rank in range(size) if rank not in gone]
        return [left.pop(below(len(left))) for _ in range(number)]
    found: list[int] = []
    while len(found) < number:
        rank = below(size)
        if rank not in gone:
            gone.add(rank)
            found.append(rank)
    return found


def _exceeding(number: int, *, threshold: int, noisy: Callable[[list[int]], list[int]]) -> list[int]:
    """Noise on 0, given that it reaches the threshold. Above 0 its law has no memory, so that threshold + noise given
    noise >= 0 is the same; and noise >= 0 has a probability of more than one half."""
    found: list[int] = []
    while len(found) < number:
        found += [threshold + noise for noise in noisy([0] * (2 * (number - len(found)))) if noise >= 0]
    return found[:number]
