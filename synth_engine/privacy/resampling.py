"""The least prior of a Dirichlet-multinomial resampling, from (epsilon, delta), group size and number of
origins alone.

A group of n records over k origins has counts n_1, …, n_k; m = c n new records, c copies of each, are drawn
from the Dirichlet-multinomial law with parameters n_i + alpha. Neighbours have the same groups, and one
record of a group has another origin (docs/proofs/resample.md; Machanavajjhala, Kifer, Abowd, Gehrke and
Vilhuber 2008, "Privacy: Theory meets practice on the map").

The prior is chosen in floats, which proves nothing: the verifier recomputes the delta of the whole numbers
that were chosen, in whole-number arithmetic, before anything is charged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from synth_engine.errors import PrivacyError
from synth_engine.jit import compiled
from synth_engine.privacy.dirichlet_multinomial import MAX_URN_BALLS
from synth_engine.privacy.events import DirichletMultinomial

UNIT = 1 << 24
"""Parts of one record in which priors are counted: alpha = parts / UNIT."""
MAX_RESAMPLED_CELLS = 1 << 40
"""Cells of groups by origins, of which only those drawn are stored: those of two columns of a million
codes."""
_MARGIN = 1e-7
"""The part of delta that is left to the arithmetic of the verifier."""
_STEPS = 60
_NUDGE = 1.0005
_NEGLIGIBLE = 1e-16


def pure_parts(epsilon: Fraction, *, size: int, copies: int = 1) -> int:
    """The least prior, in parts, for epsilon-differential privacy: alpha >= m / (exp(epsilon) - 1) (Theorem
    4.1)."""
    alpha = size * copies / math.expm1(epsilon) * (1 + 1e-12)
    return max(1, math.ceil(alpha * UNIT))


def delta_of(
    size: int, *, alpha: float, origins: int, epsilon: float, copies: int = 1
) -> float:
    """An upper bound of the delta of one group at epsilon, up to rounding (docs/proofs/resample.md).

    It is the largest over x of the expectation of (1 - exp(epsilon) a / (m + a))+, a = x - 1 + alpha, where m
    is how often an origin of x records is drawn. No union over origins is needed.
    """
    return float(_delta(size, size * copies, alpha, alpha * origins, epsilon))


@lru_cache(maxsize=64)
def parts(
    epsilon: Fraction, delta: Fraction, *, sizes: tuple[int, ...], origins: int, copies: int = 1
) -> dict[int, int]:
    """The prior of each origin, in parts, by group size: about the least with which the group has at most
    delta."""
    if origins == 1:
        return dict.fromkeys(sizes, 1)
    if delta == 0:
        return {size: pure_parts(epsilon, size=size, copies=copies) for size in sizes}
    by_size: dict[int, int] = {}
    near = 0.0
    for size in sorted(sizes):
        group = _GroupDraw(size=size, draws=size * copies, origins=origins)
        by_size[size] = _parts(group, float(epsilon), float(delta) * (1 - _MARGIN), near=near)
        near = by_size[size] / UNIT
    return {size: by_size[size] for size in sizes}


def required(
    event: DirichletMultinomial, *, totals: Sequence[int], origins: Sequence[int]
) -> npt.NDArray[np.int64]:
    """The prior, in parts, of one origin of each group.

    totals: the size of each group. origins: how many origins each group has. Errors: PrivacyError where the
    event is for other groups or origins, or its prior is too small for its epsilon and delta; all of these
    are public.
    """
    priors = event.by_size
    wanted = {(n, number) for n, number in zip(totals, origins, strict=True) if n}
    if event.origins != max(origins) or not wanted <= {
        (n, number) for n, (_, number) in priors.items()
    }:
        raise PrivacyError("the prior is for other groups or origins")
    if len(totals) * event.origins > MAX_RESAMPLED_CELLS:
        raise PrivacyError(f"groups by origins have from 1 to {MAX_RESAMPLED_CELLS:,} cells")
    if largest_urn(event, totals=totals) > MAX_URN_BALLS:
        raise PrivacyError("the prior is too large to be drawn from")
    epsilon, max_delta = float(event.epsilon), float(event.delta)
    if any(
        delta_of(
            size,
            alpha=weight / event.unit,
            origins=number,
            epsilon=epsilon,
            copies=event.copies,
        )
        * (1 + _MARGIN / 2)
        > max_delta
        for size, (weight, number) in priors.items()
        if number > 1
    ):
        raise PrivacyError("the prior is too small for its epsilon and delta")
    return np.array([priors[n][0] if n else 1 for n in totals], dtype=np.int64)


def largest_urn(event: DirichletMultinomial, *, totals: Iterable[int]) -> int:
    """The most balls in an urn: those of n records, of earlier draws and of the prior of all origins."""
    priors, times = event.by_size, 1 + event.copies
    return max(
        (times * n * event.unit + priors[n][0] * priors[n][1] for n in set(totals) if n),
        default=0,
    )


def groups(totals: Iterable[int]) -> tuple[int, ...]:
    """The different sizes of groups that are not empty, in order."""
    return tuple(sorted({int(total) for total in totals if total}))


@dataclass(frozen=True, kw_only=True)
class _GroupDraw:
    """size: its records. draws: how many new ones."""

    size: int
    draws: int
    origins: int

    def delta(self, alpha: float, epsilon: float) -> float:
        """Its delta with this prior of each origin, in records."""
        return float(_delta(self.size, self.draws, alpha, alpha * self.origins, epsilon))


def _parts(group: _GroupDraw, epsilon: float, delta: float, *, near: float) -> int:
    """The prior of one group size, in parts, by bisection. near: the prior of the next smaller group, where
    the search begins."""
    pure_prior = group.draws / math.expm1(epsilon) * (1 + 1e-12)
    low, high = 0.0, pure_prior
    guess = near
    while 0 < guess < pure_prior and group.delta(guess, epsilon) > delta:
        low, guess = guess, guess * 1.25
    high = min(pure_prior, guess) if guess > 0 else pure_prior
    for _ in range(_STEPS):
        if high - low <= max(1e-6 * high, 0.5 / UNIT):
            break
        middle = (low + high) / 2
        low, high = (middle, high) if group.delta(middle, epsilon) > delta else (low, middle)
    # The search ended between whole parts; the delta of the returned one is computed.
    prior_parts = max(1, math.ceil(high * UNIT))
    while prior_parts < pure_prior * UNIT and group.delta(prior_parts / UNIT, epsilon) > delta:
        prior_parts = math.ceil(prior_parts * _NUDGE) + 1
    return min(prior_parts, max(1, math.ceil(pure_prior * UNIT)))


@compiled
def log_mass(m: float, n: float, first: float, second: float) -> float:
    """ln P(m) of the beta-binomial law of n draws with parameters first and second."""
    chosen = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    weights = (
        math.lgamma(m + first) + math.lgamma(n - m + second) - math.lgamma(n + first + second)
    )
    return (
        chosen
        + weights
        + math.lgamma(first + second)
        - math.lgamma(first)
        - math.lgamma(second)
    )


@compiled
def _delta(n: int, draws: int, alpha: float, total: float, epsilon: float) -> float:
    largest = 0.0
    grown, weight = math.expm1(epsilon), math.exp(epsilon)
    for x in range(1, n + 1):
        a = x - 1 + alpha
        # The least m with a positive part, m > (exp(epsilon) - 1) a; too small by one where
        # rounding is in doubt, which adds zero.
        m = math.floor(grown * a * (1 - 1e-12)) + 1
        if m > draws:
            break
        first, second = x + alpha, n - x + total - alpha
        mass, excess = math.exp(log_mass(m, draws, first, second)), 0.0
        while m <= draws:
            excess += mass * max(0.0, 1 - weight * a / (m + a))
            # Once the ratio of neighbouring masses is below 1 it falls with m, so what is left is at most a
            # geometric series (docs/proofs/resample.md).
            ratio = 0.0
            if m < draws:
                ratio = (draws - m) * (first + m) / ((m + 1) * (second + draws - m - 1))
            mass *= ratio
            m += 1
            if ratio < 1 and mass <= _NEGLIGIBLE * (1 - ratio) * (excess + largest):
                break
        largest = max(largest, excess)
    return largest
