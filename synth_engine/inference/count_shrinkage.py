"""The counts of one noisy column, read by how large the counts of its codes are, whatever their order.

The counts are taken as draws from one distribution on a grid from zero on, which is fitted to the noisy
values by nonparametric maximum likelihood at the known noise (Kiefer and Wolfowitz 1956). Each code then gets
its posterior mean, with all posteriors tilted alike so that the means add up to the number of records. It is
post-processing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.inference import share_kernels

Floats = npt.NDArray[np.float64]

_POINTS = 60
"""Points of the grid above zero, at equal ratios."""
_FINEST = 30
"""The least count above zero on the grid is this part of the noise, or of the mean count where that is
smaller."""
_ROUNDS = 40
"""EM iterations."""
_STEADY = 0.05
"""Pseudo-count, in codes, of each point of the grid."""
_HALVINGS = 60
_STEEPEST = 60.0
"""Largest logarithm of what a tilt makes of the largest count beside zero."""


def shrink_to_total(values: Floats, *, sigma: float, total: float) -> Floats:
    """Return counts that are not negative and add up to `total`.

    values: noisy counts, shape (codes,); sigma: standard deviation of their Gaussian noise; total: above
    0."""
    if values.size == 1:
        return np.array([total])
    grid = _grid(values, sigma=sigma, total=total)
    likelihood = _likelihood(values, grid, sigma=sigma)
    joint = likelihood * _prior(likelihood)[:, None]
    counts = _tilted_means(joint, grid, total=total)
    if counts.sum() <= 0:
        # All values are far below zero, so that none is more likely to hold records.
        return np.full(values.size, total / values.size)
    scaled: Floats = counts * (total / counts.sum())
    return scaled


def _grid(values: Floats, *, sigma: float, total: float) -> Floats:
    mean = total / values.size
    largest = max(float(values.max()), mean, sigma) + sigma
    least = min(sigma, mean) / _FINEST
    return np.concatenate([[0.0], np.geomspace(least, largest, _POINTS)])


def _likelihood(values: Floats, grid: Floats, *, sigma: float) -> Floats:
    """Of every count, as a part of the largest one of the code; shape (counts, codes)."""
    logs = -0.5 * ((values - grid[:, None]) / sigma) ** 2
    likelihood: Floats = np.exp(logs - logs.max(axis=0))
    return likelihood


def _prior(likelihood: Floats) -> Floats:
    """What counts are like by the values themselves; adds up to 1."""
    points, codes = likelihood.shape
    return share_kernels.fit_shares(
        likelihood,
        np.ones(codes),
        np.full(points, 1 / points),
        np.full(points, _STEADY),
        _ROUNDS,
    )


def _tilted_means(joint: Floats, grid: Floats, *, total: float) -> Floats:
    """Posterior means after all posteriors were multiplied by the same power of e to the count, by which the
    means come nearest to the total: they grow with the exponent, so that it is found by halving."""
    heights = grid / grid[-1]
    low, high = -_STEEPEST, _STEEPEST

    def means(exponent: float) -> Floats:
        tilt = np.exp(exponent * heights - max(exponent, 0.0))
        tilted: Floats = ((tilt * grid) @ joint) / np.maximum(
            tilt @ joint, np.finfo(float).tiny
        )
        return tilted

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if means(middle).sum() < total:
            low = middle
        else:
            high = middle
    # The upper end, so that the sum is never zero.
    return means(high)
