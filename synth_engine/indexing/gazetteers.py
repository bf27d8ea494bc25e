"""Public points of a domain, as coordinates of records: of the two columns of a place, or of one column of
codes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain, Integer, Number
from synth_engine.errors import DomainError
from synth_engine.hierarchy import GazetteerHierarchy, SpatialHierarchy, Support

LEAST_SIDE = 1e-4
"""Degrees of a box around points that lie on a line, or all in one place: about ten metres."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Site:
    """Public points and the columns that tell which of them a record is at. `at`: latitude, longitude and
    weight of each, shape (points, 3); `codes`: by column, the code that a record at each point has."""

    columns: tuple[str, ...]
    at: Floats
    codes: Mapping[str, NDArray[np.intp]]

    @property
    def of_codes(self) -> bool:
        """Whether its points belong to the codes of one column, not to latitudes and longitudes."""
        return len(self.columns) == 1

    def bounds(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The box around all points: of latitude, and of longitude."""
        bounds = []
        for column in self.at[:, :2].T:
            low, high = float(column.min()), float(column.max())
            # A box without width could not be halved.
            short = max(0.0, LEAST_SIDE - (high - low)) / 2
            bounds.append((low - short, high + short))
        return bounds[0], bounds[1]


def sites(domain: Domain, columns: Sequence[str]) -> tuple[Site, ...]:
    """Return the domain's public points that belong to these columns. Errors: DomainError where places share
    a column."""
    places = {place.name: place for place in domain.places}
    sites: list[Site] = []
    for points in domain.points:
        of = (points.column,) if points.column else places[points.place].columns
        if not set(of) <= set(columns):
            continue
        if any(set(of) & set(other.columns) for other in sites):
            raise DomainError(
                "public points of two places that share a column",
                repair="give points of one of them",
            )
        at = np.array(points.at, dtype=np.float64)
        codes = {of[0]: np.arange(len(at))} if points.column else {}
        if not codes:
            codes = {
                name: _bins(domain, name, values)
                for name, values in zip(of, at.T[:2], strict=True)
            }
        sites.append(Site(columns=of, at=at, codes=codes))
    return tuple(sites)


def _bins(domain: Domain, name: str, values: Floats) -> NDArray[np.intp]:
    attribute = domain.attribute(name)
    if not isinstance(attribute, Integer | Number):
        raise TypeError("a coordinate is not a number")
    bins = (
        np.searchsorted(np.asarray(attribute.cuts, dtype=np.float64), values, side="right") - 1
    )
    clipped: NDArray[np.intp] = np.clip(bins, 0, attribute.value_count - 1)
    return clipped


def support(
    points: GazetteerHierarchy,
    site: Site,
    *,
    positions: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> Support:
    """The points of a site as a hierarchy needs them. positions: in which part of latitude and longitude each
    lies."""
    axes = tuple(axis for axis, name in enumerate(points.sides) if name in site.columns)
    if not site.of_codes:
        axes = tuple(points.sides.index(name) for name in site.columns)
    north, east = axes
    codes = points.project(
        points.spread(positions[0], north) | points.spread(positions[1], east), axes
    )
    order = np.argsort(codes, kind="stable")
    middle = (points.low[north] + points.high[north]) / 2
    lengths = [(points.high[axis] - points.low[axis]) / points.parts for axis in axes]
    return Support(
        axes=axes,
        codes=codes[order],
        weights=site.at[order, 2],
        order=order,
        units=(lengths[0], lengths[1] * math.cos(math.radians(middle))),
    )


def bits(points: SpatialHierarchy, site: Site) -> NDArray[np.uint64]:
    """Return the bits of the point of each value, for a column of codes."""
    if not isinstance(points, GazetteerHierarchy):
        raise TypeError("the hierarchy has no gazetteer")
    depth = next(
        each for each in points.supports if points.sides[each.axes[0]] == site.columns[0]
    )
    table = np.zeros(len(site.at), dtype=np.uint64)
    table[depth.order] = points.lift(depth.codes, depth.axes)
    return table
