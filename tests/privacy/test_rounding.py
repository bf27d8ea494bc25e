"""What is published of a loss is never below the loss itself, and above it by no more than the last digit
that is shown.

The truth is computed here once more, in intervals, from the formulas that docs/proofs/conversion.md and
docs/proofs/rounded-gaussian.md state.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest
from mpmath import iv

from synth_engine.privacy import conversion
from tests.privacy.planted import plant

DELTAS = [Fraction(1, 10), Fraction(1, 10**6), Fraction(7, 10**10), Fraction(1, 10**18)]
RHOS = [
    Fraction(1, 10**6),
    Fraction(1, 997),
    Fraction(100, 1800),
    Fraction(1, 3),
    Fraction(13, 10),
    Fraction(77, 7),
    Fraction(99),
]
POINTS = list(itertools.product(RHOS, DELTAS))
LAST_DIGIT = Fraction(1, 10**12)
SEARCH = Fraction(1, 10**13)
"""Of epsilon: how far the search in floats may miss the best alpha; the bound is flat there."""
DIGITS = 60


def exactly(value: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    return (-1 if sign else 1) * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def least_epsilon(rho: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The infimum over alpha > 1 of alpha rho + ln(1 - 1/alpha) - (ln alpha + ln delta) / (alpha - 1),
    enclosed.

    The derivative is rho + (ln alpha + ln delta) / (alpha - 1)²: it has the sign of rho (alpha - 1)² + ln
    alpha + ln delta, which rises, so that where it changes from negative to positive is the one minimum."""
    with mpmath.workdps(DIGITS):
        before, iv.dps = iv.dps, DIGITS
        try:
            r, d = (iv.mpf(x.numerator) / x.denominator for x in (rho, delta))
            low, high = mpmath.mpf(10) ** -12, mpmath.mpf(10) ** 12  # of alpha - 1
            for _ in range(400):
                middle = mpmath.sqrt(low * high)
                slope = r * iv.mpf(middle) ** 2 + iv.log(1 + iv.mpf(middle)) + iv.log(d)
                if slope.b < 0:
                    low = middle
                elif slope.a > 0:
                    high = middle
                else:
                    break
            more = iv.mpf([low, high])
            bound = (
                (1 + more) * r
                + iv.log(more / (1 + more))
                - (iv.log(1 + more) + iv.log(d)) / more
            )
            return exactly(mpmath.mpf(bound.a)), exactly(mpmath.mpf(bound.b))
        finally:
            iv.dps = before


def epsilon_of_rho_is_rounded_up(rho: Fraction, delta: Fraction) -> bool:
    published = conversion.epsilon_for(rho, delta)
    low, high = least_epsilon(rho, delta)
    assert high - low < Fraction(1, 10**30), "the truth is known far beyond the digits shown"
    at_least = published >= max(Fraction(0), low)
    return at_least and published <= max(Fraction(0), high * (1 + SEARCH)) + LAST_DIGIT


@pytest.mark.parametrize(("rho", "delta"), POINTS, ids=str)
def test_the_epsilon_of_rho_is_the_least_one_rounded_up(rho: Fraction, delta: Fraction) -> None:
    assert conversion.epsilon_for(rho, delta) % LAST_DIGIT == 0
    assert epsilon_of_rho_is_rounded_up(rho, delta)


def delta_of_mu(mu_squared: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Of mu-GDP at epsilon: the normal distribution function is good to far more digits than are compared."""
    with mpmath.workdps(DIGITS):
        mu = mpmath.sqrt(mpmath.mpf(mu_squared.numerator) / mu_squared.denominator)
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def epsilon_of_mu_is_rounded_up(mu_squared: Fraction, delta: Fraction) -> bool:
    published = conversion.epsilon_for_mu(mu_squared, delta)
    with mpmath.workdps(DIGITS):
        most = mpmath.mpf(delta.numerator) / delta.denominator
        keeps = delta_of_mu(mu_squared, published) <= most
        below = published - 2 * LAST_DIGIT * (1 + published)
        return keeps and (below <= 0 or delta_of_mu(mu_squared, below) > most)


@pytest.mark.parametrize(("rho", "delta"), POINTS, ids=str)
def test_the_epsilon_of_mu_is_the_least_one_rounded_up(rho: Fraction, delta: Fraction) -> None:
    assert epsilon_of_mu_is_rounded_up(2 * rho, delta)


EPSILONS = [Fraction(1, 100), Fraction(1), Fraction(10, 3), Fraction(40)]
TARGETS = list(itertools.product(EPSILONS, DELTAS))
MARGIN = Fraction(1, 10**9)
"""Part of rho and of mu² that may be left for whoever checks with other arithmetic; a tenth of it is
promised."""


def what_epsilon_buys_is_rounded_down(epsilon: Fraction, delta: Fraction) -> bool:
    rho, mu_squared = (
        conversion.rho_for(epsilon, delta),
        conversion.mu_squared_for(epsilon, delta),
    )
    with mpmath.workdps(DIGITS):
        most = mpmath.mpf(delta.numerator) / delta.denominator
        of_rho = (
            least_epsilon(rho, delta)[1]
            <= epsilon
            < least_epsilon(rho * (1 + MARGIN), delta)[0]
        )
        return of_rho and delta_of_mu(mu_squared, epsilon) <= most < delta_of_mu(
            mu_squared * (1 + MARGIN), epsilon
        )


@pytest.mark.parametrize(("epsilon", "delta"), TARGETS, ids=str)
def test_what_epsilon_and_delta_buy_is_rounded_down_by_no_more_than_is_promised(
    epsilon: Fraction, delta: Fraction
) -> None:
    assert what_epsilon_buys_is_rounded_down(epsilon, delta)


# ---- planted into the shipped code
# -------------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def epsilon_rounded_down(patch: pytest.MonkeyPatch) -> None:
    plant(patch, conversion.epsilon_for, "math.ceil(bound * GRID)", "math.floor(bound * GRID)")


def epsilon_rounded_to_the_nearest(patch: pytest.MonkeyPatch) -> None:
    plant(patch, conversion.epsilon_for, "math.ceil(bound * GRID)", "round(bound * GRID)")


def epsilon_two_digits_too_large(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        conversion.epsilon_for,
        "math.ceil(bound * GRID)",
        "math.ceil(bound * GRID) + 200",
    )


def logarithm_of_alpha_forgotten(patch: pytest.MonkeyPatch) -> None:
    plant(patch, conversion._bound, "_CONTEXT.add(log_alpha, log_delta)", "log_delta")


@pytest.mark.parametrize(
    "mistake",
    [
        epsilon_rounded_down,
        epsilon_rounded_to_the_nearest,
        epsilon_two_digits_too_large,
        logarithm_of_alpha_forgotten,
    ],
    ids=lambda mistake: mistake.__name__,
)
def test_a_mistake_in_the_epsilon_of_rho_is_noticed(
    mistake: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    assert not all(epsilon_of_rho_is_rounded_up(rho, delta) for rho, delta in POINTS)


def test_an_epsilon_of_mu_that_is_rounded_down_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search ends a digit too low, and its end is not checked."""
    conversion.epsilon_for_mu.cache_clear()
    shipped = "    steps, more = math.ceil(Fraction(math.exp(-log_inverse)) * GRID), 1\n"
    plant(
        monkeypatch,
        conversion.epsilon_for_mu,
        shipped,
        "    return Fraction(math.floor(Fraction(math.exp(-log_inverse)) * GRID), GRID)\n"
        + shipped,
    )
    try:
        assert not all(epsilon_of_mu_is_rounded_up(2 * rho, delta) for rho, delta in POINTS)
    finally:
        conversion.epsilon_for_mu.cache_clear()


def mu_rounded_up(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        conversion.mu_squared_for,
        "    return mu_squared",
        "    return mu_squared * (1 + Fraction(1, 10**9))",
    )


def rho_rounded_up(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch, conversion.rho_for, "    return rho", "    return rho * (1 + Fraction(1, 10**9))"
    )


@pytest.mark.parametrize(
    "mistake", [mu_rounded_up, rho_rounded_up], ids=lambda mistake: mistake.__name__
)
def test_a_mistake_in_what_epsilon_buys_is_noticed(
    mistake: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversion.rho_for.cache_clear(), conversion.mu_squared_for.cache_clear()
    mistake(monkeypatch)
    try:
        assert not all(what_epsilon_buys_is_rounded_down(*point) for point in TARGETS)
    finally:
        conversion.rho_for.cache_clear(), conversion.mu_squared_for.cache_clear()
