"""Denoising of one-way tables: lawful outcomes always, and less error where neighbours are alike."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine.inference import count_shrinkage, oneway
from synth_engine.measurement import Noise

NOISE = Noise(law="discrete-gaussian", scale=Fraction(20))


@settings(max_examples=100)
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=70),
    st.integers(0, 10**6),
    st.integers(0, 70),
    st.sampled_from([Fraction(1, 2**20), Fraction(1, 2), Fraction(20), Fraction(2**30)]),
)
def test_the_outcome_is_never_negative_and_has_the_right_total(
    values: list[int], total: int, along: int, scale: Fraction
) -> None:
    for law in ("discrete-laplace", "discrete-gaussian"):
        noise = Noise(law=law, scale=scale)
        found = oneway.denoise(
            np.array(values), noise=noise, total=total, along=min(along, len(values))
        )
        assert found.shape == (len(values),)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(total, rel=1e-6, abs=1e-6)


def test_the_projection_is_the_nearest_lawful_point() -> None:
    projected = oneway.project_to_simplex(np.array([5.0, 3.0, -1.0]), total=6.0)
    assert projected.tolist() == [4.0, 2.0, 0.0]
    inside = np.array([1.0, 2.0, 3.0])
    assert oneway.project_to_simplex(inside, total=6.0).tolist() == inside.tolist()


def error(truth: np.ndarray, *, along: int, runs: int = 40) -> float:
    """Mean total variation distance after denoising."""
    rng = np.random.default_rng(7)
    total = int(truth.sum())
    found = []
    for _ in range(runs):
        noisy = np.rint(truth + rng.normal(0, 20, truth.size)).astype(np.int64)
        estimate = oneway.denoise(noisy, noise=NOISE, total=total, along=along)
        found.append(0.5 * np.abs(estimate / total - truth / total).sum())
    return float(np.mean(found))


def test_smoothing_takes_more_than_half_off_the_error_of_a_smooth_histogram() -> None:
    truth = np.rint(20_000 * np.exp(-((np.arange(85) - 40) ** 2) / 800)) // 30
    assert error(truth, along=85) < 0.45 * error(truth, along=0)


@pytest.mark.parametrize("size", [8, 9, 64, 99])
def test_without_noise_nothing_is_smoothed_away(size: int) -> None:
    values = np.random.default_rng(size).normal(100, 30, size)
    assert np.allclose(oneway.shrink(values, sigma=1e-9), values, atol=1e-3)


def test_smoothing_hardly_harms_a_histogram_whose_neighbours_are_unlike() -> None:
    truth = np.random.default_rng(3).permutation(np.rint(20_000 / np.arange(1, 43))) // 1
    assert error(truth, along=42) < 1.1 * error(truth, along=0)


def test_a_spike_survives() -> None:
    truth = np.full(99, 50.0)
    truth[40] = 18_000.0
    estimate = oneway.denoise(
        truth.astype(np.int64), noise=NOISE, total=int(truth.sum()), along=99
    )
    assert estimate[40] == pytest.approx(18_000, rel=0.01)


def test_pure_noise_about_nothing_is_shrunk_to_nothing() -> None:
    noisy = np.rint(np.random.default_rng(5).normal(0, 20, 128))
    assert np.abs(oneway.shrink(noisy, sigma=20.0)).max() < 12


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32))
def test_rows_are_projected_as_each_by_itself_bit_for_bit(
    rows: int, cells: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 100, (rows, cells))
    totals = np.rint(rng.normal(50, 100, rows))
    together = oneway.project_rows_to_simplex(values, totals=totals)
    for row, total, projected in zip(values, totals.tolist(), together, strict=True):
        alone = oneway.project_to_simplex(row, total=total) if total > 0 else np.zeros(cells)
        assert np.array_equal(projected, alone)


def two_errors(truth: np.ndarray, *, sigma: float, runs: int = 20) -> tuple[float, float]:
    """Mean total variation distances of a column read along its order alone, and of the mean of two
    readings."""
    rng = np.random.default_rng(3)
    total = int(truth.sum())
    errors = []
    for _ in range(runs):
        noisy = truth + rng.normal(0, sigma, truth.size)
        errors.append(
            [
                0.5
                * np.abs(read(noisy, sigma=sigma, total=total, along=truth.size) - truth).sum()
                / total
                for read in (oneway.smoothed, oneway.mean_of_readings)
            ]
        )
    alone, both = np.mean(errors, axis=0)
    return float(alone), float(both)


def test_a_long_list_of_codes_in_no_order_is_read_by_how_large_counts_are() -> None:
    # A few records each, in no order: along the order there is nothing to learn.
    truth = np.random.default_rng(5).permutation(np.repeat([10.0, 40.0, 160.0], [120, 60, 20]))
    alone, both = two_errors(truth, sigma=60)
    assert both < 0.95 * alone


def test_a_smooth_column_stays_smooth() -> None:
    truth = np.rint(2_000 * np.exp(-((np.arange(85) - 40) ** 2) / 800))
    alone, both = two_errors(truth, sigma=200)
    assert both < 1.1 * alone


def test_counts_without_noise_to_speak_of_are_left_alone() -> None:
    truth = np.array([500.0, 3.0, 0.0, 120.0, 7.0])
    found = oneway.mean_of_readings(truth, sigma=0.01, total=630, along=5)
    assert found == pytest.approx(truth, abs=0.05)


@settings(max_examples=100)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=70),
    st.integers(1, 10**6),
    st.sampled_from([1e-6, 0.5, 20.0, 2.0**30]),
)
def test_counts_read_by_size_are_never_negative_and_have_the_right_total(
    values: list[float], total: int, sigma: float
) -> None:
    found = count_shrinkage.shrink_to_total(np.array(values), sigma=sigma, total=float(total))
    assert found.shape == (len(values),)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-6)


def test_the_same_values_always_give_the_same_counts() -> None:
    values = np.random.default_rng(1).normal(50, 40, 30)
    first, second = (
        oneway.mean_of_readings(values.copy(), sigma=40, total=1_500, along=30)
        for _ in range(2)
    )
    assert first.tolist() == second.tolist()
