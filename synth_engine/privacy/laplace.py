"""Discrete Laplace noise, P(x) proportional to exp(-|x| / scale): exactly that law, from uniform random bits.

The size is 0 with chance (1 - q) / (1 + q), q = exp(-1 / scale), else 1 and a geometric number G, P(G >= k) =
q^k; a bit is the sign. The digits of G to any base are independent: the lowest, below N, has chances
proportional to q^d, and what is above is geometric with q^N. So a wide law is drawn digit by digit, each from
a short table (`inversion`). Proof: docs/proofs/discrete-laplace.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from synth_engine.privacy.inverse_cdf import Flags, InverseCDF, Parts, Source, Words
from synth_engine.privacy.tails import Interval, exp_minus, passing

MAX_SCALE = 2**40
BLOCK = 1 << 15
_FINER = 96
"""Bits that enclosures have beyond those asked for: 1 - q may begin with 40 zeros."""


@dataclass(frozen=True)
class Widths:
    """The widths of random words, in bits.

    word: of the first word of a choice; the choice of zero has one bit less, for the sign. more: of a word
    that resolves an open choice. digit: of a digit. top: the widest scale that one table covers, a power of
    two.
    """

    word: int = 32
    more: int = 64
    digit: int = 9
    top: int = 32


USUAL = Widths()


def prepare(scale: Fraction) -> None:
    """Compute the tables by which noise of this scale is drawn, and draw nothing. They take longer than the
    draws."""
    is_zero, digits = choices(scale, USUAL)
    is_zero.prepare(USUAL.word - 1)
    for digit in digits:
        digit.prepare(USUAL.word)


def draws(size: int, *, scale: Fraction, source: Source) -> Parts:
    """Draw `size` independent values. Errors: TypeError for a scale that is not positive, or above 2^40."""
    if not 0 < scale <= MAX_SCALE:
        raise TypeError("the scale must be positive and at most 2^40")
    noise = np.empty(size, dtype=np.int64)
    for start in range(0, size, BLOCK):
        part = noise[start : start + BLOCK]
        part[:] = block(part.size, scale=scale, source=source, widths=USUAL)
    return noise


def reaching(size: int, *, scale: Fraction, threshold: int, source: Source) -> Flags:
    """Whether each of `size` independent values is at or above a threshold of 1 or more: one choice instead
    of all digits."""
    reached = np.empty(size, dtype=np.bool_)
    for start in range(0, size, BLOCK):
        part = reached[start : start + BLOCK]
        both = source((part.size + 1) // 2, 2 * USUAL.word)
        words = np.concatenate(
            [both >> np.uint64(USUAL.word), both & np.uint64(2**USUAL.word - 1)]
        )[: part.size]
        part[:] = _parts(
            _reaches(scale, threshold), words, USUAL.word, source=source, more=USUAL.more
        )
    return reached


def block(number: int, *, scale: Fraction, source: Source, widths: Widths) -> Parts:
    """Draw `number` independent values at once; memory grows with it."""
    is_zero, digits = choices(scale, widths)
    first = source(number, 2 * widths.word)
    # One random word serves two choices: its halves are independent.
    signed, top = first >> np.uint64(widths.word), first & np.uint64(2**widths.word - 1)
    negative = signed & np.uint64(1) != 0
    nonzero = _parts(
        is_zero, signed >> np.uint64(1), widths.word - 1, source=source, more=widths.more
    )
    noise = _parts(digits[-1], top, widths.word, source=source, more=widths.more)
    for digit in reversed(digits[:-1]):
        words = source(number, widths.word)
        noise <<= widths.digit
        noise |= _parts(digit, words, widths.word, source=source, more=widths.more)
    noise += 1
    noise *= nonzero
    return np.negative(noise, where=negative, out=noise)


def _parts(choice: InverseCDF, words: Words, bits: int, *, source: Source, more: int) -> Parts:
    parts, sure = choice.of_words(words, bits)
    # More digits of the same number: a new one would take mass away near the edges.
    for index in np.flatnonzero(~sure):
        parts[index] = choice.resolve(int(words[index]), bits, source=source, more=more)
    return parts


@lru_cache(maxsize=64)
def _reaches(scale: Fraction, threshold: int) -> InverseCDF:
    def steps(bits: int) -> Iterator[Interval]:
        yield passing(scale=scale, threshold=threshold, bits=bits + _FINER).complement()
        yield Interval(1 << bits, 1 << bits, bits)

    return InverseCDF(steps)


@lru_cache(maxsize=64)
def choices(scale: Fraction, widths: Widths) -> tuple[InverseCDF, tuple[InverseCDF, ...]]:
    """The tables of the choice whether noise is zero, and of the digits of the rest, the lowest first; the
    last is endless."""
    digits: list[InverseCDF] = []
    left = scale
    # The digits of a geometric number are independent: the lowest has a finite table, and the
    # rest is geometric again, with a scale that is smaller by the base.
    while left > widths.top:
        digits.append(_digit(left, 1 << widths.digit))
        left /= 1 << widths.digit
    return _other(scale), (*digits, _geometric(left))


def _other(scale: Fraction) -> InverseCDF:
    def steps(bits: int) -> Iterator[Interval]:
        # P(0) = (1 - q) / (1 + q), and zero is the first choice.
        q = _ratio(scale, bits + _FINER)
        certain = Interval(1 << q.bits, 1 << q.bits, q.bits)
        yield q.complement() * (certain + q).inverse()
        yield certain

    return InverseCDF(steps)


def _geometric(scale: Fraction) -> InverseCDF:
    def steps(bits: int) -> Iterator[Interval]:
        q = beyond = _ratio(scale, bits + _FINER)
        while True:
            yield beyond.complement()
            beyond *= q

    return InverseCDF(steps)


def _digit(scale: Fraction, base: int) -> InverseCDF:
    def steps(bits: int) -> Iterator[Interval]:
        q = beyond = _ratio(scale, bits + _FINER)
        # P(digit <= d) = (1 - q^(d + 1)) / (1 - q^base).
        whole = _ratio(scale / base, q.bits).complement().inverse()
        for _ in range(base - 1):
            yield beyond.complement() * whole
            beyond *= q
        yield Interval(1 << q.bits, 1 << q.bits, q.bits)

    return InverseCDF(steps)


def _ratio(scale: Fraction, bits: int) -> Interval:
    """exp(-1 / scale), which is below 2^-bits where the scale is that small."""
    return Interval(0, 1, bits) if scale * bits < 1 else exp_minus(1 / scale, bits)
