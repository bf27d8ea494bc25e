"""A noisy table read against what it is expected to be: each cell is the expectation times a ratio learned from the noise.

The ratios of the cells of a table are taken as draws from one distribution on a grid, which is fitted to the noisy
cells by nonparametric maximum likelihood at the known noise (Kiefer and Wolfowitz 1956; Koenker and Mizera 2014); each
cell then gets its posterior mean. No cell comes out negative, and where the noise hides everything the expectation
stays. It is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Law = Literal["gaussian", "laplace"]


def _grid(half: float, points: int) -> Floats:
    steps = np.linspace(-1, 1, points)
    ratios: Floats = np.exp(half * np.sign(steps) * steps**2)
    return ratios


GRID = _grid(3.0, 41)
"""Ratios from 1/20 to 20, closest together around 1."""
WIDE = _grid(5.0, 53)
"""From 1/150 to 150, for attributes that nearly determine each other."""
_ROUNDS = 15
_STEADY = 0.01
"""Cells in favour of each ratio before any is looked at."""
_NARROW = 0.5
_BLOCK = 1 << 16
_LEAST = 1e-6
_FITTED = 5


def shrunk(values: Floats, expected: Floats, *, variance: float, law: Law = "gaussian", grid: Floats = GRID) -> Floats:
    """The ratio of each cell to its expectation; same shape as `values`. variance: of the noise of one cell; grid: the
    ratios that there may be."""
    cells, means = values.ravel(), np.maximum(expected.ravel(), _LEAST)
    start: Floats = np.exp(-0.5 * (np.log(grid) / _NARROW) ** 2)
    prior = start / start.sum()
    blocks = [np.s_[at : at + _BLOCK] for at in range(0, cells.size, _BLOCK)]
    likelihoods = [_likelihood(cells[one], means[one], grid, variance=variance, law=law) for one in blocks]
    for _ in range(_ROUNDS):
        found = sum((_posterior(one, prior).sum(axis=0) for one in likelihoods), np.full(grid.size, _STEADY))
        prior = found / found.sum()
    ratios: Floats = np.concatenate([_posterior(one, prior) @ grid for one in likelihoods])
    return ratios.reshape(values.shape)


def _likelihood(cells: Floats, means: Floats, grid: Floats, *, variance: float, law: Law) -> Floats:
    apart = cells[:, None] - means[:, None] * grid
    logs = -np.abs(apart) / np.sqrt(variance / 2) if law == "laplace" else -0.5 / variance * apart**2
    likelihood: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return likelihood


def _posterior(likelihood: Floats, prior: Floats) -> Floats:
    joint = likelihood * prior
    found: Floats = joint / joint.sum(axis=1, keepdims=True)
    return found


def fitted(table: Floats, margins: Sequence[tuple[tuple[int, ...], Floats]], *, rounds: int = _FITTED) -> Floats:
    """The table scaled until its sums are those given, as `tables.fit_margins` does it, but a few rounds only."""
    found: Floats = np.maximum(table, 1e-9)
    for _ in range(rounds):
        for axes, margin in margins:
            others = tuple(axis for axis in range(table.ndim) if axis not in axes)
            sums = found.sum(axis=others, keepdims=True)
            found = found * (margin.reshape(sums.shape) / np.maximum(sums, 1e-9))
    return found
