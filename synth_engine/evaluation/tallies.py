"""Tallies: contingency tables of one data set, all that a comparison sees of it.

Those of real rows are counted in the room and handed over with `private=False`; those of a synthetic table,
or of noisy answers, are post-processing and carry `private=True`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec import RawColumn, RawPairs
from synth_engine.constraints import counting
from synth_engine.domain import Domain
from synth_engine.evaluation import ascending
from synth_engine.evaluation.trees import OccupiedCells
from synth_engine.hierarchy import Codes, Hierarchy
from synth_engine.indexing import occupied as cells
from synth_engine.indexing import places, prefixes
from synth_engine.indexing.commutes import Commute
from synth_engine.indexing.contingency import Axis, CountPlan, count

Clique = tuple[str, ...]
Pair = tuple[str, str]
Integers = NDArray[np.signedinteger[Any]]
MAX_DENSE_CELLS = (
    2**16
)  # cells: beyond it a table is compared on its occupied cells, which are fewer
_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """A contingency table kept as its occupied cells: `cells` are their places in row-major order, ascending.
    Both arrays may be of 32 bits where that holds them: a wide table has hundreds of them."""

    shape: tuple[int, ...]
    cells: Integers
    counts: Integers

    @classmethod
    def of(
        cls, counts: NDArray[np.int64], *, shape: tuple[int, ...] | None = None
    ) -> ContingencyTable:
        """Makes the table of an array of counts, flat ones with their shape. Counts of a noisy
        answer may be negative."""
        flat = counts.ravel()
        cells = np.flatnonzero(flat)
        return cls(shape or counts.shape, cells, flat[cells].astype(np.int64)).packed()

    def packed(self) -> ContingencyTable:
        """The same table in as few bits as hold it."""
        return ContingencyTable(self.shape, _narrow(self.cells), _narrow(self.counts))

    @property
    def size(self) -> int:
        return prod(self.shape)

    def dense(self) -> NDArray[np.int64]:
        """The whole table, with its zeros."""
        full = np.zeros(self.size, dtype=np.int64)
        full[self.cells] = self.counts
        return full.reshape(self.shape)


class TallySource(Protocol):
    """A table that is counted: rows in the room, or the codes of a synthetic table.

    Counts of real rows are exact and therefore confidential: their tallies are not private.
    """

    @property
    def domain(self) -> Domain:
        """Returns the public description of the table."""

    @property
    def private(self) -> bool:
        """Returns whether nothing but released noisy answers went in."""

    @property
    def records(self) -> int:
        """The number of records."""

    def contingency(self, clique: Clique) -> NDArray[np.int64]:
        """Records in each cell, one axis for each attribute of the clique."""

    def occupied_cells(self, clique: Clique) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells of a clique that hold records, by their place in row-major order, and the records in
        each."""

    def distances(self, pair: Pair) -> NDArray[np.int64]:
        """Records by the distance of two places, in the bins of `indexing.places`; last, those that lack a
        place."""

    def commutes(self, commute: Commute) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells of a commute that occur, and the records in each."""

    def occupied(self, hierarchy: Hierarchy) -> tuple[Codes, NDArray[np.int64]]:
        """The smallest cells of a hierarchy that hold records, increasing, and how many."""

    def breaking(self) -> tuple[int, ...]:
        """Records that break each declared constraint, and last any of them; empty without constraints."""

    def group_sizes(self) -> NDArray[np.int64] | None:
        """Persons with 1, 2, … records; None where the table does not say to whom records belong."""

    def texts(self) -> Sequence[OccupiedCells]:
        """Records by text, for each column of texts that the model of a release generates."""

    def raw_columns(self) -> Mapping[str, RawColumn]:
        """Counts of uncoded cells by column; none where only codes are known."""

    def raw_pairs(self) -> RawPairs | None:
        """Figures of the uncoded cells of two columns; None where only codes are known."""


@dataclass(frozen=True, kw_only=True)
class CodedTable:
    """A synthetic table: one array of codes for each column. `sizes_of_groups` and `of_texts` are counted
    from its model, `of_values` and `of_pairs` from the values that it writes."""

    codes: Mapping[str, NDArray[Any]]
    domain: Domain
    private: bool = True
    sizes_of_groups: NDArray[np.int64] | None = None
    of_texts: Sequence[OccupiedCells] = ()
    of_values: Mapping[str, RawColumn] = field(default_factory=dict, repr=False)
    of_pairs: RawPairs | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len({len(self.codes[name]) for name in self.domain.names}) != 1:
            raise ValueError("columns of different lengths")

    @property
    def records(self) -> int:
        return len(self.codes[self.domain.names[0]])

    def contingency(self, clique: Clique) -> NDArray[np.int64]:
        plan = CountPlan(
            tuple(map(Axis, self.domain.shape(clique))), (tuple(range(len(clique))),)
        )
        (table,) = count([self.codes[name] for name in clique], plan, records=self.records)
        return table

    def occupied_cells(self, clique: Clique) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return cells.occupied_cells(self.codes.__getitem__, clique, self.domain.shape(clique))

    def distances(self, pair: Pair) -> NDArray[np.int64]:
        return places.histogram(self.codes.__getitem__, domain=self.domain, pair=pair)

    def commutes(self, commute: Commute) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return commute.tally(self.codes.__getitem__)

    def occupied(self, hierarchy: Hierarchy) -> tuple[Codes, NDArray[np.int64]]:
        # Records without a place lie in no cell; left in, they would be counted where nobody
        # is.
        leaves = prefixes.of_codes(hierarchy, self.codes, self.domain)
        outside = prefixes.nowhere(hierarchy, self.codes, self.domain)
        return np.unique(leaves if outside is None else leaves[~outside], return_counts=True)

    def breaking(self) -> tuple[int, ...]:
        return counting.count_violations(self.codes.__getitem__, domain=self.domain)

    def group_sizes(self) -> NDArray[np.int64] | None:
        return self.sizes_of_groups

    def texts(self) -> Sequence[OccupiedCells]:
        return self.of_texts

    def raw_columns(self) -> Mapping[str, RawColumn]:
        return self.of_values

    def raw_pairs(self) -> RawPairs | None:
        return self.of_pairs


@dataclass(frozen=True, kw_only=True, eq=False)
class Tallies:
    """The tables of one data set of `n` records.

    `counts`: by clique, names in the order of the domain; arrays have one axis for each attribute.
    `figures`: what each figure counted besides, by the name of its field in a report.
    `private` is True only if nothing but released noisy answers went in.
    """

    private: bool
    n: int
    counts: InitVar[Mapping[Clique, NDArray[np.int64] | ContingencyTable]]
    figures: Mapping[str, Any] = field(default_factory=dict, repr=False)
    tables: dict[Clique, ContingencyTable] = field(init=False, repr=False)

    def __post_init__(
        self, counts: Mapping[Clique, NDArray[np.int64] | ContingencyTable]
    ) -> None:
        # Only occupied cells are stored: the dense pairs and triples of a wide table do not fit
        # in memory together.
        tables = {
            clique: table
            if isinstance(table, ContingencyTable)
            else ContingencyTable.of(np.asarray(table))
            for clique, table in counts.items()
        }
        object.__setattr__(self, "tables", tables)

    def __getitem__(self, clique: Clique) -> ContingencyTable:
        return self.tables[clique]

    def __contains__(self, clique: Clique) -> bool:
        return clique in self.tables

    def __iter__(self) -> Iterator[Clique]:
        return iter(self.tables)


def _narrow(numbers: Integers) -> Integers:
    few = not numbers.size or -_LARGEST <= numbers.min() <= numbers.max() <= _LARGEST
    narrow: Integers = numbers.astype(np.int32 if few else np.int64, copy=False)
    return narrow


def align(
    first: ContingencyTable, second: ContingencyTable
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The counts of two tables of one shape, cell against cell; cells empty in both may be left out."""
    if first.shape != second.shape:
        raise ValueError("tables of different shapes")
    if first.size <= MAX_DENSE_CELLS:
        return first.dense().ravel(), second.dense().ravel()
    union = ascending.union(first.cells, second.cells)
    return _spread(first, union), _spread(second, union)


def _spread(table: ContingencyTable, union: Integers) -> NDArray[np.int64]:
    counts = np.zeros(len(union), dtype=np.int64)
    counts[np.searchsorted(union, table.cells)] = table.counts
    return counts
