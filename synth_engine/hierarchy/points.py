"""Points of a declared box, as Morton codes: the bits of all coordinates, the coarsest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import MAX_SYMBOLS, Codes, Hierarchy, Prefixes
from synth_engine.jit import compiled
from synth_engine.strict_json import JsonObject

BITS = 64
_BLOCK = 1 << 15

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SpatialHierarchy(Hierarchy):
    """Points with one coordinate a column, inside the box from `low` to `high`, cut into 2^`resolution` equal
    parts along each coordinate. `together`: a node is cut along all d of them at once and has 2^d children;
    else along one after another, and has two. A part holds its lower edge, and the last one its upper edge as
    well."""

    kind: ClassVar[str] = "points"
    is_uniform: ClassVar[bool] = True
    is_complete: ClassVar[bool] = True
    component_offset: ClassVar[int] = 1

    low: tuple[float, ...]
    high: tuple[float, ...]
    resolution: int
    together: bool = True

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns):
            self.refuse(
                "points with no coordinate, or with one twice", repair="name each column once"
            )
        if not len(self.axes) == len(self.low) == len(self.high):
            self.refuse(
                "a box with another number of sides than columns",
                repair="give low and high of each column",
            )
        for name, low, high in zip(self.axes, self.low, self.high, strict=True):
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                self.refuse(
                    "a box without area",
                    repair="give finite bounds with low below high",
                    column=name,
                )
        if type(self.resolution) is not int or self.resolution < 1:
            self.refuse(
                "the resolution is no whole number from 1 on",
                repair="8 halvings of each side are common",
            )
        if self.resolution * self.dimensions > BITS:
            self.refuse(
                f"points this fine have codes of more than {BITS} bits",
                repair=f"halve each side at most {BITS // self.dimensions} times",
            )
        if self.dimensions > 8:
            self.refuse(
                "points with more than 8 coordinates", repair="model the others by themselves"
            )

    @property
    def axes(self) -> tuple[str, ...]:
        """The column of each coordinate."""
        return self.columns

    @property
    def dimensions(self) -> int:
        return len(self.axes)

    @property
    def depth(self) -> int:
        return self.resolution if self.together else self.resolution * self.dimensions

    @property
    def _step(self) -> int:
        """Bits of a symbol."""
        return self.dimensions if self.together else 1

    def symbols(self, level: int) -> npt.NDArray[np.int64]:  # noqa: ARG002 - the same everywhere
        return np.arange(1 << self._step)

    @property
    def joint_halving(self) -> bool:
        return self.together

    @property
    def levels_per_halving(self) -> int:
        return 1 if self.together else self.dimensions

    @property
    def max_branching(self) -> int:
        return 1 << self._step

    def nodes_per_value(self, depth: int, *, values: int) -> float:  # noqa: ARG002 - cells alone decide
        return 2.0 ** sum(self.halvings(depth, axis) for axis in range(1, self.dimensions))

    def divides_beyond(self, prefixes: Prefixes) -> npt.NDArray[np.bool_]:
        return self.divides(prefixes, self.depth)

    def require_component(self) -> None:
        if self.max_branching > MAX_SYMBOLS:
            self.refuse(
                f"cells with more than {MAX_SYMBOLS} parts beside classes",
                repair="halve one side after another",
            )

    def component_path(self, codes: Codes) -> npt.NDArray[np.uint8]:
        symbols = codes[:, None] >> self._shifts & np.uint64(self.max_branching - 1)
        return symbols.astype(np.uint8) + np.uint8(1)

    def component_code(self, path: npt.NDArray[np.uint8]) -> Codes:
        symbols = np.maximum(path, 1).astype(np.uint64) - np.uint64(1)
        codes: Codes = np.bitwise_or.reduce(symbols << self._shifts, axis=1)
        return codes

    @property
    def _shifts(self) -> Codes:
        """Returns how far the bits of each symbol are from the end of a code."""
        return np.arange(self.depth - 1, -1, -1, dtype=np.uint64) * np.uint64(self._step)

    def root(self) -> Prefixes:
        return np.zeros(1, dtype=np.uint64)

    def below(self, prefixes: Prefixes, level: int) -> Prefixes:
        shift = np.uint64((self.depth - level - 1) * self._step)
        children: Prefixes = np.asarray(prefixes)[:, None] + (
            self.symbols(level).astype(np.uint64) << shift
        )
        return children

    def prefix(self, codes: Codes, level: int) -> Prefixes:
        shift = (self.depth - level) * self._step
        codes = np.asarray(codes, dtype=np.uint64)
        if shift >= BITS:  # the processor shifts by a remainder of 64
            return np.zeros_like(codes)
        return codes >> np.uint64(shift) << np.uint64(shift)

    def encode(self, points: Floats) -> Codes:
        """Codes of points, shape (n, d). Errors: DomainError for a point that the box does not hold."""
        points = np.asarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.dimensions:
            self.refuse(
                "points with another number of coordinates than columns",
                repair="give one for each column",
            )
        positions = []
        for name, low, high, column in zip(
            self.axes, self.low, self.high, points.T, strict=True
        ):
            if not np.isfinite(column).all():
                self.refuse(
                    "a coordinate that is no finite number",
                    repair="leave such records out",
                    column=name,
                )
            if ((column < low) | (column > high)).any():
                self.refuse(
                    "a point outside the box",
                    repair="widen the box, or look whether axes are swapped",
                    column=name,
                )
            parts = np.floor((column - low) / (high - low) * self.parts)
            positions.append(np.minimum(parts, self.parts - 1).astype(np.uint64))
        codes = np.zeros(len(points), dtype=np.uint64)
        for axis, column in enumerate(positions):
            codes |= self.spread(column, axis)
        return codes

    def decode(self, codes: Codes) -> Floats:
        """The middles of the smallest cells, shape (n, d)."""
        low, high = self.bounds(codes, self.depth)
        middle: Floats = (low + high) / 2
        return middle

    def bounds(self, prefixes: Prefixes, level: int) -> tuple[Floats, Floats]:
        """The lower and the upper corner of nodes of that depth, shape (n, d) each."""
        low, high = np.array(self.low), np.array(self.high)
        first = self.positions(prefixes).astype(np.float64)
        sides = np.array(
            [self.parts >> self.halvings(level, axis) for axis in range(self.dimensions)]
        )
        width = (high - low) / self.parts
        # Rounding must not keep the last cell from reaching the edge of the box.
        upper = np.where(first + sides >= self.parts, high, low + (first + sides) * width)
        return low + first * width, upper

    def holds(self, prefixes: Prefixes, level: int, points: Floats) -> npt.NDArray[np.bool_]:
        """Returns whether the i-th node of that depth holds the i-th point."""
        own = self.prefix(self.encode(points), level)
        held: npt.NDArray[np.bool_] = own == np.asarray(prefixes)
        return held

    def halvings(self, level: int, axis: int) -> int:
        """Returns how often a node of that depth has been cut along a coordinate."""
        # Cut one after another, coordinate 0 has its first turn at depth 1, coordinate 1 at
        # depth 2.
        return (
            level if self.together else (level + self.dimensions - 1 - axis) // self.dimensions
        )

    @property
    def parts(self) -> int:
        return 1 << self.resolution

    def looked_up(self, numbers: Sequence[npt.NDArray[Any]], tables: Sequence[Codes]) -> Codes:
        """Codes of records: all bits that tables have for the numbers of a record."""
        codes = np.empty(len(numbers[0]), dtype=np.uint64)
        for start in range(0, codes.size, _BLOCK):  # what fits a processor's cache
            block = slice(start, start + _BLOCK)
            codes[block] = 0
            for table, column in zip(tables, numbers, strict=True):
                if not _add_bits(codes[block], table, column[block]):
                    raise IndexError("a number without a part")
        return codes

    def spread(self, parts: npt.NDArray[Any], axis: int) -> Codes:
        """Numbers of parts of one coordinate with their bits where the codes have them."""
        parts = parts.astype(np.uint64)
        spread = np.zeros_like(parts)
        for bit in range(self.resolution):
            # Morton order: bit i of every coordinate before bit i - 1 of any, so a prefix of
            # the code is a cell.
            place = np.uint64(bit * self.dimensions + self.dimensions - 1 - axis)
            spread |= (parts >> np.uint64(bit) & np.uint64(1)) << place
        return spread

    def positions(self, codes: Codes) -> npt.NDArray[np.int64]:
        """The part of each coordinate that codes lie in, shape (n, d)."""
        codes = np.asarray(codes, dtype=np.uint64)
        positions = np.zeros((codes.size, self.dimensions), dtype=np.int64)
        for bit in range(self.resolution):
            for axis in range(self.dimensions):
                shift = np.uint64(bit * self.dimensions + self.dimensions - 1 - axis)
                positions[:, axis] |= (codes >> shift & np.uint64(1)).astype(np.int64) << bit
        return positions

    def to_json(self) -> JsonObject:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "low": list(self.low),
            "high": list(self.high),
            "resolution": self.resolution,
            "together": self.together,
        }


@compiled
def _add_bits(codes: Codes, table: Codes, numbers: npt.NDArray[Any]) -> bool:
    """False: a number is not one of the table's, and codes mean nothing."""
    for at in range(codes.size):
        number = numbers[at]
        if not 0 <= number < table.size:
            return False
        codes[at] |= table[number]
    return True
