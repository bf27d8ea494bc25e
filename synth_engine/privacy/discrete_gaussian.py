"""Discrete Gaussian noise, P(y) proportional to exp(-y² / (2 sigma²)): exactly that law, from uniform random
bits.

A proposal (Karney 2016, Algorithm D, with its coins replaced by one comparison): k, of chance proportional to
exp(-k² / 2); a place j, uniform below n = ceil(sigma); and y = ceil(k sigma) + j. It is rejected if y is not
below (k + 1) sigma, and else kept with chance exp(-(y² / sigma² - k²) / 2); a bit is the sign, and a negative
zero is rejected. The loop is compiled and takes whole numbers alone, with a bound of its error. What its
words leave open is settled by further digits of the same numbers (`_resolved`). Proof:
docs/proofs/discrete-gaussian.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled
from synth_engine.privacy.inverse_cdf import GUARD, Flags, Parts, Source, Words
from synth_engine.privacy.rounded import SIZES
from synth_engine.privacy.tails import Interval, exp_minus

MAX_SIGMA = 2**40
BLOCK = 1 << 15
_STRIPS = 7
"""The strips [k sigma, (k + 1) sigma) that the compiled loop knows; farther ones are left open."""
_EXPONENTS = 1024
"""Powers exp(-h / 128): exponents are below _STRIPS + 1/2."""
_REJECTED, _ACCEPTED, _OPEN = 0, 1, 2


@dataclass(frozen=True)
class GaussianWidths:
    """The widths of random words, in bits.

    choice: of the choice of k, at most 31. third: of the number that is compared, at most 32. place: of the
    word from which j comes, at most 63. more: of a word that resolves an open decision.
    """

    choice: int = 31
    third: int = 32
    place: int = 63
    more: int = 64


USUAL = GaussianWidths()


@dataclass(frozen=True, eq=False)
class _SigmaTables:
    """What the compiled loop needs to know of sigma.

    strips: of each k, the first place ceil(k sigma); the number of places below (k + 1) sigma; and by how
    much the first place lies above k sigma, as a part of sigma, in units of 2^-62, rounded down. constants:
    n; 1 / sigma in units of 2^-62, rounded down; a bound of the error at k = 0 and what each k adds to it, in
    units of 2^-32; then `_powers`.
    """

    strips: Words
    constants: Words


def prepare(sigma: Fraction) -> None:
    """Compute the tables by which noise of this sigma is drawn, and draw nothing."""
    SIZES.prepare(USUAL.choice)
    _tables(sigma)


def draws(size: int, *, sigma: Fraction, source: Source) -> npt.NDArray[np.int64]:
    """Draw `size` independent values. sigma: at most 2^40, and exactly a float. Errors: TypeError for another
    sigma."""
    if not 0 < sigma <= MAX_SIGMA or Fraction(float(sigma)) != sigma:
        raise TypeError("sigma must be positive, at most 2^40, and exactly a float")
    noise = np.empty(size, dtype=np.int64)
    # About 71 of 100 proposals are accepted for a wide sigma, fewer where it is not a whole number, and 28 at
    # least where it is below 1.
    proposed = 4.0 if sigma < 1 else 1.5 * ceil(sigma) / float(sigma)
    done = 0
    while done < size:
        number = min(BLOCK, int((size - done) * proposed) + 8)
        values, accepted = proposals(number, sigma=sigma, source=source, widths=USUAL)
        values = values[accepted][: size - done]
        noise[done : done + values.size] = values
        done += values.size
    return noise


def proposals(
    number: int, *, sigma: Fraction, source: Source, widths: GaussianWidths
) -> tuple[npt.NDArray[np.int64], Flags]:
    """Draw `number` proposals: their values, and which of them are accepted; the other values have no
    meaning."""
    first = source(number, 1 + widths.choice + widths.third)
    third = first & np.uint64(2**widths.third - 1)
    choice = first >> np.uint64(widths.third) & np.uint64(2**widths.choice - 1)
    negative = first >> np.uint64(widths.third + widths.choice) != 0
    n = ceil(sigma)
    place, within = _places(number, n, source=source, bits=widths.place)
    k, sure = SIZES.of_words(choice, widths.choice)
    tables = _tables(sigma)
    step = np.uint64(1 << 32 - widths.third)
    sizes, decisions = _decide(
        np.where(sure, k, _STRIPS), place, third * step, step, tables.strips, tables.constants
    )
    decisions[~within] = _REJECTED
    for i in np.flatnonzero(decisions == _OPEN):
        words = tuple(int(each[i]) for each in (choice, place, third))
        resolved = _resolved(words, sigma=sigma, source=source, widths=widths)
        decisions[i] = _REJECTED if resolved is None else _ACCEPTED
        sizes[i] = resolved or 0
    # Zero has one sign: with both it would be twice as likely.
    accepted = (decisions == _ACCEPTED) & ~(negative & (sizes == 0))
    return np.where(negative, -sizes, sizes), accepted


def _places(number: int, n: int, *, source: Source, bits: int) -> tuple[Words, Flags]:
    """Numbers below n, each as likely as another among those whose flag is set."""
    if n == 1:
        return np.zeros(number, dtype=np.uint64), np.ones(number, dtype=np.bool_)
    words = source(number, bits)
    # Beyond the last multiple of n the remainders would not be alike; such a proposal is rejected whatever it
    # is.
    return words % np.uint64(n), words < np.uint64((1 << bits) // n * n)


@compiled
def _decide(
    strip: Parts,
    place: Words,
    third: Words,
    step: np.uint64,
    strips: Words,
    constants: Words,
) -> tuple[Parts, npt.NDArray[np.uint8]]:
    """The size of each proposal, and whether it is accepted, rejected or open.

    third: the lower end of the third number, in units of 2^-32; step: the length of its interval. Numbers are
    unsigned and stay below 2^64 (docs/proofs/discrete-gaussian.md).
    """
    inverse, least, more = constants[1], constants[2], constants[3]
    powers = constants[4:]
    sizes = np.zeros(strip.size, dtype=np.int64)
    decisions = np.zeros(strip.size, dtype=np.uint8)
    for i in range(strip.size):
        if strip[i] >= strips.shape[0]:
            decisions[i] = _OPEN
            continue
        k, j = np.uint64(strip[i]), place[i]
        if j >= strips[strip[i], 1]:
            continue
        sizes[i] = np.int64(strips[strip[i], 0] + j)
        # y / sigma - k and the exponent, in units of 2^-31.
        x = (strips[strip[i], 2] + j * inverse) >> np.uint64(31)
        exponent = k * x + (x * x >> np.uint64(32))
        # exp(-h / 128), by the series of what is left of the exponent, below 1 / 128.
        left = exponent & np.uint64(2**24 - 1)
        square = left * left
        cube = (square >> np.uint64(31)) * left >> np.uint64(31)
        series = np.uint64(2**31) - left + (square >> np.uint64(32)) - cube // np.uint64(6)
        bound = powers[exponent >> np.uint64(24)] * series >> np.uint64(31)
        error = least + k * more
        if third[i] + step + error <= bound:
            decisions[i] = _ACCEPTED
        elif third[i] < bound + error:
            decisions[i] = _OPEN
    return sizes, decisions


@lru_cache(maxsize=64)
def _tables(sigma: Fraction) -> _SigmaTables:
    n = ceil(sigma)
    strips = []
    for k in range(_STRIPS):
        first = ceil(k * sigma)
        width = ceil((k + 1) * sigma) - first
        above = int((first / sigma - k) * 2**62) if width else 0
        strips.append([first, width, above])
    # Below 1 every place is the first one of its strip.
    inverse = int(2**62 / sigma) if n > 1 else 0
    error_of_x = 2 + (n >> 31)
    constants = [n, inverse, 8 + 2 * error_of_x, 2 * error_of_x, *_powers()]
    return _SigmaTables(np.array(strips, dtype=np.uint64), np.array(constants, dtype=np.uint64))


@lru_cache(maxsize=1)
def _powers() -> tuple[int, ...]:
    """exp(-h / 128) in units of 2^-32, rounded down."""
    powers = [1 << 32]
    for h in range(1, _EXPONENTS):
        power = exp_minus(Fraction(h, 128), 32 + GUARD)
        below, above = power.low >> GUARD, power.high >> GUARD
        if below != above:
            raise ArithmeticError("too few digits of a power")
        powers.append(below)
    return tuple(powers)


def _resolved(
    words: tuple[int, ...], *, sigma: Fraction, source: Source, widths: GaussianWidths
) -> int | None:
    """The size of one proposal whose first words leave something open; None if it is rejected."""
    choice, place, third = words
    k = SIZES.resolve(choice, widths.choice, source=source, more=widths.more)
    y = ceil(k * sigma) + place
    if y >= (k + 1) * sigma:
        return None
    exponent = ((y / sigma) ** 2 - k**2) / 2
    length = widths.third
    while True:
        bits = length + GUARD
        bound = exp_minus(exponent, bits) if exponent else Interval(1 << bits, 1 << bits, bits)
        if third + 1 << GUARD <= bound.low:
            return y
        if third << GUARD >= bound.high:
            return None
        # The same number with more digits: a new number would change the law.
        third, length = (
            third << widths.more | int(source(1, widths.more)[0]),
            length + widths.more,
        )
