"""The nearest of some public points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.fields import Problem

if TYPE_CHECKING:
    from scipy.spatial import KDTree

Floats = NDArray[np.float64]
Point = tuple[float, float, str]
"""Latitude and longitude in degrees, and the text that belongs to the point."""
MAX_POINTS = 100_000


@dataclass(frozen=True)
class NearestPoints:
    """Public points with texts."""

    points: tuple[Point, ...]

    def problem(self) -> Problem | None:
        """What is wrong with them, and how to repair it; None if nothing is."""
        if len(self.points) > MAX_POINTS or not all(map(_is_point, self.points)):
            return Problem(
                f"more than {MAX_POINTS:,} points, or one that is not a latitude, a longitude and a text",
                'list points like [41.49, -71.31, "Newport"], in degrees, latitude first',
                "points",
            )
        if len({point[:2] for point in self.points}) < len(self.points):
            return Problem("a point is listed twice", "list each point once", "points")
        return None

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree  # slow to import

        return KDTree(on_sphere(*np.array([point[:2] for point in self.points]).T))

    def texts(self, latitude: Floats, longitude: Floats) -> NDArray[np.object_]:
        """The text of the nearest point by great-circle distance; None where a coordinate is NaN.

        latitude, longitude: in degrees, shape (rows,)."""
        known = ~(np.isnan(latitude) | np.isnan(longitude))
        texts = np.full(latitude.size, None, dtype=object)
        if known.any():
            _, index = self._tree.query(on_sphere(latitude[known], longitude[known]))
            texts[known] = np.array([point[2] for point in self.points], dtype=object)[index]
        return texts


def _is_point(point: tuple[object, ...]) -> bool:
    """Whether it is a latitude and a longitude in degrees, and a text."""
    if len(point) != 3 or not isinstance(point[2], str):
        return False
    # Truth values are numbers to Python, and no degrees.
    return all(
        type(degrees) in (int, float) and math.isfinite(degrees) and abs(degrees) <= limit  # type: ignore[arg-type]
        for degrees, limit in zip(point, (90, 180), strict=False)
    )


def on_sphere(latitude: Floats, longitude: Floats) -> Floats:
    """Points of the unit sphere, shape (points, 3): the nearest along a chord is the nearest along a great
    circle."""
    north, east = np.radians(latitude), np.radians(longitude)
    return np.stack(
        [np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1
    )
