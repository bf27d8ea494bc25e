"""From a noisy one-way table to a plausible one: not negative, with the right total, and with less noise."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from synth_engine.measurement import Counts, Noise

Floats = npt.NDArray[np.float64]


def denoise(values: Counts, *, noise: Noise, total: int) -> Floats:
    """Counts that are not negative and add up to `total`. Shape as `values`."""
    if total <= 0:
        return np.zeros(values.shape)
    return project_to_simplex(values.astype(np.float64), total=float(total))


def project_to_simplex(values: Floats, *, total: float) -> Floats:
    """The nearest point (least squares) among those that are not negative and add up to `total`.

    Subtracts one threshold from all cells and cuts at zero (Duchi et al. 2008).
    """
    flat = np.sort(values, axis=None)[::-1]
    excess = np.cumsum(flat) - total
    active = np.flatnonzero(flat - excess / np.arange(1, flat.size + 1) > 0)
    last = int(active[-1]) if active.size else 0
    return np.maximum(values - excess[last] / (last + 1), 0.0)


def expected_distance(*, cells: int, noise: Noise, rows: int) -> float:
    """An upper estimate of the expected total variation distance of one table of that many cells."""
    sigma = math.sqrt(noise.variance)
    mean_deviation = sigma * math.sqrt(2 / math.pi) if noise.law == "discrete-gaussian" else float(noise.scale)
    return min(1.0, 0.5 * cells * mean_deviation / max(rows, 1))
