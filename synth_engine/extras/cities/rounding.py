"""Whole numbers that meet public totals exactly: controlled rounding of one total, of a table with two, and
of flows.

Of a table of expected numbers with totals of rows and columns, each number is rounded down, and a
minimum-cost flow says where the units go that the totals still lack. Such a flow has whole numbers, so both
totals are met exactly (Cox and Ernst 1982, Controlled rounding). Costs are random, such that a cell gets a
further unit with a chance that grows with what rounding took from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from synth_engine.models.weights import round_in_order, round_to_total, whole_weights

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
RAKING_STEPS = 50
_COST_UNIT = 1000
_COST_LIMIT = 30_000
"""Of a unit in a cell, in thousandths of a nat; a detour costs more than any of them."""
_DETOUR = 10 * _COST_LIMIT
_TOLERANCE = 1e-9
"""By which sums of floating-point numbers may be off a whole one."""


def shares(weights: Counts, total: int) -> Counts:
    """Whole numbers with that sum in proportion to the weights, by largest remainder; equal ones where all
    weights are 0."""
    return round_to_total(whole_weights(weights.astype(np.float64)), total)


def spread(weights: Counts, total: int, *, rng: np.random.Generator) -> Counts:
    """Whole numbers with that sum such that those of any cells side by side are off by less than one from
    their share."""
    whole = whole_weights(weights.astype(np.float64))
    start = int(rng.integers(int(whole.sum())))
    return round_in_order(whole, total, start=start)


@dataclass(frozen=True, kw_only=True, eq=False)
class RakedTable:
    """The cells of a table that may hold something, and its totals. rows, columns: of each cell, shape
    (cells,). row_totals, column_totals: of the same sum."""

    rows: Counts
    columns: Counts
    row_totals: Counts
    column_totals: Counts

    @property
    def _margins(self) -> tuple[tuple[Counts, Counts], ...]:
        return ((self.rows, self.row_totals), (self.columns, self.column_totals))

    def rake(self, weights: Floats) -> Floats:
        """Iterative proportional fitting: numbers of the cells with these totals as nearly as the cells
        allow."""
        fitted = weights.astype(np.float64)
        for _ in range(RAKING_STEPS):
            for index, totals in self._margins:
                sums = np.bincount(index, weights=fitted, minlength=totals.size)
                factors = np.divide(totals, sums, out=np.zeros(totals.size), where=sums > 0)
                fitted = fitted * factors[index]
        return fitted

    def rounded(
        self, expected: Floats, *, most: Counts | None = None, rng: np.random.Generator
    ) -> tuple[Counts, Counts, Counts] | None:
        """Whole numbers near the expected ones, with exactly these totals. most: of each cell; without it,
        units that no cell can take go to further cells.

        Returns rows, columns and numbers of cells; None where the totals cannot be met within `most`."""
        floors = self._floors(expected, most)
        row_gaps, column_gaps = (
            totals - np.bincount(index, weights=floors, minlength=totals.size).astype(np.int64)
            for index, totals in self._margins
        )
        flow = SimpleMinCostFlow()
        first_column = self.row_totals.size
        hub = first_column + self.column_totals.size
        flow.set_nodes_supplies(
            np.arange(hub + 1), np.concatenate([row_gaps, -column_gaps, [0]])
        )
        room = row_gaps[self.rows]
        if most is not None:
            room = np.minimum(room, most - floors)
        costs = _costs(expected - floors, rng)
        # A second unit in one cell is taken only where all cells of the row have one: numbers stay near the
        # expected ones.
        arcs = [
            flow.add_arcs_with_capacity_and_unit_cost(
                self.rows, self.columns + first_column, capacity, cost
            )
            for capacity, cost in (
                (np.minimum(room, 1), costs),
                (np.maximum(room - 1, 0), costs + _COST_LIMIT),
            )
        ]
        leaving, entering = np.flatnonzero(row_gaps), np.flatnonzero(column_gaps)
        if most is not None:
            leaving = entering = np.zeros(0, dtype=np.int64)
        out = flow.add_arcs_with_capacity_and_unit_cost(
            leaving,
            np.full(leaving.size, hub),
            row_gaps[leaving],
            np.full(leaving.size, _DETOUR),
        )
        into = flow.add_arcs_with_capacity_and_unit_cost(
            np.full(entering.size, hub),
            entering + first_column,
            column_gaps[entering],
            np.zeros(entering.size, dtype=np.int64),
        )
        if flow.solve() != flow.OPTIMAL:
            return None
        numbers = floors + sum(np.asarray(flow.flows(each), dtype=np.int64) for each in arcs)
        # What went by the hub is paired in order: origins and destinations are sorted as the areas are.
        from_rows = np.repeat(leaving, np.asarray(flow.flows(out), dtype=np.int64))
        to_columns = np.repeat(entering, np.asarray(flow.flows(into), dtype=np.int64))
        return (
            np.concatenate([self.rows, from_rows]),
            np.concatenate([self.columns, to_columns]),
            np.concatenate([numbers, np.ones(from_rows.size, dtype=np.int64)]),
        )

    def _floors(self, expected: Floats, most: Counts | None) -> Counts:
        """The numbers rounded down, and made smaller where those of a row or column add up to more than its
        total."""
        floors = np.floor(expected + _TOLERANCE).astype(np.int64)
        if most is not None:
            floors = np.minimum(floors, most)
        for index, totals in self._margins:
            sums = np.bincount(index, weights=floors, minlength=totals.size)
            factors = np.divide(totals, sums, out=np.ones(totals.size), where=sums > totals)
            floors = np.floor(floors * factors[index] + _TOLERANCE).astype(np.int64)
        return floors


def _costs(rest: Floats, rng: np.random.Generator) -> Counts:
    """Costs of a further unit in each cell. Gumbel noise: of one row alone, cells are chosen in proportion to
    what is left of them."""
    keys = -np.log(np.clip(rest, _TOLERANCE, None)) - rng.gumbel(size=rest.size)
    costs: Counts = np.clip((keys - keys.min(initial=0)) * _COST_UNIT, 0, _COST_LIMIT).astype(
        np.int64
    )
    return costs
