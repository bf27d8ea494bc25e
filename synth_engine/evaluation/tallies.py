"""Tallies: contingency tables of one data set, all that a comparison sees of it.

Those of real rows are counted in the room and handed over with `private=False`; those of a synthetic table, or of
noisy answers, are post-processing and carry `private=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation.trees import OccupiedCells

Clique = tuple[str, ...]
Pair = tuple[str, str]
MAX_DENSE_CELLS = (
    2**16
)  # cells: beyond it a table is compared on its occupied cells, which are fewer


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """A contingency table kept as its occupied cells: `cells` are their places in row-major order, ascending."""

    shape: tuple[int, ...]
    cells: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls, counts: NDArray[np.int64], *, shape: tuple[int, ...] | None = None
    ) -> ContingencyTable:
        """From an array of counts, flat ones with their shape. Counts of a noisy answer may be negative."""
        flat = counts.ravel()
        cells = np.flatnonzero(flat)
        return cls(shape or counts.shape, cells, flat[cells].astype(np.int64))

    @property
    def size(self) -> int:
        return prod(self.shape)

    def dense(self) -> NDArray[np.int64]:
        """The whole table, with its zeros."""
        full = np.zeros(self.size, dtype=np.int64)
        full[self.cells] = self.counts
        return full.reshape(self.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tallies:
    """The tables of one data set of `n` records, by clique (names in the order of the domain). Arrays given as
    `counts` have one axis an attribute. `distances`: of two places of a record, in the bins of `codec.places`.
    `commutes`: of two ends, by the cells of `codec.commutes`. `occupied`: by the cells of the hierarchies of
    `trees.hierarchies`.
    `breaking`: records that break each declared constraint, and last any of them; empty if not counted.
    `group_sizes`: persons with 1, 2, … records; None where persons are not told apart. `private` is True only if no more than released noisy answers went in."""

    private: bool
    n: int
    counts: InitVar[Mapping[Clique, NDArray[np.int64] | ContingencyTable]]
    distances: Mapping[Pair, NDArray[np.int64]] = field(default_factory=dict, repr=False)
    occupied: Sequence[OccupiedCells] = field(default=(), repr=False)
    commutes: Mapping[Pair, ContingencyTable] = field(default_factory=dict, repr=False)
    breaking: tuple[int, ...] = ()
    group_sizes: NDArray[np.int64] | None = None
    tables: dict[Clique, ContingencyTable] = field(init=False, repr=False)

    def __post_init__(
        self, counts: Mapping[Clique, NDArray[np.int64] | ContingencyTable]
    ) -> None:
        tables = {
            c: t if isinstance(t, ContingencyTable) else ContingencyTable.of(np.asarray(t))
            for c, t in counts.items()
        }
        object.__setattr__(self, "tables", tables)

    def __getitem__(self, clique: Clique) -> ContingencyTable:
        return self.tables[clique]

    def __contains__(self, clique: Clique) -> bool:
        return clique in self.tables

    def __iter__(self) -> Iterator[Clique]:
        return iter(self.tables)


def gather(
    cliques: Iterable[Clique],
    count: Callable[[Clique], NDArray[np.int64]],
    *,
    private: bool,
    n: int,
    distances: Mapping[Pair, NDArray[np.int64]] | None = None,
    occupied: Sequence[OccupiedCells] = (),
    commutes: Mapping[Pair, ContingencyTable] | None = None,
    breaking: tuple[int, ...] = (),
    group_sizes: NDArray[np.int64] | None = None,
) -> Tallies:
    """Counts clique after clique and keeps only occupied cells, so that large tables are in memory one at a time."""
    tables = {clique: ContingencyTable.of(count(clique)) for clique in cliques}
    return Tallies(
        private=private,
        n=n,
        counts=tables,
        distances=distances or {},
        occupied=occupied,
        commutes=commutes or {},
        breaking=breaking,
        group_sizes=group_sizes,
    )


def from_codes(
    codes: Mapping[str, NDArray[Any]],
    *,
    sizes: Mapping[str, int],
    cliques: Iterable[Clique],
    private: bool = True,
    distances: Mapping[Pair, NDArray[np.int64]] | None = None,
    occupied: Sequence[OccupiedCells] = (),
    commutes: Mapping[Pair, ContingencyTable] | None = None,
    breaking: tuple[int, ...] = (),
    group_sizes: NDArray[np.int64] | None = None,
) -> Tallies:
    """Tallies of an encoded table: one array of codes a column, with the number of codes of each. For synthetic
    tables; rows of a real one are counted in the room alone."""
    columns = {name: np.ascontiguousarray(codes[name], dtype=np.int64) for name in sizes}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise ValueError("columns of different lengths")

    def count(clique: Clique) -> NDArray[np.int64]:
        shape = tuple(sizes[name] for name in clique)
        cell = reduce(
            lambda place, name: place * sizes[name] + columns[name],
            clique[1:],
            columns[clique[0]],
        )
        return np.bincount(cell, minlength=prod(shape)).reshape(shape)

    return gather(
        cliques,
        count,
        private=private,
        n=lengths.pop(),
        distances=distances,
        occupied=occupied,
        commutes=commutes,
        breaking=breaking,
        group_sizes=group_sizes,
    )


def align(
    first: ContingencyTable, second: ContingencyTable
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The counts of two tables of one shape, cell against cell; cells empty in both may be left out."""
    if first.shape != second.shape:
        raise ValueError("tables of different shapes")
    if first.size <= MAX_DENSE_CELLS:
        return first.dense().ravel(), second.dense().ravel()
    union = np.union1d(first.cells, second.cells)
    return _spread(first, union), _spread(second, union)


def _spread(table: ContingencyTable, union: NDArray[np.int64]) -> NDArray[np.int64]:
    counts = np.zeros(len(union), dtype=np.int64)
    counts[np.searchsorted(union, table.cells)] = table.counts
    return counts
