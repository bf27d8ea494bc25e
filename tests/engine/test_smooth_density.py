"""A noisy column read as a smooth curve of logarithms times ratios of its codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from synth_engine.inference import curve_kernels, oneway, smooth_density

TAIL = np.rint(4_000 * np.exp(-np.arange(100) / 12))
"""A column that falls by a factor of four thousand along its codes."""


def errors(truth: np.ndarray, *, sigma: float, runs: int = 12) -> tuple[float, float]:
    """Mean total variation distances of a column read without and with the reading as a curve."""
    rng = np.random.default_rng(11)
    total = int(truth.sum())
    found = []
    for _ in range(runs):
        noisy = truth + rng.normal(0, sigma, truth.size)
        reads = [
            oneway.mean_of_readings(
                noisy, sigma=sigma, total=total, along=truth.size, curve=curve
            )
            for curve in (False, True)
        ]
        found.append([0.5 * np.abs(read - truth).sum() / total for read in reads])
    without, with_curve = np.mean(found, axis=0)
    return float(without), float(with_curve)


def test_a_smooth_column_is_nearer_when_it_is_read_as_a_curve() -> None:
    without, with_curve = errors(TAIL, sigma=200)
    assert with_curve < 0.85 * without


def test_a_code_that_stands_out_of_the_curve_stays() -> None:
    truth = TAIL.copy()
    truth[30] *= 1.5
    noisy = truth + np.random.default_rng(2).normal(0, 20, truth.size)
    read = smooth_density.read(noisy, sigma=20, total=float(truth.sum()))
    assert read is not None
    assert read.counts[30] == pytest.approx(truth[30], rel=0.2)
    assert read.counts[25:30] == pytest.approx(truth[25:30], rel=0.3)


@pytest.mark.parametrize(
    "truth",
    [
        np.tile([2_000.0, 10.0, 300.0, 40.0, 900.0], 20),
        np.concatenate([[40_000.0], np.zeros(98), [2_000.0]]),
        np.where(np.arange(100) == 30, 3_000.0, TAIL),
    ],
    ids=["rough", "nearly all in two codes", "a high peak"],
)
def test_what_is_no_curve_is_read_as_before(truth: np.ndarray) -> None:
    noisy = truth + np.random.default_rng(4).normal(0, 30, truth.size)
    assert smooth_density.read(noisy, sigma=30, total=float(truth.sum())) is None
    without, with_curve = errors(truth, sigma=30, runs=2)
    assert with_curve == without


def test_the_curve_is_the_posterior_mode() -> None:
    rng = np.random.default_rng(8)
    values = TAIL[:12] + rng.normal(0, 100, 12)
    ratios = np.exp(rng.normal(0, 0.1, 12))
    start = np.full(12, np.log(values.mean()))
    curve = smooth_density._fit(values, ratios, start, sigma=100, precision=10.0)

    def loss(logarithms: np.ndarray) -> float:
        off = (values - ratios * np.exp(logarithms)) / 100
        return float(off @ off / 2 + 5 * (np.diff(logarithms, 2) ** 2).sum())

    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-8})
    assert loss(curve.logarithms) == pytest.approx(best.fun, rel=1e-4)


def test_bands_are_those_of_squared_second_differences() -> None:
    differences = np.diff(np.eye(9), 2, axis=0)
    square = differences.T @ differences
    bands = np.empty((3, 9))
    # Without expected counts nothing but the differences bends the loss.
    curve_kernels._curvature(np.zeros(9), np.zeros(9), 1.0, 8.0, bands)
    bands[0] -= curve_kernels.RIDGE
    for below in range(3):
        wanted = 8.0 * np.diag(square, -below)
        assert np.allclose(bands[below, : 9 - below], wanted, atol=1e-12)
        assert not bands[below, 9 - below :].any()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=60),
    st.integers(1, 10**6),
    st.sampled_from([0.5, 20.0, 2.0**30]),
)
def test_counts_are_never_negative_and_have_the_right_total(
    values: list[float], total: int, sigma: float
) -> None:
    found = oneway.mean_of_readings(
        np.array(values), sigma=sigma, total=total, along=len(values), curve=True
    )
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-6)
