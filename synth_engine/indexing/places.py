"""Distances between two places of a record, from codes: each place stands at the centre of its public
cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain, Integer, Number, Place

EARTH_RADIUS_KM = (
    6371.0088  # the mean radius of the International Union of Geodesy and Geophysics
)
KILOMETRES_A_MILE = 1.609344
MAX_BINS = 400
_BLOCK = 2**16

Floats = NDArray[np.float64]
Pair = tuple[str, str]


def pairs(domain: Domain) -> list[Pair]:
    """The names of every two places of a record."""
    return list(combinations((place.name for place in domain.places), 2))


def great_circle(
    latitude: Floats, longitude: Floats, other_latitude: Floats, other_longitude: Floats
) -> Floats:
    """Kilometres between points in degrees, by the haversine formula on a sphere."""
    a, b, c, d = (
        np.radians(each) for each in (latitude, longitude, other_latitude, other_longitude)
    )
    half = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    # For antipodes rounding may exceed 1, of which there is no arcsine.
    kilometres: Floats = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))
    return kilometres


def edges(domain: Domain, pair: Pair) -> Floats:
    """Public edges of bins of distance, from 0 to the largest possible one."""
    return round_edges(_farthest(domain, pair))


def round_edges(farthest: float) -> Floats:
    """Return edges from 0 to at least so many kilometres, with a round step and at most `MAX_BINS` bins."""
    farthest = max(farthest, 1.0)
    unit = 10.0 ** math.floor(math.log10(farthest / MAX_BINS))
    step = next(times * unit for times in (1, 2, 5, 10) if times * unit * MAX_BINS >= farthest)
    edges: Floats = np.round(step * np.arange(math.ceil(farthest / step) + 1), 12)
    return edges


def across(south: float, west: float, north: float, east: float) -> float:
    """Kilometres that no two points of a box are farther apart: the length of a straight line on a map of it,
    with a degree of longitude as long as the longest in it, or half a turn around the globe."""
    nearest_equator = 0.0 if south <= 0 <= north else min(abs(south), abs(north))
    width = math.radians(east - west) * math.cos(math.radians(nearest_equator))
    return EARTH_RADIUS_KM * min(math.pi, math.hypot(math.radians(north - south), width))


def histogram(
    codes: Callable[[str], NDArray[Any]], *, domain: Domain, pair: Pair
) -> NDArray[np.int64]:
    """Count the records in each bin of distance, and last, those without a place. `codes` gives a column."""
    points = [
        (centres(domain, column), codes(column))
        for name in pair
        for column in _place(domain, name).columns
    ]
    cuts = edges(domain, pair)
    counts = np.zeros(len(cuts), dtype=np.int64)
    for start in range(0, len(points[0][1]), _BLOCK):
        kilometres = great_circle(
            *(centre[column[start : start + _BLOCK]] for centre, column in points)
        )
        lacking = np.isnan(kilometres)
        bins = (
            np.searchsorted(cuts, kilometres[~lacking], side="left") - 1
        )  # a bin holds its upper edge
        counts[:-1] += np.bincount(np.clip(bins, 0, len(cuts) - 2), minlength=len(cuts) - 1)
        counts[-1] += int(lacking.sum())
    return counts


def histograms(
    codes: Mapping[str, NDArray[Any]], *, domain: Domain
) -> dict[Pair, NDArray[np.int64]]:
    """Return the `histogram` of every two places of a synthetic table."""
    return {
        pair: histogram(codes.__getitem__, domain=domain, pair=pair) for pair in pairs(domain)
    }


def centres(domain: Domain, column: str) -> Floats:
    """The middle of each bin of a column, in its own unit; NaN where a value is missing."""
    attribute = domain.attribute(column)
    if not isinstance(attribute, Number | Integer):
        raise TypeError("a place is made of numbers")
    cuts = np.asarray(attribute.cuts, dtype=np.float64)
    last = cuts[1:] - (
        1 if isinstance(attribute, Integer) else 0
    )  # whole number 7 stands at 7, not at 7.5
    middle = (cuts[:-1] + last) / 2
    return np.append(middle, [np.nan] * (attribute.size - len(middle)))


def _place(domain: Domain, name: str) -> Place:
    return next(place for place in domain.places if place.name == name)


def _farthest(domain: Domain, pair: Pair) -> float:
    """Return an upper bound of the distance between two centres, in kilometres."""
    north, east = zip(*(_place(domain, name).columns for name in pair), strict=True)
    latitudes, longitudes = (
        np.concatenate([centres(domain, column) for column in each]) for each in (north, east)
    )
    return across(
        np.nanmin(latitudes), np.nanmin(longitudes), np.nanmax(latitudes), np.nanmax(longitudes)
    )
