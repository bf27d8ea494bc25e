"""Public geography of groups and parts of origins: how far it is, and how many come from where by distance
alone. A part, such as a town, holds some of the origins' points; a group, such as a place of work, is one
point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.errors import SpecError
from synth_engine.jit import compiled

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Decay = tuple[float, float, Floats]
"""Scale and farthest distance in miles, and the table of exp(-x) by which distances are weighed."""
EARTH_RADIUS_MILES = 3958.7613
GOLDEN = (math.sqrt(5) - 1) / 2
_NEAR = 0.06
_FINE = 512
_TABLE = np.exp(-np.arange(64 * _FINE + 1) / _FINE)
_PSEUDO_RECORDS = 20.0
"""As how many earlier records of a group the shares by distance count beside them."""
MAX_CACHED_PAIRS = 1 << 22
"""Pairs of groups and parts of which distances are kept and not found twice."""


@dataclass(frozen=True, kw_only=True, eq=False)
class EarlierRecords:
    """Records of an earlier public table, by group and part. groups, parts: of each record, shape
    (records,)."""

    groups: Whole
    parts: Whole

    @cached_property
    def _by_group(self) -> tuple[Whole, Whole]:
        order = np.argsort(self.groups, kind="stable")
        return self.groups[order], self.parts[order]

    def blend(self, mass: Floats, first: int) -> Floats:
        """Shares of the parts of groups from `first` on: those of the earlier records, as far as a group has
        many, and those of `mass`, shape (groups, parts), else. No part without mass gets a share."""
        groups, parts = self._by_group
        ends = np.searchsorted(groups, [first, first + len(mass)])
        here = slice(int(ends[0]), int(ends[1]))
        cells = (groups[here] - first) * mass.shape[1] + parts[here]
        counts = np.bincount(cells, minlength=mass.size).reshape(mass.shape) * (mass > 0)
        total = counts.sum(axis=1, keepdims=True)
        shares = mass / mass.sum(axis=1, keepdims=True)
        blended: Floats = (counts + _PSEUDO_RECORDS * shares) / (total + _PSEUDO_RECORDS)
        return blended


@dataclass(frozen=True, kw_only=True, eq=False)
class Geography:
    """`groups`: latitude and longitude of each group; `origins`: of each origin, with its weight in `weights`
    and its part in `part`, the parts being 0 to `parts` - 1. Pairs become rarer by a factor of 2.7 over
    `scale` miles, and there are none beyond `farthest`. earlier: records of an earlier table, whose shares
    stand for those by distance. reached: whether a group has records in a part at all, shape (groups, parts);
    None: in each."""

    groups: Floats
    origins: Floats
    weights: Floats
    part: Whole
    parts: int
    scale: float
    farthest: float = math.inf
    earlier: EarlierRecords | None = None
    reached: npt.NDArray[np.bool_] | None = None

    @cached_property
    def vectors(self) -> tuple[Floats, Floats]:
        """Groups and origins as vectors of length 1."""
        return _unit(self.groups), _unit(self.origins)

    @cached_property
    def _by_axis(self) -> Floats:
        return np.ascontiguousarray(self.vectors[1].T)

    @cached_property
    def _members(self) -> tuple[Whole, Whole]:
        """Origins part by part, and where each part begins."""
        order = np.argsort(self.part, kind="stable").astype(np.int64)
        return order, np.searchsorted(self.part[order], np.arange(self.parts + 1)).astype(
            np.int64
        )

    def rows(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Of groups from `first` to before `last` and all parts: the sum of weights by distance, up to a
        factor of the group, and the mean distance by those weights. Errors: SpecError where a group has no
        origin within the farthest distance."""
        if len(self.groups) * self.parts > MAX_CACHED_PAIRS:
            mass, distance = self.view_from(self.vectors[0][first:last])
        else:
            mass, distance = (each[first:last] for each in self._all_rows)
        if self.reached is not None:
            mass = mass * self.reached[first:last]
        return (mass if self.earlier is None else self.earlier.blend(mass, first)), distance

    @cached_property
    def _all_rows(self) -> tuple[Floats, Floats]:
        return self.view_from(self.vectors[0])

    def view_from(self, vectors: Floats) -> tuple[Floats, Floats]:
        """The same from any points, as vectors of length 1."""
        mass, distance = _rows(
            vectors,
            self._by_axis,
            self.weights,
            self.part,
            self.parts,
            (self.scale, self.farthest, _TABLE),
        )
        if not (mass.sum(axis=1) > 0).all():
            raise SpecError(
                "a group has no origin within the farthest distance",
                repair="allow a larger one",
            )
        return mass, distance

    def centres(self, label: Whole, weights: Floats) -> Floats:
        """The middle of each set of groups, by weight, as vectors of length 1."""
        sums = np.array([np.bincount(label, weights * axis) for axis in self.vectors[0].T]).T
        middles: Floats = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return middles

    def assign_origins(self, groups: Whole, parts: Whole, counts: Whole) -> Whole:
        """An origin for each of `counts` records of a group in a part, one after another: spread over the
        part's origins by weight and distance, from near to far, as evenly as whole records can be."""
        order, starts = self._members
        origins: Whole = _assign_origins(
            (groups, parts, counts),
            self.vectors[0],
            (np.ascontiguousarray(self._by_axis[:, order]), self.weights[order], order, starts),
            (self.scale, self.farthest, _TABLE),
        )
        return origins


def _unit(at: Floats) -> Floats:
    latitude, longitude = np.radians(at).T
    return np.column_stack(
        [
            np.cos(latitude) * np.cos(longitude),
            np.cos(latitude) * np.sin(longitude),
            np.sin(latitude),
        ]
    )


@compiled
def _distances(x: float, y: float, z: float, origins: Floats, out: Floats) -> float:
    """Miles to each origin, of which vectors of length 1 are given by axis, into `found`; returns the
    least."""
    least = math.inf
    for origin in range(origins.shape[1]):
        square = (
            (x - origins[0, origin]) ** 2
            + (y - origins[1, origin]) ** 2
            + (z - origins[2, origin]) ** 2
        )
        square /= 4
        half = math.sqrt(square)
        if half < _NEAR:  # the series of the arc sine, to 1e-10 of it
            half *= 1 + square * (1 / 6 + square * (3 / 40 + square * (15 / 336)))
        else:
            half = math.asin(min(1.0, half))
        out[origin] = 2 * EARTH_RADIUS_MILES * half
        least = min(least, out[origin])
    return least


@compiled
def _decay(more: float, table: Floats) -> float:
    """exp(-more) from a table with steps of 1 / _FINE, between which it is as if straight: to 1e-6. Not below
    its last entry."""
    at = more * _FINE
    first = int(at)
    value: float = table[min(first, table.size - 1)]
    if first < table.size - 1:
        value += (at - first) * (table[first + 1] - value)
    return value


@compiled
def _rows(
    groups: Floats,
    origins: Floats,
    weights: Floats,
    part: Whole,
    parts: int,
    decay: Decay,
) -> tuple[Floats, Floats]:
    scale, farthest, table = decay
    mass, distance = np.zeros((len(groups), parts)), np.zeros((len(groups), parts))
    far = np.empty(origins.shape[1])
    for group in range(len(groups)):
        near = _distances(groups[group, 0], groups[group, 1], groups[group, 2], origins, far)
        for origin in range(far.size):
            if far[origin] <= farthest:
                # Relative to the nearest, so that no group whose origins are all far is lost.
                # Relative to the nearest origin, so that exp does not underflow where all
                # origins are far.
                share = weights[origin] * _decay((far[origin] - near) / scale, table)
                mass[group, part[origin]] += share
                distance[group, part[origin]] += share * far[origin]
        for region in range(parts):
            if mass[group, region] > 0:
                distance[group, region] /= mass[group, region]
    return mass, distance


@compiled
def _order_by_distance(far: Floats, near: float) -> Whole:
    """Places from near to far, up to a 256th of the range: in time that grows with their number alone."""
    # A bucket sort: its time is linear, and order within a 256th of the range does not
    # matter.
    width = (far.max() - near) / 256 + 1e-12
    ends = np.zeros(258, dtype=np.int64)
    for distance in far:
        ends[int((distance - near) / width) + 1] += 1
    ends = np.cumsum(ends)
    order = np.empty(far.size, dtype=np.int64)
    for origin in range(far.size):
        bucket = int((far[origin] - near) / width)
        order[ends[bucket]] = origin
        ends[bucket] += 1
    return order


@compiled
def _assign_origins(
    cells: tuple[Whole, Whole, Whole],
    at: Floats,
    members: tuple[Floats, Floats, Whole, Whole],
    decay: Decay,
) -> Whole:
    """The origin of each record. cells: group, part and number of records of each cell; at: vectors of the
    groups; members: vectors of the origins by axis, part by part, their weights and numbers in that order,
    and where each part begins."""
    groups, parts, counts = cells
    origins, weights, order, starts = members
    scale, farthest, table = decay
    chosen = np.empty(counts.sum(), dtype=np.int64)
    done = 0
    for cell in range(len(counts)):
        first, last = starts[parts[cell]], starts[parts[cell] + 1]
        if last - first == 1:
            chosen[done : done + counts[cell]] = order[first]
            done += counts[cell]
            continue
        far = np.empty(last - first)
        group = groups[cell]
        near = _distances(at[group, 0], at[group, 1], at[group, 2], origins[:, first:last], far)
        by_distance = _order_by_distance(far, near)
        share = np.empty(far.size)
        for position in range(far.size):
            member = by_distance[position]
            within = far[member] <= farthest or near > farthest
            share[position] = (
                weights[first + member] * _decay((far[member] - near) / scale, table)
                if within
                else 0.0
            )
        # Systematic sampling: equally spaced positions along the cumulative weight, from
        # near to far.
        # Systematic sampling: equally spaced positions along the cumulative weight, from
        # near to far.
        step = share.sum() / counts[cell]
        # The golden ratio spreads the starting points of cells evenly, without a random
        # generator.
        ahead = step * ((cell * GOLDEN) % 1.0)
        passed, position = share[0], 0
        for _ in range(counts[cell]):
            while passed <= ahead and position < far.size - 1:
                position += 1
                passed += share[position]
            chosen[done] = order[first + by_distance[position]]
            done += 1
            ahead += step
    return chosen
