"""A noisy column in order, read as a smooth curve of logarithms times a ratio of each code.

The logarithms of the counts are a curve whose second differences are normal with mean zero (an intrinsic
random walk of order two, Rue and Held 2005). It is fitted to the noisy counts by its posterior mode; how
smooth it is follows from the evidence, by Laplace's approximation. A curve of logarithms is positive and may
fall by orders of magnitude, which wavelets of the counts themselves cannot follow below the noise. Each
code's count is then the curve times a ratio that is learned from all codes (`shrinkage`), so that a code that
stands out of the curve stays, and the curve is fitted again beside these ratios. It is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.inference import curve_kernels, shrinkage

Floats = npt.NDArray[np.float64]

_PRECISIONS: tuple[float, ...] = tuple(10.0 ** np.arange(0, 6.5, 0.5))
"""Precisions of second differences of logarithms that are considered, from rough to straight."""
_NEIGHBOURS = 1
"""Number of precisions on either side of a known one that are considered with it."""
_ROUNDS = 3
"""Number of times that the curve and the ratios are fitted to each other."""
_MOST_EXCEPTIONS = 0.2
"""Largest sum of differences between counts and curve, as a part of the records. A column whose records are
mostly in a few codes is no curve with a few exceptions, whatever the evidence says of the rest."""
_LEAST = 1e-3
"""Records of a code below which the curve does not go."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SmoothReading:
    """counts: of each code, shape (codes,); precision: the likeliest one of second differences."""

    counts: Floats
    precision: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Curve:
    """logarithms: of each code's count; evidence: the logarithm of the likelihood of the noisy counts, less a
    constant."""

    logarithms: Floats
    evidence: float


def read(
    values: Floats, *, sigma: float, total: float, precision: float | None = None
) -> SmoothReading | None:
    """Read noisy counts of codes in order; None if they are no smooth curve with a few exceptions.

    values: shape (codes,), at least three; sigma: standard deviation of their Gaussian noise; total: of the
    true counts, about; precision: the one that another reading of this column found, near to which the curve
    is looked for."""
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
    """Find the posterior mode, beginning at a curve of logarithms."""
    logarithms = start.copy()
    evidence = curve_kernels.climb(values, ratios, logarithms, sigma, precision)
    return _Curve(logarithms=logarithms, evidence=evidence)
