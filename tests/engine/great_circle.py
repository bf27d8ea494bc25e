"""Great-circle distances by the haversine formula, against which the compiled ones are tested."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.inference.geography import EARTH_RADIUS_MILES

Floats = npt.NDArray[np.float64]


def miles(first: Floats, second: Floats) -> Floats:
    """Distances between the points of two lists, (latitude, longitude) in degrees each; one axis for each
    list."""
    a, b = np.radians(first)[:, None, :], np.radians(second)[None, :, :]
    half = np.sin((b[..., 0] - a[..., 0]) / 2) ** 2
    half += np.cos(a[..., 0]) * np.cos(b[..., 0]) * np.sin((b[..., 1] - a[..., 1]) / 2) ** 2
    distances: Floats = 2 * EARTH_RADIUS_MILES * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))
    return distances
