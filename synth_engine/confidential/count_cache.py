"""Exact counts of one set of rows that are asked for more than once in a session."""

from __future__ import annotations

import weakref

import numpy as np

from synth_engine.confidential import counts
from synth_engine.confidential.rows import Rows
from synth_engine.hierarchy import Hierarchy
from synth_engine.kinds.lattice import Positions
from synth_engine.measurement import Candidate, Clique, Counts


class CountCache:
    """Rows, which do not change, with the counts that later questions ask for again. Everything in it is exact, so
    only the session hands it to the counting step of a question."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._distances: dict[tuple[Clique, int], tuple[weakref.ref[Counts], int]] = {}
        self._sorted: dict[tuple[Clique, bool], counts.Sorted] = {}
        self._positions: dict[str, tuple[Positions, int]] = {}

    def scores(self, candidates: tuple[Candidate, ...]) -> Counts:
        """The L1 distance of each candidate's true counts from its reference, less its penalty."""
        scores = [self._distance(candidate) - candidate.penalty for candidate in candidates]
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
        """The sorted positions of a column on a lattice, stored until another column is asked for, and how many records
        have none."""
        if name not in self._positions:
            positions, missing = self.rows.positions(name)
            self._positions.clear()
            self._positions[name] = np.sort(positions[~missing]), int(missing.sum())
        return self._positions[name]

    def _distance(self, candidate: Candidate) -> int:
        """The distance, counted once for each reference array for as long as somebody holds it."""
        clique, reference, merged = candidate.clique, candidate.reference, candidate.merged
        key = (clique, id(reference))
        known = self._distances.get(key)
        # An id may be given to another array later, so the array itself is compared.
        if known is not None and known[0]() is reference and not merged:
            return known[1]
        table = counts.contingency(self.rows, clique, merged=merged)
        distance = int(np.abs(table - reference).sum())
        if not merged:
            self._distances[key] = (weakref.ref(reference), distance)
        return distance
