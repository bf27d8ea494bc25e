"""Assign each code of a column to a part, by the name of a public partition."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from synth_engine.domain.document import Domain
from synth_engine.domain.points import Point
from synth_engine.errors import DomainError

VALUES = "values"
"""Each code by itself."""
_CELLS = re.compile(r"([1-9][0-9]{0,4}) cells")
_BY_SIZE = re.compile(r"(.+); (.+) from ([1-9][0-9]{0,7})")


def cells_named(number: int) -> str:
    """The name of the parting into so many cells of public points."""
    return f"{number} cells"


def partings_by_size(domain: Domain, column: str, name: str) -> tuple[tuple[int, str], ...]:
    """The partings by size of group, as public totals have it: from how many records on, and the name; the first from 0 on.
    "town; tract from 100" counts groups below 100 records by towns and others by tracts, any other name all groups by one."""
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
    """The part of each code of `column`, from 0 on without a gap. name: that of a partition of the description, `VALUES`, or
    "64 cells" for cells of the column's points, halved along their longer side. "other" and missing are parts of their own,
    the last ones. A function of the description alone. Errors: DomainError."""
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


def cells(at: Sequence[Point], number: int) -> tuple[int, ...]:
    """The cell of each point. The cell with the most points is halved, along its longer side in miles, until there are
    `number` of them, or one for each point; ties go to the first."""
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
