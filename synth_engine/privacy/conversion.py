"""Conversion between rho or mu² and (epsilon, delta), rounded to the safe side.

Canonne, Kamath and Steinke 2020, Corollary 13: rho-zCDP implies (epsilon, delta)-DP for every alpha > 1 with

    epsilon >= alpha rho + ln(1 - 1/alpha) - (ln alpha + ln delta) / (alpha - 1).

Every alpha gives a valid bound, so alpha is searched in floats and only the bound at the alpha found is
computed with care: rational inputs, 80 decimal digits, and a margin far above the sum of all rounding
errors (docs/proofs/conversion.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from synth_engine.errors import SpecError
from synth_engine.privacy import tradeoff
from synth_engine.privacy.loss import Budget, GaussianDP, Pure, ZeroConcentrated

GRID = 10**12
_CONTEXT = Context(prec=80, Emax=10**6, Emin=-(10**6))
_MARGIN = Decimal("1e-40")
_SIGNIFICANT = 13
_ROOM = 1 - Fraction(1, 10**11)


def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, rounded up to a multiple of 10⁻¹², such that rho-zCDP implies (epsilon, delta)-DP."""
    _require(rho, delta)
    if rho == 0:
        return Fraction(0)
    bound = _bound(rho, delta, alpha=_best_alpha(float(rho), float(delta)))
    return max(Fraction(0), Fraction(math.ceil(bound * GRID), GRID))


@lru_cache(maxsize=4096, typed=True)
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho with `epsilon_for(rho, delta) <= epsilon`, less a part in 10¹⁰ and cut to 13 digits.

    That part leaves room for a verifier with another alpha. Errors: SpecError for amounts that buy nothing.
    """
    if not isinstance(epsilon, Fraction) or epsilon <= 0:
        raise SpecError("epsilon must be above 0", repair="give an epsilon such as 1")
    _require(Fraction(1), delta)
    low, high = 0.0, float(epsilon) + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):  # nothing lies between them any more
            break
        if _float_epsilon(middle, float(delta)) <= float(epsilon):
            low = middle
        else:
            high = middle
    # The search ran in floats. What it found is proved below by the bound that is rounded up.
    rho = _round_down(low * (1 - 1e-10))
    while (
        rho > 0
        and _bound(rho, delta, alpha=_best_alpha(float(rho), float(delta))) > epsilon * _ROOM
    ):
        rho = _round_down(float(rho) * (1 - 1e-11))
    if rho <= 0:
        raise SpecError(
            "epsilon and delta are too small to buy any answer",
            repair="give a larger epsilon or delta",
        )
    return rho


@lru_cache(maxsize=4096, typed=True)
def mu_squared_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest mu² with which mu-GDP implies (epsilon, delta)-DP, less a part in 10¹⁰ and cut to 13
    digits.

    That part leaves room for a verifier with other arithmetic. The result is proved; only the search before
    it may err.
    """
    start = math.log(
        2 * rho_for(epsilon, delta)
    )  # mu-GDP is mu² / 2-zCDP, so this much is bought in any case
    log_mu_squared = _root(
        lambda log: _log_excess(Fraction(math.exp(log)), epsilon, delta), start
    )
    less = 1e-10
    mu_squared = _round_down(math.exp(log_mu_squared) * (1 - less))
    while tradeoff.delta_bound(mu_squared, epsilon) > delta:
        less *= 2
        mu_squared = _round_down(float(mu_squared) * (1 - less))
    return mu_squared


@lru_cache(maxsize=4096, typed=True)
def epsilon_for_mu(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, rounded up to a multiple of 10⁻¹², such that mu-GDP implies (epsilon, delta)-DP."""
    _require(mu_squared, delta)
    if mu_squared == 0 or tradeoff.delta_bound(mu_squared, Fraction(0)) <= delta:
        return Fraction(0)
    start = -math.log(max(epsilon_for(mu_squared / 2, delta), Fraction(1, GRID)))
    log_inverse = _root(
        lambda log: _log_excess(mu_squared, Fraction(math.exp(-log)), delta), start
    )
    # From about the root upwards until delta is proved; the step doubles, so that a poor start
    # costs few evaluations.
    steps, more = math.ceil(Fraction(math.exp(-log_inverse)) * GRID), 1
    while tradeoff.delta_bound(mu_squared, Fraction(steps, GRID)) > delta:
        steps, more = steps + more, 2 * more
    return Fraction(steps, GRID)


def _log_excess(mu_squared: Fraction, epsilon: Fraction, delta: Fraction) -> float:
    """The logarithm of mu-GDP's delta over delta."""
    excess = tradeoff.delta_bound(mu_squared, epsilon) / delta
    return math.log(excess.numerator) - math.log(excess.denominator)


def _root(rising: Callable[[float], float], low: float) -> float:
    """An approximate zero of a rising function that is not positive at `low`; nothing is proved here."""
    at_low, width = rising(low), 1e-3
    while (at_high := rising(low + width)) < 0 and width < 1e4:
        low, at_low, width = low + width, at_high, 4 * width
    high, side = low + width, 0
    for _ in range(80):
        # False position, Illinois variant: halving the value at a stale end keeps both moving.
        guess = (
            (low * at_high - high * at_low) / (at_high - at_low) if at_high > at_low else low
        )
        at = rising(guess)
        if abs(at) < 1e-12 or not low < guess < high:
            return guess
        if at < 0:
            low, at_low, at_high = guess, at, at_high / 2 if side < 0 else at_high
        else:
            high, at_high, at_low = guess, at, at_low / 2 if side > 0 else at_low
        side = -1 if at < 0 else 1
    return low


def budget_for(
    epsilon: Fraction, delta: Fraction, *, adds_up: Literal["zcdp", "gdp"]
) -> Budget:
    """The budget that (epsilon, delta) buys: pure epsilon where delta is 0, else the rho or the mu²."""
    if delta == 0:
        return Pure(epsilon=epsilon)
    if adds_up == "gdp":
        return GaussianDP(mu_squared=mu_squared_for(epsilon, delta))
    return ZeroConcentrated(rho=rho_for(epsilon, delta))


def epsilon_of(budget: Budget, delta: Fraction) -> Fraction:
    """The epsilon that a budget implies at delta; of a pure one, itself."""
    if isinstance(budget, Pure):
        return budget.epsilon
    return (epsilon_for_mu if isinstance(budget, GaussianDP) else epsilon_for)(
        budget.amount, delta
    )


def _bound(rho: Fraction, delta: Fraction, *, alpha: Fraction) -> Fraction:
    """An upper bound of the right-hand side of the module's formula."""
    log_alpha, log_delta = _ln(alpha), _ln(delta)
    log_rest = _ln((alpha - 1) / alpha)
    total = _CONTEXT.add(_decimal(alpha * rho), log_rest)
    fall = _CONTEXT.divide(_CONTEXT.add(log_alpha, log_delta), _decimal(alpha - 1))
    # The margin exceeds the sum of all rounding errors, so this is an upper bound
    # (docs/proofs/conversion.md).
    return Fraction(_CONTEXT.add(_CONTEXT.subtract(total, fall), _MARGIN))


def _ln(value: Fraction) -> Decimal:
    return _CONTEXT.subtract(
        _CONTEXT.ln(Decimal(value.numerator)), _CONTEXT.ln(Decimal(value.denominator))
    )


def _decimal(value: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def _float_epsilon(rho: float, delta: float) -> float:
    return _float_bound(
        math.log(float(_best_alpha(rho, delta)) - 1), rho=rho, log_delta=math.log(delta)
    )


def _float_bound(t: float, *, rho: float, log_delta: float) -> float:
    """The bound at alpha = 1 + exp(t), for the search only."""
    log_alpha = math.log1p(math.exp(t))
    return (1 + math.exp(t)) * rho + t - log_alpha - (log_alpha + log_delta) * math.exp(-t)


def _best_alpha(rho: float, delta: float) -> Fraction:
    """A nearly optimal alpha by golden section on ln(alpha - 1), as a rational; the bound has one minimum."""
    golden = (math.sqrt(5) - 1) / 2
    low, high, log_delta = math.log(1e-6), math.log(1e9), math.log(delta)
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left = _float_bound(left, rho=rho, log_delta=log_delta)
    at_right = _float_bound(right, rho=rho, log_delta=log_delta)
    for _ in range(90):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = _float_bound(left, rho=rho, log_delta=log_delta)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = _float_bound(right, rho=rho, log_delta=log_delta)
    return 1 + Fraction(math.exp((low + high) / 2))


def _round_down(value: float) -> Fraction:
    if value <= 0:
        return Fraction(0)
    step = Fraction(10) ** (math.floor(math.log10(value)) + 1 - _SIGNIFICANT)
    return math.floor(Fraction(value) / step) * step


def _require(rho: Fraction, delta: Fraction) -> None:
    if not isinstance(rho, Fraction) or rho < 0:
        raise TypeError("rho must be a Fraction that is not negative")
    if not isinstance(delta, Fraction) or not 0 < delta < 1:
        raise SpecError(
            "delta must lie between 0 and 1 here", repair="give a delta such as 1e-9"
        )
