"""Noisy counts of a set of values too large to be written down, thresholded: exactly the law of adding noise
to every value of the set and keeping those at or above the threshold, in time that does not depend on the
size of the set.

A value that somebody has gets its noise like any other count. Of the N values that nobody has, each passes
with the same probability p = P(noise >= threshold), independently: so their number is Binomial(N, p), which
values they are is uniform without repetition, and how far each exceeds the threshold is geometric. No step
uses a float.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from synth_engine.errors import PrivacyError
from synth_engine.privacy import tails, thresholds

Bits = Callable[[int], int]
Below = Callable[[int], int]

GUARD = 64
"""Bits of every probability beyond what a decision needs, so that it seldom has to be computed again."""
STEP = 128


def number_passing(
    n: int, *, scale: Fraction, threshold: int, bits: Bits = secrets.randbits
) -> int:
    """A draw from Binomial(n, P(noise >= threshold)), exactly: a uniform number is compared with the
    distribution's steps, and where the bits drawn so far leave open on which side of a step it lies, more are
    drawn."""
    uniform_bits, length = bits(STEP), STEP
    while True:
        # Interval arithmetic: the count is given only where every p in the computed interval
        # agrees on it.
        precision = length + GUARD + n.bit_length() + 2 * thresholds.MAX_BY_CHANCE
        count = tails.locate_count(
            uniform_bits,
            length,
            n=n,
            p=tails.passing(scale=scale, threshold=threshold, bits=precision),
        )
        if count is not None:
            return count
        uniform_bits, length = uniform_bits << STEP | bits(STEP), length + STEP


def discover_values(
    counts: Mapping[int, int],
    *,
    size: int,
    threshold: int,
    scale: Fraction,
    noisy: Callable[[list[int]], list[int]],
) -> list[tuple[int, int]]:
    """(rank, noisy count) of every value at or above the threshold, by rank.

    counts: how many records have a value, by its rank, for the values that somebody has. noisy: adds
    independent discrete Laplace noise of `scale`. The same rule holds for a value that somebody has and for
    one that nobody has, so nothing tells them apart.
    """
    require(size=size, threshold=threshold, scale=scale)
    ranks = sorted(counts)
    reaching = [
        (rank, count)
        for rank, count in zip(ranks, noisy([counts[rank] for rank in ranks]), strict=True)
        if count >= threshold
    ]
    # Binomial over the values that nobody has, N = n - |ranks|: with n, the number of strangers
    # would depend on how many values occur.
    number = number_passing(size - len(ranks), scale=scale, threshold=threshold)
    strangers = sample_without_replacement(
        number, size=size, taken=ranks, below=secrets.randbelow
    )
    # Sorted by rank: the order of the list must not show which values have records.
    return sorted(
        reaching
        + list(
            zip(
                strangers,
                sample_exceedances(number, threshold=threshold, noisy=noisy),
                strict=True,
            )
        )
    )


def require(*, size: int, threshold: int, scale: Fraction) -> None:
    """Raises PrivacyError for a threshold, a public number, that would let much noise through."""
    if (
        threshold < 1
        or thresholds.expected_by_chance(size, threshold=threshold, scale=scale)
        > thresholds.MAX_BY_CHANCE
    ):
        raise PrivacyError("the threshold is too low for a set of this size")


def sample_without_replacement(
    number: int, *, size: int, taken: Iterable[int], below: Below
) -> list[int]:
    """Different ranks that are not taken, each set of them as likely as another. Drawing again what was hit
    already takes two tries on average at worst: where more than half is taken, what is left is short enough
    to be listed."""
    gone = set(taken)
    if 2 * (len(gone) + number) > size:
        left = [rank for rank in range(size) if rank not in gone]
        return [left.pop(below(len(left))) for _ in range(number)]
    ranks: list[int] = []
    while len(ranks) < number:
        rank = below(size)
        if rank not in gone:
            gone.add(rank)
            ranks.append(rank)
    return ranks


def sample_exceedances(
    number: int, *, threshold: int, noisy: Callable[[list[int]], list[int]]
) -> list[int]:
    """Noise on 0, given that it reaches the threshold. Above 0 its law has no memory, so that threshold +
    noise given noise >= 0 is the same; and noise >= 0 has a probability of more than one half."""
    exceedances: list[int] = []
    while len(exceedances) < number:
        exceedances += [
            threshold + noise
            for noise in noisy([0] * (2 * (number - len(exceedances))))
            if noise >= 0
        ]
    return exceedances[:number]
