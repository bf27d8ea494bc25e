"""The compiled loops by which columns and pairs are read do what arrays do in several lines."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.inference import bins, oneway, share_kernels, tables


@pytest.mark.parametrize("observations", [1, 7, 8, 41])
def test_shares_are_those_of_the_plain_iteration(observations: int) -> None:
    rng = np.random.default_rng(observations)
    likelihood = rng.random((5, observations))
    times, start = rng.integers(1, 4, observations).astype(float), np.full(5, 0.2)
    steady = np.array([1.0, 0.0, 0.0, 0.3, 0.0])
    shares = start
    for _ in range(12):
        weights = shares * (likelihood @ (times / (shares @ likelihood))) + steady
        shares = weights / weights.sum()
    fitted = share_kernels.fit_shares(likelihood, times, start, steady, 12)
    assert np.allclose(fitted, shares, rtol=1e-12)
    assert start.tolist() == [0.2] * 5


@pytest.mark.parametrize("filter_", oneway._FILTERS, ids=len)
@pytest.mark.parametrize("step", [1, 2, 8])
def test_a_transform_is_that_of_shifted_rings_and_is_undone(
    filter_: np.ndarray, step: int
) -> None:
    values = np.random.default_rng(step).normal(size=24)
    high = filter_[::-1] * (-1.0) ** np.arange(filter_.size)
    smooth, detail, back = np.empty(24), np.empty(24), np.empty(24)
    share_kernels.divide(values, filter_, high, step, smooth, detail)
    shifted = np.stack([np.roll(values, -step * shift) for shift in range(filter_.size)])
    assert np.allclose(smooth, filter_ @ shifted)
    assert np.allclose(detail, high @ shifted)
    share_kernels.join(smooth, detail, filter_, high, step, back)
    assert np.allclose(back, values)


def test_two_margins_are_fitted_and_adjusted_as_those_of_larger_tables() -> None:
    rng = np.random.default_rng(1)
    table, variances = rng.random((5, 11)), 0.1 + rng.random((5, 11))
    wanted = rng.random((5, 11))
    two = [((0,), wanted.sum(axis=1)), ((1,), wanted.sum(axis=0))]
    # The same table with an axis of one code more.
    three = [*two, ((2,), np.array([wanted.sum()]))]
    before = table.copy()
    fitted = tables.fit_margins(table, two, rounds=4)
    larger = tables.fit_margins(table[..., None], three, rounds=4)
    assert np.allclose(fitted, larger[..., 0], rtol=1e-12)
    adjusted = tables.adjust_to_margins(table, variances, two, rounds=4)
    deep = tables.adjust_to_margins(table[..., None], variances[..., None], three, rounds=4)
    assert np.allclose(adjusted.sum(axis=0), two[1][1])
    assert np.allclose(adjusted, deep[..., 0], atol=1e-9)
    assert np.array_equal(table, before)


@pytest.mark.parametrize("turned", [False, True])
def test_pairs_are_summed_by_bins_as_axes_are(turned: bool) -> None:
    table = np.arange(35.0).reshape(5, 7)
    rows, columns = np.array([1, 0, 1, 2, 0]), np.array([0, 0, 1, 1, 1, 2, 0])
    given = [columns, rows] if turned else [rows, columns]
    summed = bins.sum_into_bins(table.T if turned else table, given)
    wanted = bins.sum_into_bins(bins.sum_into_bins(table, [rows]).T, [columns]).T
    assert np.array_equal(summed.T if turned else summed, wanted)
