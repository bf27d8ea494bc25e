"""Cells of a tree that have public points: which of them the records of a cell are at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.hierarchy import GazetteerHierarchy

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class AnchorPoints:
    """The public points of one place, in the order of their codes. `north`, `east`: in which part of the box
    each lies; `weights`: how likely each is in a cell that has it; `first`, `last`: of each cell of the tree,
    from the first on below the last."""

    resolution: int
    north: NDArray[np.int64]
    east: NDArray[np.int64]
    weights: Floats
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    def squares(self, mass: Floats, *, halvings: int) -> Floats:
        """Spreads the mass of cells over the squares of a map."""
        # Cells are ranges of points that may nest, so each adds its density at its first point
        # and takes it off after its last (a difference array): linear in cells and points.
        reached = np.append(0.0, np.cumsum(self.weights))
        density = mass / (reached[self.last] - reached[self.first])
        steps = np.zeros(self.weights.size + 1)
        np.add.at(steps, self.first, density)
        np.subtract.at(steps, self.last, density)
        by_point = np.maximum(np.cumsum(steps[:-1]), 0.0) * self.weights
        by_point[by_point < 1e-12 * by_point.sum()] = (
            0.0  # what is left of sums and differences
        )
        shift, size = self.resolution - halvings, 1 << halvings
        where = (self.north >> shift) * size + (self.east >> shift)
        by_square: Floats = np.bincount(where, weights=by_point, minlength=size * size).astype(
            np.float64
        )
        return by_square.reshape(size, size)

    def within(self, *, halvings: int, north: int, east: int) -> Floats:
        """Returns the share of each cell that lies in one square."""
        shift = self.resolution - halvings
        inside = (self.north >> shift == north) & (self.east >> shift == east)
        all_of, part = (
            np.append(0.0, np.cumsum(weights))
            for weights in (self.weights, self.weights * inside)
        )
        shares: Floats = (part[self.last] - part[self.first]) / (
            all_of[self.last] - all_of[self.first]
        )
        return shares


def of(tree: Any, axes: tuple[int, int]) -> AnchorPoints | None:
    """Returns the public points of a place; None where it has none, or where the model puts
    records anywhere in a cell."""
    points = tree.hierarchy
    if not isinstance(points, GazetteerHierarchy):
        return None
    support = next((candidate for candidate in points.supports if candidate.axes == axes), None)
    placed = getattr(tree, "placed", "density")
    # Both axes of a column of codes have its name. Such a column has one of its points whatever
    # `placed` is.
    coded = points.axes[axes[0]] == points.axes[axes[1]]
    if support is None or (placed == "anywhere" and not coded):
        return None
    first, last = np.zeros((2, tree.cells.size), dtype=np.intp)
    for level in set(tree.levels.tolist()):
        here = tree.levels == level
        first[here], last[here] = points.inside(support, tree.cells[here], level)
    positions = points.positions(points.lift(support.codes, support.axes))
    return AnchorPoints(
        resolution=points.resolution,
        north=positions[:, axes[0]],
        east=positions[:, axes[1]],
        weights=np.ones(support.weights.size) if placed == "points" else support.weights,
        first=first,
        last=last,
    )
