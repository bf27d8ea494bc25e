"""The rules by which the client combines the estimates of several plausible tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from synthweb_client import combine


def test_the_quantiles_are_those_of_students_t() -> None:
    for number in (2, 3, 5, 10, 20, 200):
        estimates = [float(place) for place in range(number)]
        for level in (0.5, 0.9, 0.95, 0.999):
            combined = combine(estimates, level=level)
            spread = (1 + 1 / number) * float(np.var(estimates, ddof=1))
            half = stats.t.ppf((1 + level) / 2, number - 1) * math.sqrt(spread)
            assert combined.high - combined.value == pytest.approx(half, rel=1e-9)
            assert combined.value - combined.low == pytest.approx(half, rel=1e-9)


def test_the_sampling_variance_is_added_for_the_population() -> None:
    estimates, variances = [10.0, 12.0, 14.0], [3.0, 4.0, 5.0]
    combined = combine(estimates, variances)
    spread = (1 + 1 / 3) * 4
    assert combined.value == 12
    assert combined.between == 4
    assert combined.variance == pytest.approx(4 + spread)
    assert combined.degrees == pytest.approx(2 * (1 + 4 / spread) ** 2)


def test_estimates_that_agree_have_the_normal_interval_of_their_sampling() -> None:
    combined = combine([5.0, 5.0], [1.0, 1.0])
    assert combined.degrees == math.inf
    assert combined.high == pytest.approx(5 + stats.norm.ppf(0.975), rel=1e-9)
    assert combine([5.0, 5.0]).low == combine([5.0, 5.0]).high == 5


def test_the_interval_holds_a_table_whose_implicates_have_its_posterior_law() -> None:
    """The construction with known truth: answers with noise, implicates with noise of the same law about the
    answers."""
    rng = np.random.default_rng(7)
    truth, deviation, number, trials = 100.0, 3.0, 10, 500
    answers = truth + rng.normal(0, deviation, trials)
    implicates = answers[:, None] + rng.normal(0, deviation, (trials, number))
    intervals = [combine(list(row)) for row in implicates]
    held = np.mean([each.low <= truth <= each.high for each in intervals])
    assert abs(held - 0.95) < 6 * math.sqrt(0.95 * 0.05 / trials)


@pytest.mark.parametrize(
    ("estimates", "variances", "level"),
    [
        ([1.0], None, 0.95),
        ([1.0, 2.0], [1.0], 0.95),
        ([1.0, 2.0], None, 1.0),
        ([1.0, math.nan], None, 0.95),
    ],
)
def test_what_cannot_be_combined_is_refused(
    estimates: list[float], variances: list[float] | None, level: float
) -> None:
    with pytest.raises(ValueError):
        combine(estimates, variances, level=level)
