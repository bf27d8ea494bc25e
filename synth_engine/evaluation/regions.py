"""Public parts of an area, by which commutes are added up: each value by itself, the parts of a declared
partition, or the squares of a grid like those of an atlas."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.domain.partitions import Partition
from synth_engine.evaluation.commutes import Flows
from synth_engine.evaluation.style import shorten
from synth_engine.indexing.commutes import Commute, End

MAX_SINGLE_VALUES = 80  # values of a column, to be parts by themselves
MAX_NAMES = 200  # parts that a map may name; those that would overlap are left out
MAX_PARTS = 1000  # of a declared partition: origins by destinations are one table
GRID_SQUARES = 10  # of a grid, along the longer side of the area
RASTER_SQUARES = 48  # of a raster
EACH, GRID, DECLARED = "each", "grid", "declared:"

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Ring = tuple[Floats, Floats]
Flow = tuple[int, int, int]  # part of the origin, part of the destination, records


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Squares by their edges in degrees, from north to south and from west to east, and the names of rows and
    columns."""

    norths: Floats
    easts: Floats

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(_letters(row) for row in range(self.norths.size - 1))

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(str(column + 1) for column in range(self.easts.size - 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Regions:
    """The public parts of one end. `of` gives the part of each position, -1 for those of none;
    `north` and `east` are the middle of a part in degrees, NaN of one that lies nowhere.
    grid: where the parts are squares of one."""

    labels: tuple[str, ...]
    north: Floats
    east: Floats
    of: Callable[[Whole], Whole]
    grid: Grid | None = None


def choices(commute: Commute, domain: Domain) -> dict[str, str]:
    """The ways to divide both ends, and what they are called; never empty, the first is the one to begin
    with."""
    ends = commute.origin, commute.destination
    declared = [set(_declared(domain, end)) for end in ends]
    options = {
        f"{DECLARED}{name}": f"by {name}"
        for name in _declared(domain, ends[0])
        if name in declared[1]
    }
    if all(end.named and len(end.labels) <= MAX_SINGLE_VALUES for end in ends):
        options = {EACH: "each value by itself", **options}
    return options | {GRID: "by squares of a grid"}


def divide(commute: Commute, domain: Domain, choice: str) -> tuple[Regions, Regions]:
    """Parts of the origin and of the destination."""
    ends = commute.origin, commute.destination
    if choice == EACH:
        first, second = (by_value(end) for end in ends)
    elif choice == GRID:
        first, second = (grid(end, box(commute), squares=GRID_SQUARES) for end in ends)
    else:
        name = choice.removeprefix(DECLARED)
        first, second = (_of_values(end, _declared(domain, end)[name]) for end in ends)
    return first, second


def names(
    divided: tuple[Regions, Regions], records: tuple[Whole, Whole]
) -> list[tuple[str, float, float]]:
    """Names of parts with their middles, north and east, for a map: those with most records first. None of
    squares, whose map has them along its sides."""
    named: dict[str, tuple[int, float, float]] = {}
    for part, counts in zip(divided, records, strict=True):
        if part.grid is not None:
            continue
        for label, north, east, count in zip(
            part.labels, part.north.tolist(), part.east.tolist(), counts.tolist(), strict=True
        ):
            if not np.isnan(north) and count >= named.get(label, (0,))[0]:
                named[label] = (count, north, east)
    ordered = sorted(named.items(), key=lambda entry: (-entry[1][0], entry[0]))[:MAX_NAMES]
    return [(shorten(label), north, east) for label, (_, north, east) in ordered]


def matrix(flows: Flows, parts: tuple[Regions, Regions]) -> Whole:
    """Records by part of the origin and part of the destination; those of none are left out."""
    first, second = parts[0].of(flows.origins), parts[1].of(flows.destinations)
    inside = (first >= 0) & (second >= 0)
    shape = len(parts[0].labels), len(parts[1].labels)
    cells = first[inside] * shape[1] + second[inside]
    counts = np.bincount(cells, weights=flows.counts[inside], minlength=shape[0] * shape[1])
    return counts.astype(np.int64).reshape(shape)


def largest(counts: Whole, *, limit: int) -> list[Flow]:
    """The largest flows: part of the origin, part of the destination, records; equal ones in the order of
    parts."""
    flat = counts.ravel()
    occupied = np.flatnonzero(flat > 0)  # of hundreds of thousands few hold any
    order = occupied[np.argsort(-flat[occupied], kind="stable")[:limit]]
    return [(*divmod(int(cell), counts.shape[1]), int(flat[cell])) for cell in order]


def outlines(commute: Commute, domain: Domain) -> list[Ring]:
    """Returns the outlines below a map: around the points of each part of the first declared
    partition, or else around all points, or the box of a place. Rings of latitudes and
    longitudes, closed."""
    rings = []
    for end in (commute.origin, commute.destination):
        if not end.named:
            south, west, north, east = end.box
            rings.append(
                (
                    np.array([south, south, north, north, south]),
                    np.array([west, east, east, west, west]),
                )
            )
            continue
        # Outlines come from public points alone; drawn around records, they would show where
        # these are.
        partition = next(iter(_declared(domain, end).values()), None)
        codes = np.flatnonzero(~np.isnan(end.north))
        part = (
            np.zeros(codes.size, dtype=np.int64)
            if partition is None
            else _numbers(end, partition)[codes]
        )
        for number in np.unique(part):
            inside = codes[part == number]
            rings.append(_convex_hull(end.north[inside], end.east[inside]))
    return _unique_rings([outline for outline in rings if len(outline[0]) > 3])


def _declared(domain: Domain, end: End) -> dict[str, Partition]:
    """Partitions of a column, by name."""
    of = {
        partition.name: partition
        for partition in domain.partitions
        if end.named and partition.column == end.name
    }
    return {
        name: partition for name, partition in of.items() if len(partition.parts) <= MAX_PARTS
    }


def by_value(end: End) -> Regions:
    """Every value of a column by itself."""
    return Regions(
        labels=end.labels, north=end.north, east=end.east, of=lambda positions: positions
    )


def _of_values(end: End, partition: Partition) -> Regions:
    labels, numbers = partition.titles, _numbers(end, partition)
    order = np.argsort(numbers, kind="stable")
    first = np.searchsorted(numbers[order], np.arange(len(labels) + 1))
    middle = [_middle(end, order[first[at] : first[at + 1]]) for at in range(len(labels))]
    return Regions(
        labels=labels,
        north=np.array([north for north, _ in middle]),
        east=np.array([east for _, east in middle]),
        of=lambda positions: numbers[positions],
    )


def _numbers(end: End, partition: Partition) -> Whole:
    """The part of each code; -1 of "other" and missing."""
    number_of = {part: number for number, part in enumerate(partition.parts)}
    numbers = np.full(end.size, -1, dtype=np.int64)
    numbers[: len(partition.of)] = [number_of[part] for part in partition.of]
    return numbers


def _middle(end: End, codes: Whole) -> tuple[float, float]:
    """Returns the mean point of the codes that have one."""
    located = codes[~np.isnan(end.north[codes])]
    if not located.size:
        return float("nan"), float("nan")
    return float(end.north[located].mean()), float(end.east[located].mean())


def box(commute: Commute) -> tuple[float, float, float, float]:
    """South, west, north and east of both ends together, in degrees."""
    boxes = np.array([commute.origin.box, commute.destination.box])
    south, west, north, east = (
        float(degrees) for degrees in (*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0))
    )
    return south, west, north, east


def grid(end: End, around: tuple[float, float, float, float], *, squares: int) -> Regions:
    """Squares of a box, so many along its longer side, named by a letter from north to south and a number
    from west to east."""
    south, west, north, east = around
    flat = max(
        0.05, np.cos(np.radians((south + north) / 2))
    )  # how long a degree of longitude is, of one of latitude
    side = max(north - south, (east - west) * flat, 1e-6) / squares
    rows, columns = (
        max(1, int(np.ceil((north - south) / side))),
        max(1, int(np.ceil((east - west) * flat / side))),
    )

    def of(positions: Whole) -> Whole:
        latitudes, longitudes = end.at(positions)
        located = ~np.isnan(latitudes + longitudes)
        # A point on the southern or eastern edge would fall one square beyond the last.
        row = np.clip(
            ((north - np.where(located, latitudes, north)) / side).astype(np.int64), 0, rows - 1
        )
        column = np.clip(
            ((np.where(located, longitudes, west) - west) * flat / side).astype(np.int64),
            0,
            columns - 1,
        )
        return np.where(located, row * columns + column, -1)

    row, column = np.divmod(np.arange(rows * columns), columns)
    lines = Grid(
        norths=north - np.arange(rows + 1) * side,
        easts=west + np.arange(columns + 1) * side / flat,
    )
    return Regions(
        labels=tuple(a + b for a in lines.row_names for b in lines.column_names),
        grid=lines,
        north=north - (row + 0.5) * side,
        east=west + (column + 0.5) * side / flat,
        of=of,
    )


def _letters(number: int) -> str:
    """A to Z, then AA, AB and so on."""
    more, last = divmod(number, 26)
    return (_letters(more - 1) if more else "") + string.ascii_uppercase[last]


def _convex_hull(north: Floats, east: Floats) -> Ring:
    """The convex hull of points, closed; of fewer than three different ones, those."""
    points = sorted(set(zip(east.tolist(), north.tolist(), strict=True)))
    hull = points if len(points) < 3 else [*_half_hull(points), *_half_hull(points[::-1])]
    closed = [*hull, hull[0]]
    return np.array([y for _, y in closed]), np.array([x for x, _ in closed])


def _half_hull(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """One side of the hull, without its last point (Andrew's monotone chain)."""
    chain: list[tuple[float, float]] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    yield from chain[:-1]


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _unique_rings(rings: Sequence[Ring]) -> list[Ring]:
    """Removes repeated rings, such as those that both ends have."""
    return list(
        {(north.tobytes(), east.tobytes()): (north, east) for north, east in rings}.values()
    )
