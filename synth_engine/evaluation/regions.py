"""Public parts of an area, by which commutes are added up: each value by itself, the parts of a declared partition, or the
squares of a grid like those of an atlas."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec.commutes import Commute, End
from synth_engine.domain import Domain
from synth_engine.domain.partitions import Partition
from synth_engine.evaluation.commutes import Flows

EACH_UP_TO = 80  # values of a column, to be parts by themselves
PARTS_UP_TO = 1000  # of a declared partition: origins by destinations are one table
SQUARES = 10  # of a grid, along the longer side of the area
FINE = 48  # of a raster
EACH, GRID, DECLARED = "each", "grid", "declared:"

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Ring = tuple[Floats, Floats]
Flow = tuple[int, int, int]  # part of the origin, part of the destination, records


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """Of one end. `of` gives the part of each position, -1 for those of none; `north` and `east` are the middle of a part in
    degrees, NaN of one that lies nowhere."""

    labels: tuple[str, ...]
    north: Floats
    east: Floats
    of: Callable[[Whole], Whole]


def choices(commute: Commute, domain: Domain) -> dict[str, str]:
    """The ways to divide both ends, and what they are called; never empty, the first is the one to begin with."""
    ends = commute.origin, commute.destination
    declared = [set(_declared(domain, end)) for end in ends]
    found = {
        f"{DECLARED}{name}": f"by {name}"
        for name in _declared(domain, ends[0])
        if name in declared[1]
    }
    if all(end.named and len(end.labels) <= EACH_UP_TO for end in ends):
        found = {EACH: "each value by itself", **found}
    return found | {GRID: "by squares of a grid"}


def divided(commute: Commute, domain: Domain, choice: str) -> tuple[Parts, Parts]:
    """Parts of the origin and of the destination."""
    ends = commute.origin, commute.destination
    if choice == EACH:
        first, second = (each(end) for end in ends)
    elif choice == GRID:
        first, second = (grid(end, box(commute), squares=SQUARES) for end in ends)
    else:
        name = choice.removeprefix(DECLARED)
        first, second = (_of_values(end, _declared(domain, end)[name]) for end in ends)
    return first, second


def matrix(flows: Flows, parts: tuple[Parts, Parts]) -> Whole:
    """Records by part of the origin and part of the destination; those of none are left out."""
    first, second = parts[0].of(flows.origins), parts[1].of(flows.destinations)
    known = (first >= 0) & (second >= 0)
    shape = len(parts[0].labels), len(parts[1].labels)
    cells = first[known] * shape[1] + second[known]
    counted = np.bincount(cells, weights=flows.counts[known], minlength=shape[0] * shape[1])
    return counted.astype(np.int64).reshape(shape)


def largest(counts: Whole, *, most: int) -> list[Flow]:
    """The largest flows: part of the origin, part of the destination, records; equal ones in the order of parts."""
    flat = counts.ravel()
    held = np.flatnonzero(flat > 0)  # of hundreds of thousands few hold any
    order = held[np.argsort(-flat[held], kind="stable")[:most]]
    return [(*divmod(int(cell), counts.shape[1]), int(flat[cell])) for cell in order]


def outlines(commute: Commute, domain: Domain) -> list[Ring]:
    """What is drawn below a map: around the points of each part of the first declared partition, or else around all points,
    or the box of a place. Rings of latitudes and longitudes, closed."""
    found = []
    for end in (commute.origin, commute.destination):
        if not end.named:
            south, west, north, east = end.box
            found.append(
                (
                    np.array([south, south, north, north, south]),
                    np.array([west, east, east, west, west]),
                )
            )
            continue
        partition = next(iter(_declared(domain, end).values()), None)
        codes = np.flatnonzero(~np.isnan(end.north))
        part = (
            np.zeros(codes.size, dtype=np.int64)
            if partition is None
            else _numbers(end, partition)[codes]
        )
        for number in np.unique(part):
            inside = codes[part == number]
            found.append(_around(end.north[inside], end.east[inside]))
    return _different([ring for ring in found if len(ring[0]) > 3])


def _declared(domain: Domain, end: End) -> dict[str, Partition]:
    """Partitions of a column, by name."""
    of = {one.name: one for one in domain.partitions if end.named and one.column == end.name}
    return {name: one for name, one in of.items() if len(one.parts) <= PARTS_UP_TO}


def each(end: End) -> Parts:
    """Every value of a column by itself."""
    return Parts(
        labels=end.labels, north=end.north, east=end.east, of=lambda positions: positions
    )


def _of_values(end: End, partition: Partition) -> Parts:
    labels, numbers = partition.titles, _numbers(end, partition)
    order = np.argsort(numbers, kind="stable")
    first = np.searchsorted(numbers[order], np.arange(len(labels) + 1))
    middle = [_middle(end, order[first[at] : first[at + 1]]) for at in range(len(labels))]
    return Parts(
        labels=labels,
        north=np.array([north for north, _ in middle]),
        east=np.array([east for _, east in middle]),
        of=lambda positions: numbers[positions],
    )


def _numbers(end: End, partition: Partition) -> Whole:
    """The part of each code; -1 of "other" and missing."""
    place = {part: number for number, part in enumerate(partition.parts)}
    found = np.full(end.size, -1, dtype=np.int64)
    found[: len(partition.of)] = [place[part] for part in partition.of]
    return found


def _middle(end: End, codes: Whole) -> tuple[float, float]:
    """Of the codes that lie somewhere."""
    known = codes[~np.isnan(end.north[codes])]
    if not known.size:
        return float("nan"), float("nan")
    return float(end.north[known].mean()), float(end.east[known].mean())


def box(commute: Commute) -> tuple[float, float, float, float]:
    """South, west, north and east of both ends together, in degrees."""
    boxes = np.array([commute.origin.box, commute.destination.box])
    south, west, north, east = (
        float(each) for each in (*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0))
    )
    return south, west, north, east


def grid(end: End, around: tuple[float, float, float, float], *, squares: int) -> Parts:
    """Squares of a box, so many along its longer side, named by a letter from north to south and a number from west to east."""
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
        known = ~np.isnan(latitudes + longitudes)
        row = np.clip(
            ((north - np.where(known, latitudes, north)) / side).astype(np.int64), 0, rows - 1
        )
        column = np.clip(
            ((np.where(known, longitudes, west) - west) * flat / side).astype(np.int64),
            0,
            columns - 1,
        )
        return np.where(known, row * columns + column, -1)

    row, column = np.divmod(np.arange(rows * columns), columns)
    return Parts(
        labels=tuple(
            f"{_letters(a)}{b + 1}" for a, b in zip(row.tolist(), column.tolist(), strict=True)
        ),
        north=north - (row + 0.5) * side,
        east=west + (column + 0.5) * side / flat,
        of=of,
    )


def _letters(number: int) -> str:
    """A to Z, then AA, AB and so on."""
    more, last = divmod(number, 26)
    return (_letters(more - 1) if more else "") + string.ascii_uppercase[last]


def _around(north: Floats, east: Floats) -> Ring:
    """The convex hull of points, closed; of fewer than three different ones, those."""
    points = sorted(set(zip(east.tolist(), north.tolist(), strict=True)))
    hull = points if len(points) < 3 else [*_half(points), *_half(points[::-1])]
    closed = [*hull, hull[0]]
    return np.array([y for _, y in closed]), np.array([x for x, _ in closed])


def _half(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """One side of the hull, without its last point (Andrew's monotone chain)."""
    chain: list[tuple[float, float]] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    yield from chain[:-1]


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _different(rings: Sequence[Ring]) -> list[Ring]:
    """Without those that both ends have."""
    return list(
        {(north.tobytes(), east.tobytes()): (north, east) for north, east in rings}.values()
    )
