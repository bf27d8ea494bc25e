"""A noisy column in order, read as a smooth curve of logarithms times a ratio of each code.

The logarithms of the counts are a curve whose second differences are normal with mean zero (an intrinsic random walk of
order two, Rue and Held 2005). It is fitted to the noisy counts by its posterior mode; how smooth it is follows from the
evidence, by Laplace's approximation. A curve of logarithms is positive and may fall by orders of magnitude, which wavelets of
the counts themselves cannot follow below the noise. Each code's count is then the curve times a ratio that is learned from all
codes (`shrinkage`), so that a code that stands out of the curve stays, and the curve is fitted again beside these ratios. It is
post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve_banded, cholesky_banded

from synth_engine.inference import shrinkage

Floats = npt.NDArray[np.float64]

_PRECISIONS: tuple[float, ...] = tuple(10.0 ** np.arange(0, 6.5, 0.5))
"""Precisions of second differences of logarithms that are considered, from rough to straight."""
_NEIGHBOURS = 1
"""Number of precisions on either side of a known one that are considered with it."""
_ROUNDS = 3
"""Number of times that the curve and the ratios are fitted to each other."""
_NEWTON_STEPS, _CONVERGED = 25, 1e-3
"""Largest number of Newton steps, and the change of every logarithm below which no more are taken."""
_LONGEST_STEP = 1.5
"""Largest change of a logarithm in one step."""
_RIDGE = 1e-6
"""Precision added to every logarithm, so that the system is definite where there are no records."""
_MOST_EXCEPTIONS = 0.2
"""Largest sum of differences between counts and curve, as a part of the records. A column whose records are mostly in a few
codes is no curve with a few exceptions, whatever the evidence says of the rest."""
_LEAST = 1e-3
"""Records of a code below which the curve does not go."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SmoothReading:
    """counts: of each code, shape (codes,); precision: the likeliest one of second differences."""

    counts: Floats
    precision: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Curve:
    """logarithms: of each code's count; evidence: the logarithm of the likelihood of the noisy counts, less a constant."""

    logarithms: Floats
    evidence: float


def read(
    values: Floats, *, sigma: float, total: float, precision: float | None = None
) -> SmoothReading | None:
    """Read noisy counts of codes in order; None if they are no smooth curve with a few exceptions.

    values: shape (codes,), at least three; sigma: standard deviation of their Gaussian noise; total: of the true counts, about;
    precision: the one that another reading of this column found, near to which the curve is looked for."""
    considered = _near(precision)
    ratios = np.ones(values.size)
    start = np.full(values.size, math.log(total / values.size))
    for _ in range(_ROUNDS):
        curves = []
        # The straightest first: each rougher curve starts from the one before.
        for one in reversed(considered):
            curves.append(_fit(values, ratios, start, sigma=sigma, precision=one))
            start = curves[-1].logarithms
        curves.reverse()
        weights = _weights([curve.evidence for curve in curves])
        best = int(np.argmax(weights))
        if precision is None and best == 0:
            return None
        curve = weights @ np.exp([one.logarithms for one in curves])
        expected = np.maximum(curve, _LEAST)
        ratios = shrinkage.estimate_ratios(
            values, expected, variance=sigma**2, grid=shrinkage.WIDE_GRID
        ).ratios
        start = curves[-1].logarithms
    counts = expected * ratios
    exceptions = float(np.abs(counts - expected).sum())
    if precision is None and exceptions > _MOST_EXCEPTIONS * total:
        return None
    return SmoothReading(counts=counts, precision=considered[best])


def _near(precision: float | None) -> tuple[float, ...]:
    if precision is None:
        return _PRECISIONS
    at = _PRECISIONS.index(precision)
    return _PRECISIONS[max(at - _NEIGHBOURS, 0) : at + _NEIGHBOURS + 1]


def _weights(evidences: list[float]) -> Floats:
    logs = np.array(evidences)
    weights: Floats = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights


def _fit(
    values: Floats, ratios: Floats, start: Floats, *, sigma: float, precision: float
) -> _Curve:
    """Find the posterior mode by Newton's method, with halved steps while one would lead away from it."""
    bands = precision * _second_differences_squared(values.size)
    bands[0] += _RIDGE

    def loss(logarithms: Floats) -> float:
        off = (values - ratios * np.exp(logarithms)) / sigma
        bends = np.diff(logarithms, 2)
        return 0.5 * float(off @ off) + 0.5 * precision * float(bends @ bends)

    logarithms, lowest = start, loss(start)
    for _ in range(_NEWTON_STEPS):
        factor, step = _newton_step(values, ratios, logarithms, bands, sigma, precision)
        longest = float(np.abs(step).max())
        step *= min(1.0, _LONGEST_STEP / max(longest, _CONVERGED))
        while (reached := loss(logarithms + step)) > lowest and longest > _CONVERGED:
            step, longest = step / 2, longest / 2
        if longest <= _CONVERGED:
            break
        logarithms, lowest = logarithms + step, reached
    determinant = 2 * float(np.log(factor[0]).sum())
    bent = 0.5 * (values.size - 2) * math.log(precision)
    return _Curve(logarithms=logarithms, evidence=bent - lowest - 0.5 * determinant)


def _newton_step(
    values: Floats,
    ratios: Floats,
    logarithms: Floats,
    bands: Floats,
    sigma: float,
    precision: float,
) -> tuple[Floats, Floats]:
    """Return the banded Cholesky factor of the curvature, and the step; of the curvature of the noisy counts its expectation is
    taken, which is never negative (Fisher scoring)."""
    means = ratios * np.exp(logarithms)
    curvature = bands.copy()
    curvature[0] += (means / sigma) ** 2
    bends = precision * np.diff(logarithms, 2)
    slope = (values - means) * means / sigma**2
    slope[:-2] -= bends
    slope[1:-1] += 2 * bends
    slope[2:] -= bends
    factor = cholesky_banded(curvature, lower=True)
    return factor, cho_solve_banded((factor, True), slope)


def _second_differences_squared(size: int) -> Floats:
    """Return the three lower bands of the matrix whose quadratic form is the sum of squared second differences; shape (3, size)."""
    bands = np.zeros((3, size))
    weights = (1.0, -2.0, 1.0)
    for first, left in enumerate(weights):
        for second in range(first, len(weights)):
            bands[second - first, first : size - 2 + first] += left * weights[second]
    return bands
