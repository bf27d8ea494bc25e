"""A noisy table read against what it is expected to be: each cell is the expectation times a ratio learned
from the noise.

The ratios of the cells of a table are taken as draws from one distribution on a grid, which is fitted to the
noisy cells by nonparametric maximum likelihood at the known noise (Kiefer and Wolfowitz 1956; Koenker and
Mizera 2014); each cell then gets its posterior mean. No cell comes out negative, and where the noise hides
everything the expectation stays. It is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from synth_engine.inference.tables import Margin

Floats = npt.NDArray[np.float64]
Law = Literal["gaussian", "laplace"]


def _grid(half: float, points: int) -> Floats:
    steps = np.linspace(-1, 1, points)
    ratios: Floats = np.exp(half * np.sign(steps) * steps**2)
    return ratios


GRID = _grid(3.0, 41)
"""Ratios from 1/20 to 20, closest together around 1."""
WIDE_GRID = _grid(5.0, 53)
"""From 1/150 to 150, for attributes that nearly determine each other."""
FINE_GRID = _grid(5.0, 401)
"""The same, for single columns, of whose counts the noise may be small."""
_GRID_WITH_ZERO = np.concatenate([[0.0], _grid(5.0, 161)])
"""For counts of pairs, of which most may be zero where one column nearly determines the other."""
_CLEAR = 8.0
"""Standard deviations of the noise above which a cell is taken as it is: what it is expected to hold says
nothing beside it."""
_MOST_LEARNED_FROM = 1 << 16
"""Cells from which a distribution of ratios is learned; of more cells every so many-th."""
LEAST_VARIANCE = 1e-4
"""The least variance of a count, as a part of that of the noise."""
_ROUNDS = 15
"""EM iterations."""
_ROUNDS_OF_COUNTS = 40
"""The same where most cells may be zero."""
_STEADY = 0.01
"""Pseudo-count, in cells, of each ratio of the grid: a Dirichlet prior on the distribution of ratios."""
_TRUSTED = 50.0
"""Pseudo-count, in cells, of the distribution of ratios learned from other tables."""
_EXPECTED = 20.0
"""Pseudo-count, in cells, of the distribution of ratios that follows from the distance of a table."""
_DISTANCE_TO_SCALE, _LEAST_SCALE = 1.5, 0.01
"""The mean absolute logarithm of a ratio, in multiples of the distance of its table, and the least there
is."""
_NARROW = 0.5
"""Standard deviation of the logarithm of a ratio in the initial prior."""
_MAX_NOISE = 0.5
"""Largest standard deviation of the noise of a cell, as a part of the most that a cell can hold beyond its
expectation. A release reads about a thousand noisy cells; with more noise, the largest of them would look
like a strong dependence."""
_BLOCK = 1 << 16
"""Cells whose likelihoods are computed at once, which bounds memory."""
MIN_EXPECTED = 1e-6
"""No cell is expected to hold less."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RatioEstimate:
    """ratios: of each cell to its expectation; variances: how uncertain they are given the noisy cells, both
    in the shape of the table; prior: what ratios are like, on the grid."""

    ratios: Floats
    variances: Floats
    prior: Floats

    def counts(self, expected: Floats) -> CountEstimate:
        """Return the counts where these ratios are those to what is expected, in records."""
        means = np.maximum(expected, MIN_EXPECTED)
        return CountEstimate(counts=self.ratios * means, variances=self.variances * means**2)


@dataclass(frozen=True, kw_only=True, eq=False)
class CountEstimate:
    """counts: of each cell, in records; variances: how uncertain they are given the noisy cells. Both in the
    shape of the table."""

    counts: Floats
    variances: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownRatios:
    """A distribution on the grid of ratios, and as how many cells of a table it counts beside the table's
    own."""

    shares: Floats
    cells: float


def initial_prior(grid: Floats) -> Floats:
    """What ratios are taken to be like before any is seen; adds up to 1."""
    near: Floats = np.exp(-0.5 * (np.log(grid) / _NARROW) ** 2)
    near /= near.sum()
    return near


def ratios_of_distance(grid: Floats, distance: float) -> KnownRatios:
    """What the ratios of a table are like whose L1 distance from its expectation, as a share of the records,
    is about that. Most cells are near to their expectation and a few are far from it, so that the logarithms
    have a Laplace distribution."""
    scale = min(max(_DISTANCE_TO_SCALE * distance, _LEAST_SCALE), _NARROW)
    near: Floats = np.exp(-np.abs(np.log(grid)) / scale) + _STEADY / 100
    near /= near.sum()
    return KnownRatios(shares=near, cells=_EXPECTED)


def ratios_of_others(priors: Sequence[Floats]) -> KnownRatios:
    """What the ratios of a table are like if they are like those of other tables, each given by its
    `prior`."""
    return KnownRatios(shares=np.mean(priors, axis=0), cells=_TRUSTED)


def estimate_ratios(
    values: Floats,
    expected: Floats,
    *,
    variance: float,
    law: Law = "gaussian",
    grid: Floats = GRID,
    known: KnownRatios | None = None,
) -> RatioEstimate:
    """Read a table. variance: of the noise of one cell; grid: the ratios that there may be; known: what they
    are like on the same grid by other sources."""
    cells, means = values.ravel(), np.maximum(expected.ravel(), MIN_EXPECTED)
    prior = initial_prior(grid) if known is None else known.shares
    steady = np.full(grid.size, _STEADY)
    if known is not None:
        steady = known.cells * known.shares + _STEADY / 10
    blocks = [np.s_[at : at + _BLOCK] for at in range(0, cells.size, _BLOCK)]
    likelihoods = [
        _likelihood(cells[block], means[block], grid, variance=variance, law=law)[0]
        for block in blocks
    ]
    for _ in range(_ROUNDS):
        # E-step in one product: the sum over cells of their posteriors.
        weights = sum((_joined(block, prior) for block in likelihoods), steady)
        # M-step: the prior becomes the mean posterior, plus pseudo-cells that keep every
        # ratio possible.
        prior = weights / weights.sum()
    moments = [_moments(_posterior(block, prior), grid) for block in likelihoods]
    ratios, variances = (np.concatenate(parts) for parts in zip(*moments, strict=True))
    return RatioEstimate(
        ratios=ratios.reshape(values.shape),
        variances=variances.reshape(values.shape),
        prior=prior,
    )


def estimate_counts(values: Floats, expected: Floats, *, variance: float) -> CountEstimate:
    """Read a table of counts, of which large ones are kept as they are, so that they are not biased.

    values: noisy counts; expected: in records, the same shape; variance: of the Gaussian noise of one
    cell."""
    cells, means = values.ravel(), np.maximum(expected.ravel(), MIN_EXPECTED)
    counts, variances = cells.copy(), np.full(cells.size, variance)
    small = np.flatnonzero(cells <= _CLEAR * math.sqrt(variance))
    prior = _learned_prior(cells[small], means[small], variance=variance)
    for at in range(0, small.size, _BLOCK):
        block = small[at : at + _BLOCK]
        likelihood, _ = _likelihood(
            cells[block], means[block], _GRID_WITH_ZERO, variance=variance, law="gaussian"
        )
        ratios, of_ratios = _moments(_posterior(likelihood, prior), _GRID_WITH_ZERO)
        counts[block] = means[block] * ratios
        variances[block] = means[block] ** 2 * of_ratios
    return CountEstimate(
        counts=counts.reshape(values.shape),
        variances=np.maximum(variances, LEAST_VARIANCE * variance).reshape(values.shape),
    )


def _moments(posterior: Floats, grid: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each cell's ratio; posterior: shape (cells, ratios)."""
    means: Floats = posterior @ grid
    return means, np.maximum(posterior @ grid**2 - means**2, 0.0)


def _learned_prior(cells: Floats, means: Floats, *, variance: float) -> Floats:
    """What the ratios of these cells are like, on the grid that holds zero; adds up to 1."""
    step = -(-cells.size // _MOST_LEARNED_FROM) or 1
    likelihood, _ = _likelihood(
        cells[::step], means[::step], _GRID_WITH_ZERO, variance=variance, law="gaussian"
    )
    prior = np.full(_GRID_WITH_ZERO.size, 0.5 / (_GRID_WITH_ZERO.size - 1))
    # From a uniform start, mass near zero would gather at zero only after many rounds.
    prior[0] = 0.5
    for _ in range(_ROUNDS_OF_COUNTS):
        weights = _joined(likelihood, prior) + _STEADY
        prior = weights / weights.sum()
    return prior


def stands_out(expected: Floats, margins: Sequence[Margin], *, variance: float) -> bool:
    """Return whether a deviation from what is expected that is possible beside these sums would stand out
    from the noise.

    expected: in records, any shape; margins: sums of the table, each with the positions of its axes in
    increasing order; variance: of the noise of one cell."""
    most = np.full(expected.shape, np.inf)
    for positions, sums in margins:
        sides = [size if place in positions else 1 for place, size in enumerate(expected.shape)]
        # No cell holds more than the sums that it is part of.
        most = np.minimum(most, sums.reshape(sides))
    return math.sqrt(variance) <= _MAX_NOISE * float((most - expected).max())


def evidence(
    values: Floats,
    expected: Floats,
    *,
    variance: float,
    law: Law = "gaussian",
    grid: Floats = GRID,
    prior: Floats,
) -> float:
    """How likely noisy cells are, as a logarithm, if their ratios to what is expected are like that: of two
    expectations of one table the larger foresaw it better."""
    cells, means = values.ravel(), np.maximum(expected.ravel(), MIN_EXPECTED)
    total = 0.0
    for at in range(0, cells.size, _BLOCK):
        block = np.s_[at : at + _BLOCK]
        likelihood, largest = _likelihood(
            cells[block], means[block], grid, variance=variance, law=law
        )
        total += float((np.log(likelihood @ prior) + largest[:, 0]).sum())
    return total


def likeliest_ratios(
    values: Floats,
    expected: Floats,
    *,
    variance: float,
    law: Law = "gaussian",
    grid: Floats,
    others: Sequence[Floats],
) -> Floats:
    """What ratios are like, on the grid, by what makes the noisy cells likeliest: what `estimate_ratios`
    learns from them, or one of `others`. Every likelihood is computed once."""
    cells, means = values.ravel(), np.maximum(expected.ravel(), MIN_EXPECTED)
    likelihoods = [
        _likelihood(
            cells[at : at + _BLOCK], means[at : at + _BLOCK], grid, variance=variance, law=law
        )[0]
        for at in range(0, cells.size, _BLOCK)
    ]
    learned, steady = initial_prior(grid), np.full(grid.size, _STEADY)
    for _ in range(_ROUNDS):
        weights = sum((_joined(block, learned) for block in likelihoods), steady)
        learned = weights / weights.sum()
    candidates = [learned, *others]
    shares = np.stack(candidates, axis=1)
    evidences = sum(np.log(block @ shares).sum(axis=0) for block in likelihoods)
    return candidates[int(np.argmax(evidences))]


def _likelihood(
    cells: Floats, means: Floats, grid: Floats, *, variance: float, law: Law
) -> tuple[Floats, Floats]:
    """Of every ratio, as a part of the largest one of the cell; and the logarithms of the largest."""
    difference = cells[:, None] - means[:, None] * grid
    logs = (
        -np.abs(difference) / np.sqrt(variance / 2)
        if law == "laplace"
        else -0.5 / variance * difference**2
    )
    largest = logs.max(axis=1, keepdims=True)
    return np.exp(logs - largest), largest


def _posterior(likelihood: Floats, prior: Floats) -> Floats:
    joint = likelihood * prior
    # E-step: the posterior of the ratio of each cell.
    posterior: Floats = joint / joint.sum(axis=1, keepdims=True)
    return posterior


def _joined(likelihood: Floats, prior: Floats) -> Floats:
    """Return the sum over cells of the posteriors of `_posterior`, without writing these down."""
    posteriors: Floats = prior * ((1 / (likelihood @ prior)) @ likelihood)
    return posteriors
