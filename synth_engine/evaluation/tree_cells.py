"""Facts of the tree of a model by itself: how deep it goes, where its records lie, how frequent
prefixes are.

Functions of the model alone, which is noisy answers made to agree: as private as the release.
Shares are of all records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain, Integer, Number, Place
from synth_engine.errors import DomainError
from synth_engine.evaluation import tree_anchors
from synth_engine.hierarchy import Hierarchy, SpatialHierarchy
from synth_engine.hierarchy.base import PathHierarchy
from synth_engine.indexing import prefixes
from synth_engine.indexing.places import EARTH_RADIUS_KM

MAX_HALVINGS = 7
"""Halvings of each side of a map: 16,384 squares, as many as a screen can tell apart."""

Floats = NDArray[np.float64]


class TreeCells(Protocol):
    """Cells of a hierarchy, none inside another, with weights: the tree of a model."""

    @property
    def hierarchy(self) -> Hierarchy: ...
    @property
    def levels(self) -> NDArray[np.int64]: ...
    @property
    def cells(self) -> NDArray[Any]: ...
    @property
    def weights(self) -> NDArray[np.int64]: ...


@dataclass(frozen=True, kw_only=True)
class PlaceAxes:
    """A place of records in a tree of points: which of its coordinates are degrees north and east."""

    name: str
    north: int
    east: int

    @property
    def axes(self) -> tuple[int, int]:
        """Returns the axes of the hierarchy: north, then east."""
        return self.north, self.east


@dataclass(frozen=True, kw_only=True)
class Depth:
    """The cells that end at one depth: how many, and which share of all records lies in them."""

    depth: int
    cells: int
    share: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Map:
    """Shares of records by squares of a place, shape (south to north, west to east), and the edges of the
    squares in degrees."""

    shares: Floats
    latitudes: Floats
    longitudes: Floats

    @property
    def areas_km2(self) -> Floats:
        """Returns the area of each square, on a sphere."""
        height = np.diff(np.sin(np.radians(self.latitudes)))
        areas: Floats = EARTH_RADIUS_KM**2 * np.outer(
            height, np.diff(np.radians(self.longitudes))
        )
        return areas


@dataclass(frozen=True, kw_only=True)
class Square:
    """One square of a place, by its halvings and its numbers from the south and from the west."""

    halvings: int
    north: int
    east: int


@dataclass(frozen=True, kw_only=True)
class Child:
    """A node one symbol longer. `cells`: of the tree below it, 1 for one that was not opened; `ended`:
    nothing follows."""

    symbol: int
    share: float
    cells: int
    opened: bool
    ended: bool


@dataclass(frozen=True, kw_only=True)
class PrefixNode:
    """A node of a tree of symbols, as far as the tree goes. `depth`: of the cell that holds it, where the
    tree ends at or above it; then none of its children was examined. `ends`: of the share what lies in cells
    that end here while others go on, which are of other classes."""

    share: float
    depth: int | None
    children: tuple[Child, ...]
    ends: float = 0.0


def shares(tree: TreeCells) -> Floats:
    """Returns the share of all records in each cell; shape (n,), 0 each where there is no
    weight."""
    share: Floats = tree.weights / max(1, int(tree.weights.sum()))
    return share


def profile(tree: TreeCells) -> list[Depth]:
    """Every depth from the first with a cell to the last."""
    counts, mass = np.bincount(tree.levels), np.bincount(tree.levels, weights=shares(tree))
    # Depths without a cell between two that have some are listed, so that the bars are evenly
    # spaced.
    first = int(np.flatnonzero(counts)[0])
    return [
        Depth(depth=d, cells=int(counts[d]), share=float(mass[d]))
        for d in range(first, counts.size)
    ]


def sites(points: Hierarchy, domain: Domain) -> list[PlaceAxes]:
    """The places of the domain whose columns are in the hierarchy of a tree, and its columns of codes that
    have public points."""
    if not isinstance(points, SpatialHierarchy):
        return []
    pairs = {
        place.name: tuple(map(points.axes.index, place.columns))
        for place in domain.places
        if _has(points, place)
    }
    for column in points.columns:
        if points.axes.count(column) == 2:
            pairs[column] = points.axes.index(column), points.axes.index(column) + 1
    return [
        PlaceAxes(name=name, north=north, east=east) for name, (north, east) in pairs.items()
    ]


def _has(points: SpatialHierarchy, place: Place) -> bool:
    return set(place.columns) <= set(points.columns)


def max_halvings(tree: TreeCells, site: PlaceAxes) -> int:
    """Returns how often the finest cell has been halved along the sides of a place."""
    last = int(tree.levels.max())
    return max(_points(tree).halvings(last, axis) for axis in site.axes)


def place_map(
    tree: TreeCells,
    domain: Domain,
    site: PlaceAxes,
    *,
    halvings: int,
    within: Floats | None = None,
) -> Map:
    """Maps where records lie, by squares of `2^halvings` along each side. A larger cell has its
    records at its public points, as in the model, or evenly in all of its squares.

    within: the share of each cell that is mapped, all of it if left out."""
    points = _points(tree)
    mass = shares(tree) * (1.0 if within is None else within)
    halvings = min(halvings, points.resolution)
    anchors = tree_anchors.of(tree, site.axes)
    if anchors is not None:
        by_square = anchors.squares(mass, halvings=halvings)
    else:
        by_square = _spread(tree, site, mass, halvings=halvings)
    latitudes, longitudes = (
        edges(points, domain, axis, halvings=halvings) for axis in site.axes
    )
    return Map(shares=by_square, latitudes=latitudes, longitudes=longitudes)


def _spread(tree: TreeCells, site: PlaceAxes, mass: Floats, *, halvings: int) -> Floats:
    points = _points(tree)
    positions = points.positions(tree.cells)[:, site.axes]
    by_square = np.zeros((1 << halvings, 1 << halvings))
    # Cells of one depth have one size, so each depth is one histogram at its own resolution,
    # spread evenly over the squares of the map.
    for level in np.unique(tree.levels):
        here = tree.levels == level
        cut = [min(halvings, points.halvings(int(level), axis)) for axis in site.axes]
        north, east = (
            positions[here, side] >> (points.resolution - cut[side]) for side in (0, 1)
        )
        shape = 1 << cut[0], 1 << cut[1]
        counts = np.bincount(
            (north << cut[1]) + east, weights=mass[here], minlength=shape[0] * shape[1]
        ).reshape(shape)
        spread = [1 << (halvings - side) for side in cut]
        by_square += np.repeat(np.repeat(counts, spread[0], axis=0), spread[1], axis=1) / (
            spread[0] * spread[1]
        )
    return by_square


def edges(points: SpatialHierarchy, domain: Domain, axis: int, *, halvings: int) -> Floats:
    """Returns the edges of the parts of a side: edges of the bins that are counted, or even
    ones where points are public."""
    attribute = domain.attribute(points.axes[axis])
    starts = np.arange((1 << halvings) + 1) << (points.resolution - halvings)
    if not isinstance(attribute, Number | Integer):
        low, high = points.low[axis], points.high[axis]
        even: Floats = low + (high - low) * starts / points.parts
        return even
    # Cells are halves of the list of bins, and bins may differ in width: only their cuts give
    # degrees.
    bins = prefixes.first_bins(points, starts, size=attribute.value_count)
    cuts: Floats = np.asarray(attribute.cuts, dtype=np.float64)[bins]
    return cuts


def bounds(tree: TreeCells, domain: Domain) -> tuple[Floats, Floats]:
    """The lower and the upper corner of every cell, shape (cells, coordinates) each."""
    points = _points(tree)
    positions = points.positions(tree.cells)
    low, high = np.empty(positions.shape), np.empty(positions.shape)
    for axis in range(points.dimensions):
        cuts = edges(points, domain, axis, halvings=points.resolution)
        halved = np.array([points.halvings(level, axis) for level in range(points.depth + 1)])[
            tree.levels
        ]
        low[:, axis], high[:, axis] = (
            cuts[positions[:, axis]],
            cuts[positions[:, axis] + (points.parts >> halved)],
        )
    return low, high


def square(
    tree: TreeCells, domain: Domain, site: PlaceAxes, *, at: tuple[float, float], halvings: int
) -> Square:
    """The square that holds a point. Errors: DomainError for one outside the box, naming the column; its
    `field` is "north" or "east"."""
    points = _points(tree)
    halvings = min(halvings, points.resolution)
    numbers = []
    for side, axis, degrees in zip(("north", "east"), site.axes, at, strict=True):
        cuts = edges(points, domain, axis, halvings=halvings)
        if not cuts[0] <= degrees <= cuts[-1]:
            raise DomainError(
                f"degrees {side} outside {cuts[0]:g} to {cuts[-1]:g}",
                repair="choose one inside the box",
                column=points.axes[axis],
                field=side,
            )
        numbers.append(
            min(int(np.searchsorted(cuts, degrees, side="right")) - 1, cuts.size - 2)
        )
    return Square(halvings=halvings, north=numbers[0], east=numbers[1])


def within(tree: TreeCells, site: PlaceAxes, chosen: Square) -> Floats:
    """Returns the share of each cell that lies in a square of a place: all or nothing of finer
    cells; of coarser ones the public points in it, as in the model, or an even part."""
    points, anchors = _points(tree), tree_anchors.of(tree, site.axes)
    if anchors is not None:
        return anchors.within(halvings=chosen.halvings, north=chosen.north, east=chosen.east)
    inside = np.ones(tree.levels.size)
    positions = points.positions(tree.cells)
    for axis, number in zip(site.axes, (chosen.north, chosen.east), strict=True):
        halved = np.array([points.halvings(level, axis) for level in range(points.depth + 1)])[
            tree.levels
        ]
        # A cell that was halved less often than the square contains it or is apart from it;
        # contained, its share is that of the finer halvings.
        common = np.minimum(halved, chosen.halvings)
        same = positions[:, axis] >> (points.resolution - common) == number >> (
            chosen.halvings - common
        )
        inside *= np.where(same, 0.5 ** (chosen.halvings - common), 0.0)
    return inside


def node(tree: TreeCells, symbols: Sequence[int]) -> PrefixNode:
    """Describes the node below a sequence of symbols, none of which ends it."""
    paths = tree.hierarchy
    if not isinstance(paths, PathHierarchy):
        raise TypeError("the classes have no paths")
    codes, mass, depth = paths.path(tree.cells), shares(tree), len(symbols)
    prefix = np.array(symbols, dtype=np.uint8)
    reached = np.minimum(tree.levels, depth)
    # Beyond the depth at which a cell ended, every continuation is in it, so these symbols
    # match.
    same = (codes[:, :depth] == prefix) | (np.arange(depth) >= reached[:, None])
    inside = same.all(axis=1)
    ends, under = (
        np.flatnonzero(inside & lie) for lie in (tree.levels <= depth, tree.levels > depth)
    )
    if ends.size and not under.size:
        return PrefixNode(
            share=float(mass[ends].sum()), depth=int(tree.levels[ends].max()), children=()
        )
    following = codes[under, depth] if depth < paths.depth else np.zeros(0, dtype=np.uint8)
    weight = np.bincount(following, weights=mass[under], minlength=1)
    cells = np.bincount(following, minlength=1)
    deeper = np.bincount(following[tree.levels[under] > depth + 1], minlength=weight.size)
    children = tuple(
        Child(
            symbol=int(symbol),
            share=float(weight[symbol]),
            cells=int(cells[symbol]),
            opened=bool(symbol and deeper[symbol]),
            ended=symbol == 0,
        )
        for symbol in np.flatnonzero(cells)
    )
    here = float(mass[ends[tree.levels[ends] == depth]].sum())
    return PrefixNode(
        share=float(mass[under].sum()) + here, depth=None, children=children, ends=here
    )


def _points(tree: TreeCells) -> SpatialHierarchy:
    points = tree.hierarchy
    if not isinstance(points, SpatialHierarchy):
        raise TypeError("the tree has no hierarchy of points")
    return points
