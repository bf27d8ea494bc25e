"""rho to epsilon: safe rounding, agreement with published figures, and with a second implementation."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine.errors import SpecError
from synth_engine.privacy import conversion
from synth_engine.verifier import bounds as verifier_bounds

epsilons = st.fractions(min_value=Fraction(1, 10**4), max_value=1000, max_denominator=10**6)
deltas = st.integers(min_value=1, max_value=18).map(lambda power: Fraction(1, 10**power))


@pytest.mark.parametrize(
    ("epsilon", "rho"),
    [(Fraction(1, 10), 0.000177138), (Fraction(1), 0.0149731), (Fraction(10), 1.09079)],
)
def test_figures_at_a_delta_of_1e_9(epsilon: Fraction, rho: float) -> None:
    assert float(conversion.rho_for(epsilon, Fraction(1, 10**9))) == pytest.approx(
        rho, rel=1e-5
    )


def test_one_hundred_gaussians_of_sigma_30() -> None:
    """Published: 1.989 (OpenDP 1.98916)."""
    assert float(
        conversion.epsilon_for(Fraction(100, 1800), Fraction(1, 10**9))
    ) == pytest.approx(1.98916, abs=1e-5)


@pytest.mark.slow
@settings(max_examples=60)
@given(epsilons, deltas)
def test_what_a_budget_buys_converts_back_to_no_more_than_the_budget(
    epsilon: Fraction, delta: Fraction
) -> None:
    rho = conversion.rho_for(epsilon, delta)
    assert rho > 0
    assert conversion.epsilon_for(rho, delta) <= epsilon + Fraction(1, conversion.GRID)
    assert verifier_bounds.epsilon_bound(rho, delta) <= epsilon, (
        "the verifier must not refuse what calibration allows"
    )
    assert conversion.epsilon_for(rho * (1 + Fraction(1, 10**7)), delta) > epsilon, (
        "and nearly all of it is used"
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=100, max_denominator=10**9), deltas)
def test_two_implementations_agree_and_err_upwards(rho: Fraction, delta: Fraction) -> None:
    ours, theirs = conversion.epsilon_for(rho, delta), verifier_bounds.epsilon_bound(rho, delta)
    assert abs(ours - theirs) <= max(ours, Fraction(1)) / 10**10
    # The same formula to 40 digits on a grid of alphas never gets below it by much.
    with mpmath.workdps(40):
        r, d = (mpmath.mpf(x.numerator) / x.denominator for x in (rho, delta))
        grid = (1 + mpmath.mpf(10) ** (mpmath.mpf(i) / 8) for i in range(-40, 73))
        best = min(
            a * r + mpmath.log((a - 1) / a) - (mpmath.log(a) + mpmath.log(d)) / (a - 1)
            for a in grid
        )
        assert (
            mpmath.mpf(ours.numerator) / ours.denominator <= max(best, 0) + mpmath.mpf(10) ** -9
        )


def test_the_bound_lies_above_the_exact_loss_of_a_discrete_gaussian() -> None:
    """PLD, optimistic or pessimistic, knows the exact loss to within its grid of 1e-4."""
    for sigma in (3.0, 10.0):
        exact = privacy_loss_distribution.from_discrete_gaussian_mechanism(sigma, sensitivity=1)
        ours = conversion.epsilon_for(1 / (2 * Fraction(sigma) ** 2), Fraction(1, 10**6))
        assert (
            exact.get_epsilon_for_delta(1e-6) - 1e-3
            <= float(ours)
            <= 1.3 * exact.get_epsilon_for_delta(1e-6)
        )


@given(
    st.fractions(
        min_value=Fraction(1, 10**30), max_value=10**30, max_denominator=10**30
    ).filter(lambda x: x > 0)
)
def test_the_logarithms_of_the_verifier_are_enclosed(value: Fraction) -> None:
    low, high = verifier_bounds.log_bounds(value)
    with mpmath.workdps(120):
        truth = mpmath.log(mpmath.mpf(value.numerator)) - mpmath.log(
            mpmath.mpf(value.denominator)
        )
        assert (
            mpmath.mpf(low.numerator) / low.denominator
            <= truth
            <= mpmath.mpf(high.numerator) / high.denominator
        )
    assert high - low < Fraction(1, 10**60)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(2)])
def test_a_delta_outside_the_open_unit_interval_is_refused(delta: Fraction) -> None:
    with pytest.raises(SpecError):
        conversion.epsilon_for(Fraction(1), delta)
