"""Points that can only be where a public gazetteer has one: cells without a public point are no nodes at all.

Coordinates come in groups that have gazetteers of their own, such as two of a home and two of a place of
work. A cell is there if its projection on every group holds a public point; so the cells of a depth are as
many as products of what the gazetteers have, and none of them is listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import Codes, Prefixes
from synth_engine.hierarchy.points import BITS, SpatialHierarchy
from synth_engine.strict_json import JsonObject, JsonValue

_CHUNK = 16
"""Bits that are moved at once, by a table."""

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """Public points of the coordinates `axes`: their codes in these coordinates alone, not decreasing, their
    weights, and `order`: which points of the gazetteer they are. `units`: how long a smallest cell is along
    each of these axes, in any common unit, for finding the nearest."""

    axes: tuple[int, ...]
    codes: Codes
    weights: Floats
    order: npt.NDArray[np.intp]
    units: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class GazetteerHierarchy(SpatialHierarchy):
    """Points of a box with gazetteers. `sides`: the column that each coordinate belongs to, which is one for
    both coordinates of a column of codes."""

    is_complete: ClassVar[bool] = False

    sides: tuple[str, ...]
    supports: tuple[Support, ...]

    @property
    def axes(self) -> tuple[str, ...]:
        return self.sides

    def exists(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        present = np.ones(prefixes.shape, dtype=np.bool_)
        for support in self.supports:
            first, last = self.inside(support, prefixes[present], level)
            present[present] = first < last
        return present

    def divides(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        """Returns whether a node has two public points of a gazetteer that are not in one
        smallest cell; of coordinates without a gazetteer that is not known to be otherwise."""
        divided = np.full(prefixes.shape, len(self._supported_axes) < self.dimensions)
        for support in self.supports:
            first, last = self.inside(support, prefixes, level)
            divided = divided | (support.codes[first] != support.codes[last - 1])
        return divided

    @property
    def _supported_axes(self) -> set[int]:
        return {axis for support in self.supports for axis in support.axes}

    def node_count(self, depth: int) -> float:
        free = set(range(self.dimensions)) - self._supported_axes
        count = 2.0 ** sum(self.halvings(depth, axis) for axis in free)
        for support in self.supports:
            # Bits below the cells of that depth, in codes of this support alone.
            cut = sum(self.resolution - self.halvings(depth, axis) for axis in support.axes)
            if cut < BITS:
                count *= np.unique(support.codes >> np.uint64(cut)).size
        return count

    def inside(
        self, support: Support, prefixes: Prefixes, level: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Finds the points of a gazetteer that lie in nodes of that depth: from the first on
        below the last."""
        free = (self.depth - level) * (self.dimensions if self.together else 1)
        mine = sum(self._axis(place) in support.axes for place in range(free))
        low = self.project(prefixes, support.axes)
        first = np.searchsorted(support.codes, low)
        last = np.searchsorted(support.codes, low + np.uint64((1 << mine) - 1), side="right")
        return first, last

    def project(self, codes: Codes, axes: tuple[int, ...]) -> Codes:
        """Codes in some of the coordinates alone."""
        return _moved(codes, _tables(self._places(axes), gather=True))

    def lift(self, codes: Codes, axes: tuple[int, ...]) -> Codes:
        """The bits of such codes where the codes of all coordinates have them; 0 in the others."""
        return _moved(codes, _tables(self._places(axes), gather=False))

    def supported(self, codes: Codes) -> Codes:
        """Codes of points, each moved to the nearest supported cell where it is in none: along each group of
        coordinates by itself, and of each point by itself."""
        for support in self.supports:
            own = self.project(codes, support.axes)
            known = np.unique(support.codes)
            missing = known[np.minimum(np.searchsorted(known, own), known.size - 1)] != own
            if missing.any():
                beyond, which = np.unique(own[missing], return_inverse=True)
                # A record moves by its own code and public points alone, so neighbouring tables
                # still differ in the same records.
                moved = known[self._nearest(beyond, known, support)][which]
                codes = codes.copy()
                codes[missing] ^= self.lift(own[missing] ^ moved, support.axes)
        return codes

    def _nearest(self, codes: Codes, known: Codes, support: Support) -> npt.NDArray[Any]:
        from scipy.spatial import cKDTree  # slow to import, and rarely needed

        tree = cKDTree(self._middles(known, support))
        return np.asarray(tree.query(self._middles(codes, support))[1])

    def _middles(self, codes: Codes, support: Support) -> Floats:
        parts = self.positions(self.lift(codes, support.axes))[:, list(support.axes)]
        middles: Floats = parts * np.array(support.units)
        return middles

    def _axis(self, place: int) -> int:
        """Returns the coordinate to which a bit of codes belongs."""
        return self.dimensions - 1 - place % self.dimensions

    def _places(self, axes: tuple[int, ...]) -> tuple[int, ...]:
        """The bits of these coordinates within codes, the lowest first."""
        return tuple(
            p for p in range(self.resolution * self.dimensions) if self._axis(p) in axes
        )

    def to_json(self) -> JsonObject:
        points: list[JsonValue] = [
            {"axes": list(support.axes), "points": int(support.codes.size)}
            for support in self.supports
        ]
        return {**super().to_json(), "sides": list(self.sides), "supports": points}


def _moved(codes: Codes, tables: tuple[Bits, ...]) -> Codes:
    moved = np.zeros(np.shape(codes), dtype=np.uint64)
    for chunk, table in enumerate(tables):
        moved |= table[(codes >> np.uint64(_CHUNK * chunk)) & np.uint64((1 << _CHUNK) - 1)]
    return moved


@cache
def _tables(places: tuple[int, ...], *, gather: bool) -> tuple[Bits, ...]:
    """Returns for every 16 bits of codes what they are once the bits at these positions are
    side by side; or the inverse."""
    ways = [(place, rank) if gather else (rank, place) for rank, place in enumerate(places)]
    tables = []
    for start in range(0, BITS, _CHUNK):
        table = np.zeros(1 << _CHUNK, dtype=np.uint64)
        values = np.arange(1 << _CHUNK, dtype=np.uint64)
        for old, new in ways:
            if start <= old < start + _CHUNK:
                table |= (values >> np.uint64(old - start) & np.uint64(1)) << np.uint64(new)
        tables.append(table)
    while len(tables) > 1 and not tables[-1].any():
        tables.pop()
    return tuple(tables)
