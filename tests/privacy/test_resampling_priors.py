"""Priors of resampling: the figures of the literature, and no claim below what brute force finds on tiny groups."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest

from synth_engine.errors import SpecError
from synth_engine.privacy import disclosure, resampling
from tests.privacy import dirichlet

UNIT = resampling.UNIT
CASES = [
    (15, 120_690, "4.6", "1e-5", 0.041184, 0.030462, 0.016474),
    (100, 5_000, "4.6", "1e-5", 0.104979, 0.084610, 0.055587),
    (1_000, 1_000, "3", "1e-6", 1.107340, None, 0.656867),
]
TARGETS = [("1.2", "0.05"), ("2.2", "0.002"), ("3", "0.0001")]
GROUPS = [(n, k) for n in range(1, 7) for k in range(2, 5)]


@pytest.mark.parametrize(("size", "origins", "epsilon", "delta", "zero_sample", "programme", "least"), CASES)
def test_priors_that_were_published(
    size: int, origins: int, epsilon: str, delta: str, zero_sample: float, programme: float | None, least: float
) -> None:
    e, d = float(epsilon), float(delta)
    assert round(disclosure.zero_sample_prior(e, d, size=size, origins=origins), 6) == zero_sample
    if programme is not None:
        assert abs(disclosure.programme_prior(e, d, size=size, origins=origins) - programme) < 6e-7
    found = resampling.parts(Fraction(epsilon), Fraction(delta), sizes=(size,), origins=origins)[size]
    assert round(found / UNIT, 6) == least


def test_a_published_prior_that_is_not_the_least() -> None:
    """0.0167 is given for the first group. It is enough, and more than is needed."""
    assert 9.1e-6 < resampling.delta_of(15, alpha=0.0167, origins=120_690, epsilon=4.6) < 9.2e-6


def test_the_loss_that_was_published_for_shrinking() -> None:
    assert round(disclosure.shrinking_epsilon(4.6, least_kept=0.0378, largest_alpha=0.0412), 2) == 8.57


def test_the_zero_sample_needs_more_than_ln_3() -> None:
    with pytest.raises(SpecError, match=r"ln 3.*Theorem 4\.1"):
        disclosure.zero_sample_prior(1.0986, 1e-5, size=10, origins=10)


def parts_of(method: str, n: int, k: int, epsilon: str, delta: str) -> int:
    e, d = float(epsilon), float(delta)
    if method == "pure":
        return resampling.pure_parts(Fraction(epsilon), size=n)
    if method == "zero-sample":
        return math.ceil(disclosure.zero_sample_prior(e, d, size=n, origins=k) * UNIT)
    if method == "programme":
        return round(disclosure.programme_prior(e, d, size=n, origins=k) * UNIT)
    return resampling.parts(Fraction(epsilon), Fraction(delta), sizes=(n,), origins=k)[n]


def cases() -> Iterator[tuple[int, int, str, str]]:
    return ((n, k, epsilon, delta) for n, k in GROUPS for epsilon, delta in TARGETS)


def exceeding(method: str, factor: Fraction = Fraction(1)) -> int:
    """How many groups have more than they claim, by brute force, with the prior times this factor."""
    found = 0
    for n, k, epsilon, delta in cases():
        weight = math.floor(parts_of(method, n, k, epsilon, delta) * factor)
        exact = dirichlet.worst_delta if method in ("pure", "delta") else dirichlet.disclosure
        claim = Fraction(0) if method == "pure" else Fraction(delta)
        found += exact(n, k, weight, UNIT, Fraction(epsilon)) > claim
    return found


@pytest.mark.parametrize("method", ["pure", "zero-sample", "programme", "delta"])
def test_no_claim_is_below_what_brute_force_finds(method: str) -> None:
    assert exceeding(method) == 0


@pytest.mark.parametrize("method", ["pure", "programme", "delta"])
def test_a_prior_that_is_a_tenth_too_small_is_noticed(method: str) -> None:
    assert exceeding(method, Fraction(9, 10)) > 0


def test_the_bound_is_never_below_the_exact_delta_and_near_to_it() -> None:
    tight = 0.0
    for n, k, epsilon, _ in cases():
        for weight in (UNIT // 50, UNIT // 7, UNIT):
            exact = float(dirichlet.worst_delta(n, k, weight, UNIT, Fraction(epsilon)))
            bound = resampling.delta_of(n, alpha=weight / UNIT, origins=k, epsilon=float(epsilon))
            assert exact <= bound * (1 + 1e-9) + 1e-15
            tight = max(tight, exact / bound if bound else 0)
    assert tight > 0.95


def test_the_programme_is_never_below_the_exact_probability() -> None:
    for n, k, epsilon, _ in cases():
        for weight in (UNIT // 50, UNIT // 7, UNIT):
            exact = float(dirichlet.disclosure(n, k, weight, UNIT, Fraction(epsilon)))
            bound = disclosure.programme(n, alpha=weight / UNIT, origins=k, epsilon=float(epsilon))
            assert exact <= bound * (1 + 1e-9) + 1e-15


def bisected(epsilon: float, delta: float, *, size: int, origins: int) -> float:
    """As if whatever is above a prior that is allowed were allowed: halved between 0 and where it is, until it is within a
    hundredth, and the upper end is not looked at any more."""
    low, high = 0.0, 2 * disclosure.programme_prior(epsilon, delta, size=size, origins=origins)
    while high - low > high / 100:
        middle = (low + high) / 2
        allowed = disclosure.programme(size, alpha=middle, origins=origins, epsilon=epsilon) <= delta
        low, high = (low, middle) if allowed else (middle, high)
    return low + high / 100


def test_the_programme_is_not_solved_by_bisection() -> None:
    """The probability is a sawtooth in the prior, so that a larger one is not always enough."""
    wrong = 0
    for size, origins in ((15, 2), (15, 4), (40, 2), (40, 3)):
        for epsilon, delta in ((1.2, 0.05), (2.2, 0.002), (3, 0.0001)):
            found = disclosure.programme_prior(epsilon, delta, size=size, origins=origins)
            assert disclosure.programme(size, alpha=found, origins=origins, epsilon=epsilon) <= delta
            other = bisected(epsilon, delta, size=size, origins=origins)
            wrong += disclosure.programme(size, alpha=other, origins=origins, epsilon=epsilon) > delta
    assert wrong


def test_all_groups_of_a_state_are_calibrated_in_seconds() -> None:
    sizes = tuple(sorted({*range(1, 400), *range(400, 5_800, 60)}))
    begun = time.process_time()
    found = resampling.parts(Fraction("1.2"), Fraction(1, 10**5), sizes=sizes, origins=25_181)
    assert time.process_time() - begun < 10
    assert list(found) == list(sizes)
    for size in sizes[::50]:
        alpha = found[size] / UNIT
        assert resampling.delta_of(size, alpha=alpha, origins=25_181, epsilon=1.2) <= 1e-5
        assert resampling.delta_of(size, alpha=alpha * 0.99, origins=25_181, epsilon=1.2) > 1e-5
