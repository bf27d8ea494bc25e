"""Assign each code of a column to a part, by the name of a public partition."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.domain.document import Domain
from synth_engine.domain.points import Point
from synth_engine.errors import DomainError

VALUES = "values"
"""Each code by itself."""
_CELLS = re.compile(r"([1-9][0-9]{0,4}) cells")
_BY_SIZE = re.compile(r"(.+); (.+) from ([1-9][0-9]{0,7})")
_WITHIN = re.compile(r"(.+) within ([1-9][0-9]{0,3}) miles")
_EARTH_RADIUS_MILES = 3958.7613
MAX_NEAR_PAIRS = 1 << 26
"""Groups by parts of origins, where parts are near some groups and far from others."""


def cells_named(number: int) -> str:
    """The name of the parting into so many cells of public points."""
    return f"{number} cells"


def partings_by_size(domain: Domain, column: str, name: str) -> tuple[tuple[int, str], ...]:
    """The partings by size of group, as public totals have it: from how many records on, and the name; the
    first from 0 on. "town; tract from 100" counts groups below 100 records by towns and others by tracts, any
    other name all groups by one."""
    declared = any((each.column, each.name) == (column, name) for each in domain.partitions)
    by_size = None if declared else _BY_SIZE.fullmatch(name)
    return ((0, by_size[1]), (int(by_size[3]), by_size[2])) if by_size else ((0, name),)


def named(chosen: Sequence[tuple[int, str]]) -> str:
    """The name that `partings_by_size` reads as these."""
    return "; ".join(f"{name} from {least}" if least else name for least, name in chosen)


def parting_of(size: int, chosen: Sequence[tuple[int, str]]) -> str:
    """The name of the parting by which a group of this public size is counted."""
    return next(name for least, name in reversed(chosen) if size >= least)


def parting(domain: Domain, column: str, name: str) -> tuple[int, ...]:
    """The part of each code of `column`, from 0 on without a gap. name: that of a partition of the
    description, `VALUES`, or "64 cells" for cells of the column's points, halved along their longer side.
    "other" and missing are parts of their own, the last ones. A function of the description alone. Errors:
    DomainError."""
    attribute = domain.attribute(column)
    if name == VALUES:
        return tuple(range(attribute.size))
    declared = next(
        (each for each in domain.partitions if (each.column, each.name) == (column, name)), None
    )
    if declared is not None:
        return declared.codes(attribute)
    by_cells = _CELLS.fullmatch(name)
    points = next((each for each in domain.points if each.column == column), None)
    if by_cells is None or points is None:
        known = [VALUES, *(each.name for each in domain.partitions if each.column == column)]
        known += [] if points is None else ["64 cells"]
        raise DomainError(
            "the description has no such partition",
            repair=f"use one of: {', '.join(known)}",
            column=column,
        )
    of = cells(points.at, int(by_cells[1]))
    number = max(of) + 1
    return (*of, *range(number, number + attribute.size - attribute.value_count))


@dataclass(frozen=True, kw_only=True, eq=False)
class NearParts:
    """Parts of origins as each group counts them: those near it by themselves, and all that are far together.

    near: whether a part is near a group, shape (groups, parts). Parts that lie nowhere are near every group.
    number: of parts that every group counts, the same for all: what the group with the most near parts has,
    and the far ones as the last part."""

    near: npt.NDArray[np.bool_]

    @property
    def number(self) -> int:
        return int(self.near.sum(axis=1).max()) + 1

    def numbers(self) -> npt.NDArray[np.int64]:
        """The number of each part in the count of each group, shape (groups, parts)."""
        counted = np.cumsum(self.near, axis=1) - 1
        return np.where(self.near, counted, self.number - 1).astype(np.int64)


def split_within(name: str) -> tuple[str, int | None]:
    """The parting without its distance, and the distance in miles: "town within 30 miles" counts towns within
    30 miles of a group by themselves, and all others together. None where there is none."""
    within = _WITHIN.fullmatch(name)
    return (name, None) if within is None else (within[1], int(within[2]))


def near_parts(domain: Domain, group: str, origin: str, name: str) -> NearParts:
    """Which parts each group counts by themselves, of a parting with a distance. A part is near if one of its
    points is; a group without a point has no near part but those that lie nowhere. A function of the
    description alone. Errors: DomainError."""
    base, miles = split_within(name)
    part = np.array(parting(domain, origin, base), dtype=np.int64)
    points = {each.column: each for each in domain.points}
    if miles is None or not {group, origin} <= set(points):
        raise DomainError(
            "parts within a distance need public points of both columns",
            repair='describe "points" of both, or leave the distance out',
            column=origin,
        )
    sizes = domain.sizes[group], int(part.max()) + 1
    if sizes[0] * sizes[1] > MAX_NEAR_PAIRS:
        raise DomainError(
            f"parts within a distance of {sizes[0]:,} groups by {sizes[1]:,} parts, more than "
            f"{MAX_NEAR_PAIRS:,} pairs",
            repair="use a parting with fewer parts",
            column=origin,
        )
    values = domain.attribute(origin).value_count
    near = np.zeros(sizes, dtype=np.bool_)
    near[:, part[values:]] = True
    at = _on_sphere(points[origin].at)
    # Of two points on a sphere the straight line is as long as the distance says.
    longest = 2 * math.sin(min(miles / _EARTH_RADIUS_MILES, math.pi) / 2)
    for number, place in enumerate(_on_sphere(points[group].at)):
        within = ((at - place) ** 2).sum(axis=1) <= longest**2
        near[number, part[:values][within]] = True
    return NearParts(near=near)


def part_count(domain: Domain, group: str, origin: str, name: str) -> int:
    """How many parts every group counts. Errors: DomainError."""
    if split_within(name)[1] is not None:
        return near_parts(domain, group, origin, name).number
    return max(parting(domain, origin, name)) + 1


def _on_sphere(at: Sequence[Point]) -> npt.NDArray[np.float64]:
    latitude, longitude = np.radians(np.array([point[:2] for point in at])).T
    return np.column_stack(
        [
            np.cos(latitude) * np.cos(longitude),
            np.cos(latitude) * np.sin(longitude),
            np.sin(latitude),
        ]
    )


def cells(at: Sequence[Point], number: int) -> tuple[int, ...]:
    """The cell of each point. The cell with the most points is halved, along its longer side in miles, until
    there are `number` of them, or one for each point; ties go to the first."""
    # A degree of longitude is shorter than one of latitude by this factor.
    narrow = math.cos(math.radians(sum(point[0] for point in at) / len(at)))
    sides = [(point[0], point[1] * narrow) for point in at]
    held = [list(range(len(at)))]
    while len(held) < min(number, len(at)):
        largest = max(range(len(held)), key=lambda cell: len(held[cell]))
        points = held[largest]
        spans = [
            max(sides[p][axis] for p in points) - min(sides[p][axis] for p in points)
            for axis in (0, 1)
        ]
        axis = int(spans[1] > spans[0])
        # Ties go to the lower index: cells are a function of public points alone.
        points.sort(key=lambda p: (sides[p][axis], p))
        held[largest : largest + 1] = [points[: len(points) // 2], points[len(points) // 2 :]]
    of = [0] * len(at)
    for cell, points in enumerate(held):
        for point in points:
            of[point] = cell
    return tuple(of)
