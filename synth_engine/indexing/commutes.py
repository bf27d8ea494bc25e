"""Commutes: from where to where a record goes, from codes. An end is a column whose values have public
points, or a place with latitude and longitude; the pairs of both ends that occur are counted, and nothing
else of a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain, names
from synth_engine.domain.points import PointSet
from synth_engine.indexing import places

MAX_CELLS = 2**62  # cells of both ends together: their numbers have to fit 64 bits

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class End:
    """One end of a commute, origin or destination. A *position* is a code of the one column, or that of the
    latitude times the number of codes of the longitude, plus that of the longitude. `north` and `east` are
    degrees, by code; NaN where a code lies nowhere ("other", missing)."""

    name: str
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    labels: tuple[str, ...]
    north: Floats
    east: Floats

    @property
    def size(self) -> int:
        """Count the positions."""
        return prod(self.sizes)

    @property
    def named(self) -> bool:
        """Whether its positions have names of their own."""
        return len(self.columns) == 1

    def positions(self, codes: Callable[[str], NDArray[Any]]) -> Whole:
        """Return the position of every record, by the codes of its columns."""
        positions = codes(self.columns[0]).astype(np.int64)
        for name, size in zip(self.columns[1:], self.sizes[1:], strict=True):
            positions *= size
            positions += codes(name)
        return positions

    def at(self, positions: Whole) -> tuple[Floats, Floats]:
        """Latitudes and longitudes of positions, in degrees: of a point, or of the centre of a cell."""
        if self.named:
            return self.north[positions], self.east[positions]
        north, east = np.divmod(positions, self.sizes[1])
        return self.north[north], self.east[east]

    def label(self, position: int) -> str:
        """The name of a position, or its latitude and longitude."""
        if self.named:
            return self.labels[position]
        north, east = self.at(np.array([position]))
        return f"{north[0]:.4g}, {east[0]:.5g}"

    @property
    def box(self) -> tuple[float, float, float, float]:
        """South, west, north and east of all that it may be."""
        bounds = (
            np.nanmin(self.north),
            np.nanmin(self.east),
            np.nanmax(self.north),
            np.nanmax(self.east),
        )
        south, west, north, east = (float(each) for each in bounds)
        return south, west, north, east


@dataclass(frozen=True, kw_only=True, eq=False)
class Commute:
    """A pair of ends, origin and destination. A *cell* is the position of the origin times the number of
    positions of the destination, plus that of the destination."""

    origin: End
    destination: End

    @property
    def pair(self) -> Pair:
        """The names of both ends."""
        return self.origin.name, self.destination.name

    @property
    def shape(self) -> tuple[int, int]:
        """Positions of the origin, positions of the destination."""
        return self.origin.size, self.destination.size

    @property
    def by_places(self) -> bool:
        """Whether both ends are places, whose distances every comparison has."""
        return not (self.origin.named or self.destination.named)

    def split(self, cells: Whole) -> tuple[Whole, Whole]:
        """Positions of origin and destination."""
        origins, destinations = np.divmod(cells, self.destination.size)
        return origins, destinations

    def tally(self, codes: Callable[[str], NDArray[Any]]) -> tuple[Whole, Whole]:
        """The cells that occur, ascending, and how many records each has."""
        cells = self.origin.positions(codes)
        # In place, since the array has an entry for each record.
        cells *= self.destination.size
        cells += self.destination.positions(codes)
        occupied, counts = np.unique(cells, return_counts=True)
        return occupied, counts.astype(np.int64)


def commutes(domain: Domain) -> tuple[Commute, ...]:
    """Return a commute for every two ends of a description, in its order; a column with public totals is the
    destination."""
    known = [*_columns(domain), *_places(domain)]
    goal = None if domain.totals is None else domain.totals.column
    routes = []
    for first, second in combinations(known, 2):
        ends = (second, first) if first.name == goal else (first, second)
        if ends[0].size * ends[1].size <= MAX_CELLS:
            routes.append(Commute(origin=ends[0], destination=ends[1]))
    return tuple(routes)


def kilometres(commute: Commute, cells: Whole) -> Floats:
    """Great-circle distance of each cell; NaN where an end lies nowhere."""
    origins, destinations = commute.split(cells)
    return places.great_circle(
        *commute.origin.at(origins), *commute.destination.at(destinations)
    )


def _columns(domain: Domain) -> list[End]:
    """Columns with points, in the order of the domain."""
    points = {each.column: each for each in domain.points if each.column}
    return [_column(domain, points[name]) for name in domain.names if name in points]


def _column(domain: Domain, points: PointSet) -> End:
    attribute = domain.attribute(points.column)
    at = np.full((attribute.size, 2), np.nan)
    # "Other" and missing lie nowhere: the coordinates of their codes stay NaN.
    at[: len(points.at)] = np.array(points.at)[:, :2]
    return End(
        name=attribute.name,
        columns=(attribute.name,),
        sizes=(attribute.size,),
        labels=names.titled(attribute.labels, points.names),
        north=at[:, 0],
        east=at[:, 1],
    )


def _places(domain: Domain) -> list[End]:
    return [
        End(
            name=place.name,
            columns=place.columns,
            sizes=tuple(domain.sizes[column] for column in place.columns),
            labels=(),
            north=places.centres(domain, place.latitude),
            east=places.centres(domain, place.longitude),
        )
        for place in domain.places
    ]
