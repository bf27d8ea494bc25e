"""Tables of three attributes that follow from the tables of their three pairs: of all that have these pairs,
the one of most entropy. It has a factor for each pair, found by iterative proportional fitting (Deming and
Stephan 1940)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]
Triple = tuple[int, int, int]
Factors = tuple[Floats, Floats, Floats]

MAX_TRIPLES = 500
"""Triples that are looked at, at most: all of 15 attributes."""
ROUNDS = 4
"""Of fitting; what more of them change is far below the noise of any count."""


def triples(strengths: Mapping[Pair, float]) -> list[Triple]:
    """Attributes of which all three pairs are given, those that depend most on each other first; at most
    `MOST`.

    strengths: how much one attribute of a pair tells of the other, the smaller one first; not negative.
    """
    # Ties are broken by the pair itself, so that the choice is the same on every machine.
    strongest = sorted(strengths, key=lambda pair: (-strengths[pair], pair))[:MAX_TRIPLES]
    attributes = sorted({triple for pair in strengths for triple in pair})
    strength_of: dict[Triple, float] = {}
    for first, second in strongest:
        for third in attributes:
            sides = [_pair(first, third), _pair(second, third)]
            if third not in (first, second) and all(side in strengths for side in sides):
                a, b, c = sorted((first, second, third))
                strength_of[a, b, c] = strengths[first, second] + sum(
                    strengths[side] for side in sides
                )
    return sorted(
        sorted(strength_of, key=lambda triple: (-strength_of[triple], triple))[:MAX_TRIPLES]
    )


def _pair(first: int, second: int) -> Pair:
    return (first, second) if first < second else (second, first)


def pairs_of(triple: Triple) -> tuple[Pair, Pair, Pair]:
    first, second, third = triple
    return (first, second), (first, third), (second, third)


def factors(pairs: Sequence[Floats], *, rounds: int = ROUNDS) -> Factors:
    """Of three pairs of counts, of (first, second), (first, third) and (second, third), float64: the factors
    whose product nearly has them. Cells that a pair leaves empty are empty in the product.

    The sum of the product over one attribute is a matrix product of two factors, times the third: there is
    never a table of three attributes.
    """
    ab, ac, bc = pairs
    return _scaled(ab, ac, bc, rounds)


def product(pair_factors: Factors) -> Floats:
    """The table itself; float64, one axis for each attribute."""
    first, second, third = pair_factors
    return np.asarray(first[:, :, None] * second[:, None, :] * third[None, :, :])


@compiled
def _times(first: Floats, second: Floats) -> Floats:
    """The matrix product, added up in one order on every machine, as that of a library is not."""
    result = np.zeros((first.shape[0], second.shape[1]))
    for row in range(first.shape[0]):
        for along in range(first.shape[1]):
            for column in range(second.shape[1]):
                result[row, column] += first[row, along] * second[along, column]
    return result


@compiled
def _ratio(wanted: Floats, sums: Floats) -> Floats:
    """How many times as large as the sums; 0 where these are."""
    for row in range(sums.shape[0]):
        for column in range(sums.shape[1]):
            own = sums[row, column]
            sums[row, column] = wanted[row, column] / own if own > 0 else 0.0
    return sums


@compiled
def _scaled(ab: Floats, ac: Floats, bc: Floats, rounds: int) -> Factors:
    """Iterative proportional fitting: each factor is scaled in turn until its pair has the right counts."""
    of_ab, of_ac, of_bc = np.ones(ab.shape), np.ones(ac.shape), np.ones(bc.shape)
    for _ in range(rounds):
        of_ab = _ratio(ab, _times(of_ac, of_bc.T.copy()))
        of_ac = _ratio(ac, _times(of_ab, of_bc))
        of_bc = _ratio(bc, _times(of_ab.T.copy(), of_ac))
    return of_ab, of_ac, of_bc
