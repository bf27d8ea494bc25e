"""N(0, sigma²) rounded to the nearest whole number: exactly that law, from uniform random bits.
docs/proofs/rounded-gaussian.md.

Three uniform numbers make a proposal (Karney 2016, Algorithm N, with its coins replaced by one comparison):
the first says which k, of chance proportional to exp(-k² / 2); x lies in [0, 1); and k + x is kept if the
third is below exp(-x (2k + x) / 2). What is kept is the size of a normal number, a bit is its sign, and sigma
(k + x) is rounded. Each uniform number has endless digits, of which the first word is drawn. Whatever that
leaves open, be it a choice, a comparison or a rounding, is settled by further digits of the same numbers
(`Proposal`), in whole numbers; nothing is drawn again for being close, and no float decides without the bound
of its error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from synth_engine.privacy.inverse_cdf import GUARD, Flags, InverseCDF, Source, Words
from synth_engine.privacy.tails import Interval, exp_minus

MAX_SIGMA = 2**40
BLOCK = 1 << 15
_U32, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_TERMS, _SQUARES = 11, 4
_ERROR = 2.0**-36
"""A bound of the error of `_exp_minus` and of its arguments, for arguments up to 8
(docs/proofs/rounded-gaussian.md)."""


@dataclass(frozen=True)
class ProposalWidths:
    """The widths of random words, in bits.

    choice: of the choice of k, at most 31. third: of the third number, at most 32. x: of x, at most 60. more:
    of a word that resolves an open decision.
    """

    choice: int = 31
    third: int = 32
    x: int = 60
    more: int = 64


USUAL = ProposalWidths()


def draws(size: int, *, sigma: Fraction, source: Source) -> npt.NDArray[np.int64]:
    """Draw `size` independent values. sigma: at most 2^40, and exactly a float. Errors: TypeError for another
    sigma."""
    if not 0 < sigma <= MAX_SIGMA or Fraction(float(sigma)) != sigma:
        raise TypeError("sigma must be positive, at most 2^40, and exactly a float")
    noise = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        # About 71 of 100 proposals are accepted, so half as many more usually suffice.
        values, accepted = proposals(
            min(BLOCK, (size - done) * 3 // 2 + 8), sigma=sigma, source=source, widths=USUAL
        )
        values = values[accepted][: size - done]
        noise[done : done + values.size] = values
        done += values.size
    return noise


def proposals(
    number: int, *, sigma: Fraction, source: Source, widths: ProposalWidths
) -> tuple[npt.NDArray[np.int64], Flags]:
    """Draw `number` proposals: their values, and which of them are accepted; the other values have no
    meaning."""
    first, x = source(number, 1 + widths.choice + widths.third), source(number, widths.x)
    third = first & np.uint64(2**widths.third - 1)
    choice = first >> np.uint64(widths.third) & np.uint64(2**widths.choice - 1)
    negative = first >> np.uint64(widths.third + widths.choice) != 0
    k, sure = _sizes(choice, widths.choice)
    accepted, sure_of_third = _comparisons(k, x, third, widths)
    sure &= sure_of_third
    size, sure_of_size = _rounded(k, x, sigma=sigma, bits=widths.x)
    values = np.where(negative, -size, size)
    # An open rounding matters only where the proposal is accepted.
    for i in np.flatnonzero(~(sure & (sure_of_size | ~accepted))):
        proposal = Proposal(
            *(int(words[i]) for words in (choice, x, third)), source=source, widths=widths
        )
        resolved = proposal.size(sigma)
        accepted[i] = resolved is not None
        values[i] = (-1 if negative[i] else 1) * (resolved or 0)
    return values, accepted


def _steps(bits: int) -> Iterator[Interval]:
    """Yield the chances of at most k, for k = 0, 1, … until less than 2^-bits is left."""
    terms = [Interval(1 << bits, 1 << bits, bits)]
    while terms[-1].high > 1:
        terms.append(exp_minus(Fraction(len(terms) ** 2, 2), bits))
    whole = sum(terms, Interval(0, 2, bits))  # what is left out is less than the last of them
    reached = Interval(0, 0, bits)
    for term in terms:
        reached += term
        yield reached * whole.inverse()


SIZES = InverseCDF(_steps)
"""k = 0, 1, …, of chances proportional to exp(-k² / 2)."""


def _sizes(words: Words, bits: int) -> tuple[Words, Flags]:
    k, sure = SIZES.of_words(words, bits)
    return k.astype(np.uint64), sure


def _comparisons(
    k: Words, x: Words, third: Words, widths: ProposalWidths
) -> tuple[Flags, Flags]:
    """Whether the third number is below exp(-x (2k + x) / 2), and whether that is sure for all digits to
    come."""
    fraction = x.astype(np.float64) * 2.0**-widths.x
    bound = _exp_minus(fraction * (2 * k.astype(np.float64) + fraction) / 2)
    low = third.astype(np.float64) * 2.0**-widths.third
    slope = float(
        SIZES.first_words(widths.choice).size
    )  # at least k + x, and so the fall of the bound over a word of x
    # Accepted, and below rejected, only if every continuation of both numbers agrees by more
    # than the error of the float bound.
    accepted = low + 2.0**-widths.third <= bound - (_ERROR + slope * 2.0**-widths.x)
    return accepted, accepted | (low >= bound + _ERROR)


def _exp_minus(t: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """exp(-t) for 0 <= t <= 8, by its series at t / 16 and four squares; additions and products alone."""
    s = t * 2.0**-_SQUARES
    series = np.ones_like(s)
    for i in range(_TERMS, 0, -1):
        series = 1 - (s * (1 / i)) * series
    for _ in range(_SQUARES):
        series *= series
    return series


def _rounded(
    k: Words, x: Words, *, sigma: Fraction, bits: int
) -> tuple[npt.NDArray[np.int64], Flags]:
    """sigma (k + x) rounded, and whether all digits to come round alike. sigma = m / 2^d, so it is m (k
    2^bits + x), a number of at most 53 + 63 bits in two limbs, over 2^(bits + d)."""
    m, q = sigma.numerator, bits + sigma.denominator.bit_length() - 2
    whole = k << np.uint64(bits) | x
    high, low = _product(m, whole)
    above = low + np.uint64(m)
    lowest, highest = _half_up(high, low, q), _half_up(high + (above < low), above, q)
    return lowest.astype(np.int64), lowest == highest


def _product(m: int, y: Words) -> tuple[Words, Words]:
    """High and low 64 bits of m y, for m < 2^53 and y < 2^63. No sum passes 2^64: y1 < 2^31 and m1 < 2^21, so
    that m0 y1 < 2^63, m1 y0 < 2^53, and what is carried into them is less than 2^32."""
    m0, m1 = np.uint64(m & 0xFFFFFFFF), np.uint64(m >> 32)
    y0, y1 = y & _LOW, y >> _U32
    lowest = m0 * y0
    middle = m0 * y1 + m1 * y0 + (lowest >> _U32)
    return m1 * y1 + (middle >> _U32), middle << _U32 | lowest & _LOW


def _half_up(high: Words, low: Words, q: int) -> Words:
    """A two-limb number over 2^(q + 1), rounded. It is below 2^45, so nothing is shifted out at the top."""
    if q >= 64:
        doubled = high >> np.uint64(min(q - 64, 63))
    else:
        doubled = high << np.uint64(64 - q) | low >> np.uint64(q) if q else low
    return (doubled + np.uint64(1)) >> np.uint64(1)


class Proposal:
    """One proposal whose first words leave something open."""

    def __init__(
        self, choice: int, x: int, third: int, *, source: Source, widths: ProposalWidths
    ) -> None:
        self._source, self._more = source, widths.more
        self._choice, self._x, self._third = (
            (choice, widths.choice),
            (x, widths.x),
            (third, widths.third),
        )

    def size(self, sigma: Fraction) -> int | None:
        """sigma (k + x) rounded; None if the proposal is rejected."""
        k = self._k()
        return self._size(k, sigma) if self._is_accepted(k) else None

    def _k(self) -> int:
        word, length = self._choice
        return SIZES.resolve(word, length, source=self._source, more=self._more)

    def _is_accepted(self, k: int) -> bool:
        while True:
            (x, x_length), (third, length) = self._x, self._third
            bits = max(x_length, length) + GUARD
            # The bound falls in x, so its extremes lie at the ends of the interval.
            nearest, farthest = (Fraction(x + more, 1 << x_length) for more in (0, 1))
            if third + 1 << bits - length <= _bound(k, farthest, bits).low:
                return True
            if third << bits - length >= _bound(k, nearest, bits).high:
                return False
            self._x, self._third = self._longer(self._x), self._longer(self._third)

    def _size(self, k: int, sigma: Fraction) -> int:
        while True:
            x, length = self._x
            lowest, highest = (
                _nearest(sigma * (k + Fraction(x + more, 1 << length))) for more in (0, 1)
            )
            if lowest == highest:
                return lowest
            self._x = self._longer(self._x)

    def _longer(self, digits: tuple[int, int]) -> tuple[int, int]:
        word, length = digits
        return word << self._more | int(self._source(1, self._more)[0]), length + self._more


def _bound(k: int, x: Fraction, bits: int) -> Interval:
    exponent = x * (2 * k + x) / 2
    return exp_minus(exponent, bits) if exponent else Interval(1 << bits, 1 << bits, bits)


def _nearest(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def moment(sigma: float, power: int) -> float:
    """E |round(N(0, sigma²))|^power of a sigma below 1, as the sum over n of (n^power - (n - 1)^power)
    P(|noise| >= n)."""
    return math.fsum(
        (n**power - (n - 1) ** power) * math.erfc((n - 0.5) / (sigma * math.sqrt(2)))
        for n in range(1, 16)
    )
