"""From a noisy one-way table to a plausible one: less noise, nothing negative, the right total.

All of it is post-processing: it sees noisy values, the public noise scale and a noisy total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.measurement import Counts, Measurement, Noise

Floats = npt.NDArray[np.float64]

SHORTEST_TO_SMOOTH = 8
MOST_RECORDS = 10**9
"""A noisy number of records is not taken for more: nothing larger is drawn, and what is made of it must not fail."""
_ROUNDS = 30
_SPREADS = 2.0 ** np.arange(-1, 12)


def denoise(values: Counts, *, noise: Noise, total: int, along: int) -> Floats:
    """Counts that are not negative and add up to `total`; shape (codes,), as `values`.

    The first `along` codes stand for values or bins in their public order (what follows are "other" and
    missing). Whether neighbouring codes are alike is not assumed but learned, level by level, from the noisy
    counts themselves; where they are not, the shrinkage leaves them as they are.
    """
    if total <= 0:
        return np.zeros(values.shape)
    smooth = values.astype(np.float64)
    if along >= SHORTEST_TO_SMOOTH:
        smooth[:along] = shrink(smooth[:along], sigma=math.sqrt(noise.variance))
    return project_to_simplex(smooth, total=float(total))


def project_to_simplex(values: Floats, *, total: float) -> Floats:
    """The nearest point (least squares) among those that are not negative and add up to `total`.

    Subtracts one threshold from all cells and cuts at zero (Duchi et al. 2008).
    """
    flat = np.sort(values, axis=None)[::-1]
    excess = np.cumsum(flat) - total
    active = np.flatnonzero(flat - excess / np.arange(1, flat.size + 1) > 0)
    last = int(active[-1]) if active.size else 0
    projected: Floats = np.maximum(values - excess[last] / (last + 1), 0.0)
    return projected


def shrink(values: Floats, *, sigma: float) -> Floats:
    """Translation-invariant Haar wavelets with empirical-Bayes shrinkage at a known noise level.

    The transform runs over the sequence followed by its mirror image, so that the ends do not meet (Coifman
    and Donoho 1995). Every coefficient carries noise of standard deviation sigma, at every level.
    """
    levels = int(math.log2(values.size))
    smooth = np.concatenate([values, values[::-1]])
    details = []
    for level in range(levels):
        shifted = np.roll(smooth, -(1 << level))
        details.append((smooth - shifted) / math.sqrt(2))
        smooth = (smooth + shifted) / math.sqrt(2)
    for level in reversed(range(levels)):
        detail = posterior_mean(details[level], sigma=sigma)
        left, right = (smooth + detail) / math.sqrt(2), (smooth - detail) / math.sqrt(2)
        smooth = (left + np.roll(right, 1 << level)) / 2
    return smooth[: values.size]


def posterior_mean(coefficients: Floats, *, sigma: float) -> Floats:
    """Of the means behind normal observations, under a prior fitted to them: a mixture of a point mass at zero
    and normals of increasing spread, by expectation maximisation (Stephens 2017)."""
    prior = np.concatenate([[0.0], (sigma * _SPREADS) ** 2])
    variances = prior + sigma**2
    logs = -0.5 * coefficients[:, None] ** 2 / variances - 0.5 * np.log(variances)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(prior.size, 1 / prior.size)
    for _ in range(_ROUNDS):
        share = likelihood * weights
        weights = (share / share.sum(axis=1, keepdims=True)).sum(axis=0)
        weights[0] += 1.0  # one observation in favour of "nothing here" steadies short sequences
        weights /= weights.sum()
    share = likelihood * weights
    share /= share.sum(axis=1, keepdims=True)
    estimate: Floats = coefficients * (share * (prior / variances)).sum(axis=1)
    return estimate


def total(measurements: Sequence[Measurement]) -> int:
    """The mean of noisy totals weighted by their precision, not below 0 and not above what can be drawn."""
    precision = np.array([1 / (m.values.size * m.noise.variance) for m in measurements])
    totals = np.array([float(m.values.sum()) for m in measurements])
    return plausible(round(float(precision @ totals / precision.sum())))


def plausible(records: int) -> int:
    """The nearest number that a table can have."""
    return min(max(0, records), MOST_RECORDS)
