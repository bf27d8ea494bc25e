"""Exact laws of Dirichlet-multinomial resampling on tiny groups, in whole numbers.

A group of n records over k origins is a vector of counts. With a prior of `weight` / `unit` records for each
origin, the probability of drawing m is a product of rising factorials in steps of `unit`, over one
denominator for all vectors of n.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import factorial, prod

import mpmath

Vector = tuple[int, ...]


@cache
def vectors(total: int, k: int) -> tuple[Vector, ...]:
    """All vectors of k counts with this sum."""
    return tuple(v for v in itertools.product(range(total + 1), repeat=k) if sum(v) == total)


def up_to_order(total: int, k: int) -> Iterator[Vector]:
    """One vector for each set of counts: under a uniform prior origins can change places."""
    return (v for v in vectors(total, k) if tuple(sorted(v, reverse=True)) == v)


@cache
def rising(start: int, times: int, step: int) -> int:
    return prod(start + step * i for i in range(times))


@cache
def numerators(held: Vector, weights: Vector, unit: int, drawn: int) -> tuple[int, ...]:
    """The probability of each outcome of drawing so many, by formula, times
    `rising(unit * n + all weights, drawn, unit)`. weights: the prior of each origin, in `unit`s."""
    found = []
    for outcome in vectors(drawn, len(held)):
        ways = factorial(drawn)
        for count in outcome:
            ways //= factorial(count)
        chances = (
            rising(unit * n + w, m, unit)
            for n, w, m in zip(held, weights, outcome, strict=True)
        )
        found.append(ways * prod(chances))
    return tuple(found)


def law(held: Vector, weights: Vector, unit: int, drawn: int) -> dict[Vector, Fraction]:
    total = rising(unit * sum(held) + sum(weights), drawn, unit)
    found = numerators(held, weights, unit, drawn)
    return {
        m: Fraction(n, total) for m, n in zip(vectors(drawn, len(held)), found, strict=True)
    }


@cache
def exp_below(epsilon: Fraction) -> Fraction:
    """A little less than exp(epsilon), so that deltas at it are not understated."""
    with mpmath.workprec(400):
        power = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        return Fraction(int(mpmath.floor(power * (1 << 200))), 1 << 200)


def delta_between(
    one: dict[Vector, Fraction], other: dict[Vector, Fraction], epsilon: Fraction
) -> Fraction:
    power = exp_below(epsilon)
    return sum(
        (max(Fraction(0), p - power * other.get(m, Fraction(0))) for m, p in one.items()),
        Fraction(0),
    )


def moved(held: Vector, i: int, j: int) -> Vector:
    """One record of origin i has origin j instead."""
    return tuple(n - (place == i) + (place == j) for place, n in enumerate(held))


def worst_delta(
    n: int, k: int, weight: int, unit: int, epsilon: Fraction, *, copies: int = 1
) -> Fraction:
    """The exact delta of resampling a group of n over k origins, over all neighbours in both directions.
    copies: records drawn for each."""
    weights, power, drawn = (weight,) * k, exp_below(epsilon), n * copies
    worst = 0
    for held in up_to_order(n, k):
        here = numerators(held, weights, unit, drawn)
        for i, j in itertools.permutations(range(k), 2):
            if held[i]:
                there = numerators(moved(held, i, j), weights, unit, drawn)
                pairs = zip(here, there, strict=True)
                worst = max(
                    worst,
                    sum(max(0, p * power.denominator - q * power.numerator) for p, q in pairs),
                )
    return Fraction(worst, power.denominator * rising(unit * n + k * weight, drawn, unit))


def disclosure(n: int, k: int, weight: int, unit: int, epsilon: Fraction) -> Fraction:
    """The largest exact probability of the disclosure set."""
    alpha, edge = Fraction(weight, unit), exp_below(epsilon) - 1
    worst = 0
    for held in up_to_order(n, k):
        edges = [edge * (max(count - 1, 0) + alpha) for count in held]
        chances = zip(vectors(n, k), numerators(held, (weight,) * k, unit, n), strict=True)
        worst = max(
            worst,
            sum(p for m, p in chances if any(a > b for a, b in zip(m, edges, strict=True))),
        )
    return Fraction(worst, rising(unit * n + k * weight, n, unit))
