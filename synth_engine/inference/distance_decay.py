"""Who comes from where, by public geography alone: the farther, the fewer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.errors import SpecError

Floats = npt.NDArray[np.float64]
EARTH_RADIUS_MILES = 3958.7613


def miles(first: Floats, second: Floats) -> Floats:
    """Great-circle distances between points of two lists, (latitude, longitude) in degrees each: one axis for each list."""
    a, b = np.radians(first)[:, None, :], np.radians(second)[None, :, :]
    half = np.sin((b[..., 0] - a[..., 0]) / 2) ** 2
    half += np.cos(a[..., 0]) * np.cos(b[..., 0]) * np.sin((b[..., 1] - a[..., 1]) / 2) ** 2
    distances: Floats = 2 * EARTH_RADIUS_MILES * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))
    return distances


def likely(
    distances: Floats, weights: Floats, *, scale: float, farthest: float | None = None
) -> Floats:
    """Shares of origins for each group, by weight and exp(-distance / scale); zero beyond `farthest`. Errors: SpecError
    where a group has no origin that near."""
    near = distances - distances.min(
        axis=1, keepdims=True
    )  # the same shares, and no group whose origins are all far is lost
    attraction = weights * np.exp(-near / scale)
    if farthest is not None:
        attraction = np.where(distances <= farthest, attraction, 0.0)
        if not (attraction.sum(axis=1) > 0).all():
            raise SpecError(
                "a group has no origin within the farthest distance",
                repair="allow a larger one",
            )
    shares: Floats = attraction / attraction.sum(axis=1, keepdims=True)
    return shares
