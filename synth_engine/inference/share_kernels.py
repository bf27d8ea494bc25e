"""The inner loops of reading a column: shares of a discrete prior by expectation maximisation, and one level
of a wavelet transform.

Columns are short and read many times, so that arrays would spend most of their time on beginning. Every sum
has the order of the source.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled

Floats = npt.NDArray[np.float64]

LANES = 8
"""Sums that are added up side by side, which the widest instructions of a processor do together."""


@compiled
def fit_shares(
    likelihood: Floats, times: Floats, start: Floats, steady: Floats, rounds: int
) -> Floats:
    """Return which shares of the points of a prior make the observations likeliest; they add up to 1.

    likelihood: of each observation at each point, up to a factor of each observation, shape (points,
    observations); times: as how many observations each of them counts; start: the first shares; steady:
    pseudo-observations of each point."""
    points, observations = likelihood.shape
    shares = start.copy()
    chances, lanes = np.empty(observations), np.empty(LANES)
    for _ in range(rounds):
        chances[:] = 0
        for point in range(points):
            share = shares[point]
            for at in range(observations):
                chances[at] += share * likelihood[point, at]
        for at in range(observations):
            chances[at] = times[at] / chances[at]
        total = 0.0
        for point in range(points):
            # E-step and M-step in one: the sum over observations of their parts of this point.
            fallen = _product(chances, likelihood[point], lanes)
            shares[point] = shares[point] * fallen + steady[point]
            total += shares[point]
        for point in range(points):
            shares[point] /= total
    return shares


@compiled
def _product(left: Floats, right: Floats, lanes: Floats) -> float:
    """Return the sum of products. lanes: room for `LANES` sums."""
    whole = left.size // LANES * LANES
    lanes[:] = 0
    for first in range(0, whole, LANES):
        for lane in range(LANES):
            lanes[lane] += left[first + lane] * right[first + lane]
    summed = 0.0
    for at in range(whole, left.size):
        summed += left[at] * right[at]
    for lane in range(LANES):
        summed += lanes[lane]
    return summed


@compiled
def divide(
    values: Floats, low: Floats, high: Floats, step: int, smooth: Floats, detail: Floats
) -> None:
    """One level of a transform without decimation: writes what a filter and its mirror make of values on a
    ring, of which every `step`-th is a neighbour."""
    for first in range(values.size):
        below, above, at = 0.0, 0.0, first
        for shift in range(low.size):
            below += low[shift] * values[at]
            above += high[shift] * values[at]
            at += step
            if at >= values.size:
                at -= values.size
        smooth[first], detail[first] = below, above


@compiled
def join(
    smooth: Floats, detail: Floats, low: Floats, high: Floats, step: int, values: Floats
) -> None:
    """Undoes `divide`: writes the values of which these would be the two parts."""
    for first in range(values.size):
        total, at = 0.0, first
        for shift in range(low.size):
            total += low[shift] * smooth[at] + high[shift] * detail[at]
            at -= step
            if at < 0:
                at += values.size
        values[first] = total / 2
