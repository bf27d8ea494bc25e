"""Columns whose round numbers stand out are recognised in noisy counts, wherever their codes begin, and no
others."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.inference import heaping, oneway
from synth_engine.inference.heaping import Comb


def heaped(codes: int, *, period: int, first: int, share: float) -> np.ndarray:
    """30,000 records on a curve, of which this share states the next round number."""
    curve = np.exp(-(((np.arange(codes) - 0.45 * codes) / (0.22 * codes)) ** 2))
    rounded = np.zeros(codes)
    for code, weight in enumerate(curve):
        below = (code - first) // period * period + first
        rounded[min(max(below, first), codes - 1)] += weight
    mixed = (1 - share) * curve + share * rounded
    return np.asarray(np.rint(mixed / mixed.sum() * 30_000))


@pytest.mark.parametrize(
    ("period", "first"), [(5, 0), (5, 3), (5, 4), (10, 0), (10, 9)], ids=str
)
def test_round_numbers_are_recognised_wherever_codes_begin(period: int, first: int) -> None:
    truth = heaped(90, period=period, first=first, share=0.6)
    rng = np.random.default_rng(2)
    for _ in range(20):
        found = heaping.find(truth + rng.normal(0, 100, truth.size), sigma=100)
        assert found == Comb(period=period, first=first)


def test_columns_without_round_numbers_have_no_comb() -> None:
    """A curve, one high code, steps, and nothing but noise."""
    peak = np.full(100, 20.0)
    peak[40] = 30_000
    columns = [
        heaped(90, period=5, first=0, share=0.0),
        peak,
        np.repeat([100.0, 900.0, 30.0, 400.0], 20),
        np.zeros(60),
    ]
    rng = np.random.default_rng(4)
    for truth in columns:
        for sigma in (1.0, 30.0, 300.0):
            for _ in range(100):
                noisy = truth + rng.normal(0, sigma, truth.size)
                assert heaping.find(noisy, sigma=sigma) is None


@pytest.mark.parametrize("codes", [0, 1, 2, 3, 19, 20, 39])
def test_short_columns_are_looked_at_for_what_they_can_tell(codes: int) -> None:
    values = np.where(np.arange(codes) % 5 == 2, 1_000.0, 0.0)
    found = heaping.find(values, sigma=1.0)
    assert found == (Comb(period=5, first=2) if codes >= 20 else None)


@pytest.mark.parametrize("sigma", [60.0, 170.0])
def test_round_numbers_and_others_are_nearer_when_each_are_read_in_order(
    sigma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = heaped(99, period=5, first=4, share=0.7)
    total = int(truth.sum())

    def error() -> float:
        rng = np.random.default_rng(6)
        errors = []
        for _ in range(20):
            noisy = truth + rng.normal(0, sigma, truth.size)
            read = oneway.mean_of_readings(
                noisy, sigma=sigma, total=total, along=truth.size, curve=True
            )
            errors.append(0.5 * float(np.abs(read - truth).sum()) / total)
        return float(np.mean(errors))

    with_comb = error()
    monkeypatch.setattr(heaping, "_CLEAR", np.inf)
    assert with_comb < 0.85 * error()


def test_codes_that_stand_in_no_order_stay_out_of_the_comb() -> None:
    """The last codes stand for other values and missing ones."""
    truth = np.append(heaped(60, period=5, first=0, share=0.7), [5_000.0, 3.0])
    noisy = truth + np.random.default_rng(8).normal(0, 50, truth.size)
    read = oneway.mean_of_readings(noisy, sigma=50, total=int(truth.sum()), along=60)
    assert read[60] == pytest.approx(5_000, abs=300)
    assert read.min() >= 0
    assert read.sum() == pytest.approx(truth.sum())
