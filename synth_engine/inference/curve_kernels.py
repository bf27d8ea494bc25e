"""Newton's method for a smooth curve of logarithms (`smooth_density`), compiled.

What is minimised is half the sum of squared differences between noisy counts and `ratios · exp(logarithms)`,
in standard deviations of the noise, and of squared second differences of the logarithms, times their
precision. Its curvature has two bands beside the diagonal, so that a step costs as much as there are codes.
Every sum has the order of the source.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled

Floats = npt.NDArray[np.float64]

NEWTON_STEPS, CONVERGED = 25, 1e-3
"""Largest number of Newton steps, and the change of every logarithm below which no more are taken."""
LONGEST_STEP = 1.5
"""Largest change of a logarithm in one step."""
RIDGE = 1e-6
"""Precision added to every logarithm, so that the system is definite where there are no records."""


@compiled
def climb(
    values: Floats, ratios: Floats, logarithms: Floats, sigma: float, precision: float
) -> float:
    """Change logarithms to those of the posterior mode; steps are halved while one would lead away from it.
    Returns the logarithm of the evidence by Laplace's approximation, less a constant.

    values: noisy counts of codes in order, at least three; ratios: of each code to the curve; sigma: standard
    deviation of the noise; precision: of second differences."""
    size = values.size
    step, moved = np.empty(size), np.empty(size)
    factor = np.empty((3, size))
    lowest = _loss(values, ratios, logarithms, sigma, precision)
    for _ in range(NEWTON_STEPS):
        _curvature(ratios, logarithms, sigma, precision, factor)
        _slope(values, ratios, logarithms, sigma, precision, step)
        _factorize(factor)
        _solve(factor, step)
        longest = np.max(np.abs(step))
        step *= min(1.0, LONGEST_STEP / max(longest, CONVERGED))
        moved[:] = logarithms + step
        reached = _loss(values, ratios, moved, sigma, precision)
        while reached > lowest and longest > CONVERGED:
            step /= 2
            longest /= 2
            moved[:] = logarithms + step
            reached = _loss(values, ratios, moved, sigma, precision)
        if longest <= CONVERGED:
            break
        logarithms[:] = moved
        lowest = reached
    half_determinant = 0.0
    for at in range(size):
        half_determinant += math.log(factor[0, at])
    bent = 0.5 * (size - 2) * math.log(precision)
    return bent - lowest - half_determinant


@compiled
def _bend(logarithms: Floats, at: int) -> float:
    """The second difference that begins at a code."""
    bend: float = logarithms[at + 2] - 2 * logarithms[at + 1] + logarithms[at]
    return bend


@compiled
def _loss(
    values: Floats, ratios: Floats, logarithms: Floats, sigma: float, precision: float
) -> float:
    off, bent = 0.0, 0.0
    for at in range(values.size):
        off += ((values[at] - ratios[at] * math.exp(logarithms[at])) / sigma) ** 2
    for at in range(values.size - 2):
        bent += _bend(logarithms, at) ** 2
    return 0.5 * off + 0.5 * precision * bent


@compiled
def _slope(
    values: Floats,
    ratios: Floats,
    logarithms: Floats,
    sigma: float,
    precision: float,
    slope: Floats,
) -> None:
    """Writes how fast the loss falls with each logarithm."""
    for at in range(values.size):
        mean = ratios[at] * math.exp(logarithms[at])
        slope[at] = (values[at] - mean) * mean / sigma**2
    for at in range(values.size - 2):
        bend = precision * _bend(logarithms, at)
        slope[at] -= bend
        slope[at + 1] += 2 * bend
        slope[at + 2] -= bend


@compiled
def _curvature(
    ratios: Floats, logarithms: Floats, sigma: float, precision: float, bands: Floats
) -> None:
    """Writes the curvature of the loss, the diagonal and the two bands below it; that of the noisy counts is
    its expectation, which is never negative (Fisher scoring)."""
    bands[:] = 0
    for at in range(ratios.size):
        bands[0, at] = RIDGE + (ratios[at] * math.exp(logarithms[at]) / sigma) ** 2
    for at in range(ratios.size - 2):
        bands[0, at] += precision
        bands[0, at + 1] += 4 * precision
        bands[0, at + 2] += precision
        bands[1, at] -= 2 * precision
        bands[1, at + 1] -= 2 * precision
        bands[2, at] += precision


@compiled
def _factorize(bands: Floats) -> None:
    """The Cholesky factor of a matrix with two bands beside its diagonal, in place."""
    size = bands.shape[1]
    for at in range(size):
        root = math.sqrt(bands[0, at])
        bands[0, at] = root
        if at + 1 < size:
            bands[1, at] /= root
            bands[0, at + 1] -= bands[1, at] ** 2
        if at + 2 < size:
            bands[2, at] /= root
            bands[1, at + 1] -= bands[2, at] * bands[1, at]
            bands[0, at + 2] -= bands[2, at] ** 2


@compiled
def _solve(factor: Floats, right: Floats) -> None:
    """Solves by the factor, in place."""
    size = right.size
    for at in range(size):
        right[at] /= factor[0, at]
        if at + 1 < size:
            right[at + 1] -= factor[1, at] * right[at]
        if at + 2 < size:
            right[at + 2] -= factor[2, at] * right[at]
    for at in range(size - 1, -1, -1):
        if at + 1 < size:
            right[at] -= factor[1, at] * right[at + 1]
        if at + 2 < size:
            right[at] -= factor[2, at] * right[at + 2]
        right[at] /= factor[0, at]
