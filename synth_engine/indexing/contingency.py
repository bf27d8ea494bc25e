"""Counts of the records in each cell of many contingency tables at once, from columns of codes.

A pure function of its arguments: it knows no description, no file and no noise. The room counts real records
with it, and the comparison synthetic ones. Counts are whole numbers, so that neither the order of records nor
the number of threads changes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from synth_engine.indexing import count_loops
from synth_engine.threads import Pool

Codes = NDArray[Any]
Table = NDArray[np.int64]

_CHUNK_BYTES = 1 << 20  # codes that are collected for the loop: a second-level cache holds them
_MOST_IN_CHUNK, _LEAST_IN_CHUNK = 1 << 16, 1 << 13
_COPIED_CELLS = 1 << 10  # the most cells of a table that is counted in copies
_GROUP_CELLS = 1 << 12  # the most cells of a larger table from which several tables are summed
_GROUP_RECORDS = 1 << 18  # below it, finding larger tables costs more than it saves
_GROUPS_TRIED = 32  # of the larger tables, the last ones
_THREAD_RECORDS = 1 << 20  # below it, starting a thread costs more than it saves
_THREAD_CELLS = 1 << 22  # of the partial tables of all threads together


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of tables. size: the number of its codes, or of its bins. bins: the bin of each code, below
    `size`, where codes are merged."""

    size: int
    bins: NDArray[np.integer[Any]] | None = None

    def __post_init__(self) -> None:
        bins = self.bins
        if self.size < 1 or (bins is not None and not _within(bins, self.size)):
            raise ValueError("an axis has at least one code, and its bins lie below its size")

    @property
    def codes(self) -> int:
        """The number of codes of its column."""
        return self.size if self.bins is None else self.bins.size


class _TableLayout(NamedTuple):
    """What the compiled loop needs to know of the tables; see `count_loops.add_records`."""

    axes: NDArray[np.int64]
    strides: NDArray[np.int64]
    tables: NDArray[np.int64]
    places: int


@dataclass(frozen=True, eq=False)
class CountPlan:
    """Which tables are counted. tables: the axes of each, by their index; () is the number of records."""

    axes: tuple[Axis, ...]
    tables: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if any(len(set(table)) < len(table) for table in self.tables):
            raise ValueError("a table has each axis once")

    def cells(self, table: Iterable[int]) -> int:
        return prod(self.axes[axis].size for axis in table)

    def shape(self, table: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.axes[axis].size for axis in table)

    @cached_property
    def groups(self) -> tuple[CountPlan, tuple[int, ...]]:
        """A plan of fewer, larger tables, and for each table the index of a larger one with all its axes,
        from which it is summed: an increment costs as much in a table of a few thousand cells as in a small
        one."""
        groups: list[frozenset[int]] = []
        homes = [0] * len(self.tables)
        # Large tables first: small ones then often lie within them.
        order = sorted(range(len(homes)), key=lambda table: -self.cells(self.tables[table]))
        for table in order:
            axes = frozenset(self.tables[table])
            homes[table] = self._home(axes, groups)
        tables = tuple(tuple(sorted(group)) for group in groups)
        return CountPlan(self.axes, tables), tuple(homes)

    def _home(self, axes: frozenset[int], groups: list[frozenset[int]]) -> int:
        """The index of the group that these axes enlarge least; of a new one, where all would be too
        large."""
        least, home = 0, None
        for number in range(max(0, len(groups) - _GROUPS_TRIED), len(groups)):
            if axes <= groups[number]:
                return number
            added = self.cells(axes - groups[number])
            if self.cells(groups[number]) * added <= _GROUP_CELLS and (
                home is None or added < least
            ):
                least, home = added, number
        if home is None:
            groups.append(axes)
            return len(groups) - 1
        groups[home] |= axes
        return home

    @cached_property
    def layout(self) -> _TableLayout:
        longest = max((len(table) for table in self.tables), default=0)
        axes = np.full((len(self.tables), longest), -1, dtype=np.int64)
        strides = np.zeros_like(axes)
        tables = np.empty((len(self.tables), 3), dtype=np.int64)
        place = 0
        for row, table in enumerate(self.tables):
            # All codes of an axis of one code are 0: it moves no record.
            moving = [axis for axis in table if self.axes[axis].size > 1]
            sizes = [self.axes[axis].size for axis in moving]
            axes[row, : len(moving)] = moving
            strides[row, : len(moving)] = [prod(sizes[k + 1 :]) for k in range(len(sizes))]
            copies = 4 if prod(sizes) <= _COPIED_CELLS else 1
            tables[row] = place, prod(sizes), copies
            place += prod(sizes) * copies
        return _TableLayout(axes, strides, tables, place)


def count(
    columns: Sequence[Codes], plan: CountPlan, *, records: int, threads: int | None = None
) -> list[Table]:
    """Count the records in each cell of every table of the plan: int64, with one axis for each axis of the
    table.

    columns: codes of each axis of the plan, integers, shape (records,); not read for an axis of one code.
    threads: at most so many; by default as many as there are processors and records for. Memory: the tables,
    and a megabyte a thread. Raises ValueError for a code that is not below the number of codes of its axis.
    """
    if len(columns) != len(plan.axes):
        raise ValueError("a plan has one column for each axis")
    most = os.cpu_count() or 1 if threads is None else threads
    if records < _GROUP_RECORDS or len(plan.tables) < 2:
        return _tables(columns, plan, records=records, threads=most)
    wider, homes = plan.groups
    tables = _tables(columns, wider, records=records, threads=most)
    return [
        _summed(tables[home], wider.tables[home], table)
        for table, home in zip(plan.tables, homes, strict=True)
    ]


def histogram(codes: Codes, size: int) -> Table:
    """Count how often each of the codes 0 … size-1 occurs. Raises ValueError for another code."""
    if size == 0 and not len(codes):
        return np.zeros(0, dtype=np.int64)
    (table,) = count([codes], CountPlan((Axis(size),), ((0,),)), records=len(codes))
    return table


def merge(table: Table, bins: Sequence[NDArray[np.integer[Any]] | None]) -> Table:
    """The table that would have been counted with bins along its axes, from one of codes. bins: for each axis
    the bin of each code, None where its codes stay. Counts are summed in whole numbers, so that both are the
    same."""
    for axis, along in enumerate(bins):
        if along is not None:
            codes = np.moveaxis(table, axis, 0)
            sums = np.zeros((int(along.max()) + 1, *codes.shape[1:]), dtype=np.int64)
            np.add.at(sums, along, codes)
            table = np.moveaxis(sums, 0, axis)
    return np.array(table, order="C")  # never the table that was given


def warm_up() -> None:
    """Load the loop for each width of codes, or compile it where no earlier process left it on disk."""
    for size in (2, 1 << 9, 1 << 17):
        histogram(np.zeros(1, dtype=np.uint8), size)


def _summed(counts: Table, axes: tuple[int, ...], table: tuple[int, ...]) -> Table:
    """Sum a table over the axes that another one does not have."""
    others = tuple(place for place, axis in enumerate(axes) if axis not in table)
    own = np.asarray(counts.sum(axis=others))
    ordered = sorted(table)
    return own.transpose([ordered.index(axis) for axis in table]).copy()


def _tables(
    columns: Sequence[Codes], plan: CountPlan, *, records: int, threads: int
) -> list[Table]:
    fitting = _THREAD_CELLS // max(plan.layout.places, 1)
    workers = max(1, min(threads, records // _THREAD_RECORDS, fitting))
    if workers == 1:
        return _of_places(_counted(columns, plan, start=0, stop=records), plan)
    ends = [records * worker // workers for worker in range(workers + 1)]
    # Threads of this call alone: a process that is forked later inherits none of them.
    with Pool(workers) as pool:
        parts = pool.map(
            lambda start, stop: _counted(columns, plan, start=start, stop=stop),
            ends[:-1],
            ends[1:],
        )
        return _of_places(sum(parts, start=np.zeros(1, dtype=np.int64)), plan)


def _counted(columns: Sequence[Codes], plan: CountPlan, *, start: int, stop: int) -> Table:
    """Count a range of records: the tables with their copies, in one row."""
    axes, strides, tables, places = plan.layout
    counts = np.zeros(places, dtype=np.int64)
    used = sorted({axis for table in plan.tables for axis in table if plan.axes[axis].size > 1})
    size = max((plan.axes[axis].size for axis in used), default=1)
    dtype = np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.int64
    width = max(len(used), 1) * np.dtype(dtype).itemsize
    fitting = _CHUNK_BYTES // width // _LEAST_IN_CHUNK * _LEAST_IN_CHUNK
    chunk = min(max(fitting, _LEAST_IN_CHUNK), _MOST_IN_CHUNK)
    codes = np.zeros((len(plan.axes), min(chunk, stop - start)), dtype=dtype)
    for begin in range(start, stop, chunk):
        end = min(begin + chunk, stop)
        for axis in used:
            codes[axis, : end - begin] = _codes(columns[axis][begin:end], plan.axes[axis])
        count_loops.add_records(codes[:, : end - begin], axes, strides, tables, counts)
    return counts


def _codes(column: Codes, axis: Axis) -> Codes:
    # The compiled loop writes where the codes say, so none of them may lie outside.
    if not _within(column, axis.codes):
        raise ValueError("a code lies outside its axis")
    return column if axis.bins is None else axis.bins[column]


def _within(codes: Codes, size: int) -> bool:
    if not codes.size:
        return True
    return int(codes.max()) < size and (codes.dtype.kind == "u" or int(codes.min()) >= 0)


def _of_places(counts: Table, plan: CountPlan) -> list[Table]:
    """Return the tables of a row of counts, their copies added up."""
    tables = []
    for table, (first, cells, copies) in zip(
        plan.tables, plan.layout.tables.tolist(), strict=True
    ):
        own = counts[first : first + cells * copies].reshape(copies, cells)
        tables.append(own.sum(axis=0).reshape(plan.shape(table)))
    return tables
