"""Exact counts of one set of rows that are asked for more than once in a session."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from synth_engine import watching
from synth_engine.hierarchy import Hierarchy
from synth_engine.indexing import contingency
from synth_engine.kinds.lattice import Positions
from synth_engine.measurement import Candidate, Clique, Counts, Merged
from synth_engine.room import counts
from synth_engine.room.rows import Rows

TABLE_CELLS = 2**22
"""Cells of the tables that are stored, together."""


class CountCache:
    """Rows, which do not change, with the counts that later questions ask for again. Everything in it is
    exact, so only the session hands it to the counting step of a question."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._distances: dict[tuple[Clique, int], tuple[weakref.ref[Counts], int]] = {}
        self._tables: dict[tuple[Clique, bytes], NDArray[np.int64]] = {}
        self._cells = 0
        self._sorted: dict[tuple[Clique, bool], counts.Sorted] = {}
        self._positions: dict[str, tuple[Positions, int]] = {}

    def table(self, clique: Clique, merged: Merged | None = None) -> NDArray[np.int64]:
        """The counts of `counts.contingency`; of a table that was counted for its score, by the same bins or
        by codes, without another pass over the records."""
        known = self._tables.get(_key(clique, merged))
        if known is not None:
            return known.copy()
        codes = self._tables.get(_key(clique, None)) if merged else None
        if codes is not None:
            return contingency.merge(codes, [(merged or {}).get(name) for name in clique])
        return counts.contingency(self.rows, clique, merged=merged)

    def scores(self, candidates: tuple[Candidate, ...]) -> Counts:
        """The L1 distance of each candidate's true counts from its reference, less its penalty."""
        known = [self._known(candidate) for candidate in candidates]
        unknown = [
            candidate
            for candidate, distance in zip(candidates, known, strict=True)
            if distance is None
        ]
        counted = iter(self._distances_of(unknown))
        scores = [
            (next(counted) if distance is None else distance) - candidate.penalty
            for candidate, distance in zip(candidates, known, strict=True)
        ]
        return np.array(scores, dtype=np.int64)

    def leaves(self, hierarchy: Hierarchy, *, together: bool) -> counts.Sorted:
        """The sorted codes of a hierarchy, stored until another one is asked for."""
        key = (hierarchy.columns, together)
        if key not in self._sorted:
            # One hierarchy at a time: a sorted copy of the codes is as long as the table.
            self._sorted.clear()
            self._sorted[key] = counts.by_leaf(self.rows, hierarchy)
        return self._sorted[key]

    def positions(self, name: str) -> tuple[Positions, int]:
        """The sorted positions of a column on a lattice, stored until another column is asked for, and how
        many records have none."""
        if name not in self._positions:
            positions, missing = self.rows.positions(name)
            self._positions.clear()
            self._positions[name] = np.sort(positions[~missing]), int(missing.sum())
        return self._positions[name]

    def _known(self, candidate: Candidate) -> int | None:
        """The distance of a reference array that was counted before, for as long as somebody holds it."""
        known = self._distances.get((candidate.clique, id(candidate.reference)))
        # An id may be given to another array later, so the array itself is compared.
        if known is None or known[0]() is not candidate.reference or candidate.merged:
            return None
        return known[1]

    def _distances_of(self, candidates: list[Candidate]) -> Iterator[int]:
        tables = counts.contingencies(
            self.rows, [(candidate.clique, candidate.merged) for candidate in candidates]
        )
        for candidate in watching.each(candidates):
            table = next(tables)
            self._store(candidate, table)
            distance = int(np.abs(table - candidate.reference).sum())
            if not candidate.merged:
                key = (candidate.clique, id(candidate.reference))
                self._distances[key] = (weakref.ref(candidate.reference), distance)
            yield distance

    def _store(self, candidate: Candidate, table: NDArray[np.int64]) -> None:
        key = _key(candidate.clique, candidate.merged)
        if key not in self._tables and self._cells + table.size <= TABLE_CELLS:
            self._tables[key] = table
            self._cells += table.size


def _key(clique: Clique, merged: Merged | None) -> tuple[Clique, bytes]:
    """What a table is of: its columns, and the bins by which they are counted."""
    bins = [
        b"" if merged is None or name not in merged else np.int64(merged[name]).tobytes()
        for name in clique
    ]
    return clique, b"".join(len(each).to_bytes(8, "big") + each for each in bins)
