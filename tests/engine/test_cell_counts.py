"""Noisy tables read cell by cell: large counts are kept, empty cells are found, and sums come out as they are
known."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.inference import denoising, shrinkage, tables
from synth_engine.inference.factors import Noisy

SIGMA = 30.0


def diagonal(size: int = 16) -> np.ndarray:
    """A table of two columns of which each is the other under another name."""
    return np.diag(np.linspace(4_000, 300, size))


def noisy(true: np.ndarray, seed: int) -> np.ndarray:
    return np.asarray(true + np.random.default_rng(seed).normal(0, SIGMA, true.shape))


def expected(true: np.ndarray) -> np.ndarray:
    return np.asarray(np.outer(true.sum(axis=1), true.sum(axis=0)) / true.sum())


def test_counts_that_stand_out_are_kept_and_empty_cells_are_found() -> None:
    true = diagonal()
    values = noisy(true, 1)
    read = shrinkage.estimate_counts(values, expected(true), variance=SIGMA**2)
    large, empty = true > 0, true == 0
    assert np.array_equal(read.counts[large], values[large])
    assert (read.variances[large] == SIGMA**2).all()
    assert (read.counts >= 0).all()
    # Cut off at zero, they would hold 0.4 of a deviation each.
    assert read.counts[empty].mean() < 0.05 * SIGMA
    assert read.variances[empty].mean() < 0.2 * SIGMA**2


def test_a_table_without_dependence_is_read_as_expected() -> None:
    true = np.outer(np.linspace(5, 1, 12), np.linspace(4, 1, 12)) * 20
    read = shrinkage.estimate_counts(noisy(true, 2), true, variance=SIGMA**2)
    assert np.abs(read.counts - true).mean() < 0.5 * SIGMA


def test_errors_of_sums_are_shared_out_by_variance() -> None:
    counts, variances = np.array([[100.0, 10.0], [20.0, 50.0]]), np.array([[9.0, 1], [1, 9]])
    margins = [((0,), np.array([120.0, 70.0])), ((1,), np.array([130.0, 60.0]))]
    adjusted = tables.adjust_to_margins(counts, variances, margins, rounds=200)
    assert adjusted.sum(axis=1) == pytest.approx(margins[0][1])
    assert adjusted.sum(axis=0) == pytest.approx(margins[1][1])
    # Weighted least squares: what is added is variance times the sum of a multiplier of the row and one of
    # the column.
    change = (adjusted - counts) / variances
    assert change[0, 0] - change[0, 1] == pytest.approx(change[1, 0] - change[1, 1])


def test_large_counts_of_a_pair_are_hardly_biased() -> None:
    true = diagonal()
    oneways = {"a": true.sum(axis=1), "b": true.sum(axis=0)}
    errors = []
    for seed in range(20):
        table = Noisy(clique=("a", "b"), values=noisy(true, seed), variance=SIGMA**2)
        fits = [
            read(table, oneways, {}, total=float(true.sum()))
            for read in (denoising.read_cells, denoising.denoise_table)
        ]
        errors.append([(fit - true)[true > 0].mean() / SIGMA for fit in fits])
    cells, singular = np.mean(errors, axis=0)
    assert abs(cells) < 0.8
    # Singular values do not tell that most cells are empty.
    assert singular < 3 * cells < 0


def test_odd_tables_go_through() -> None:
    for shape in ((1, 1), (1, 5), (3, 2)):
        table = Noisy(clique=("a", "b"), values=np.full(shape, -50.0), variance=1.0)
        oneways = {
            "a": np.full(shape[0], 6.0),
            "b": np.full(shape[1], 6.0 * shape[0] / shape[1]),
        }
        fit = denoising.read_cells(table, oneways, {}, total=6.0 * shape[0])
        assert (fit >= 0).all()
        assert fit.sum() == pytest.approx(6.0 * shape[0])
