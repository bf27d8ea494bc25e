"""The inner loops of the second phase of the finish: a record takes one value from another that is like it.

`costs` are as in `moves`: one record more in a cell costs `costs[cell, 0]`, one less `costs[cell, 1] - costs[cell, 0]`.
Every table is there once. For each attribute there is a list of `lines`, of the tables that it is in: the other columns of
a record (twice the same in a table of two), their strides (0 for the second of the same), the stride of the attribute
itself, and where the table begins. First come tables of codes, `lines[begin:middle]`, then those of bins,
`lines[middle:end]`, in which the attribute stands by its bin, another column of the record, or the same.
"""

from __future__ import annotations

import numpy as np

from synth_engine.inference.maxent_triples import Floats
from synth_engine.inference.swap_kernels import Costs, Places, Records, State, below
from synth_engine.jit import compiled


@compiled
def counts_to_costs(
    of_ab: Floats, of_ac: Floats, of_bc: Floats, softness: float, weight: float, costs: Costs
) -> None:
    """Makes costs of counts, where the wished counts are the products of three factors."""
    cell = 0
    for a in range(of_ab.shape[0]):
        for b in range(of_ab.shape[1]):
            for c in range(of_ac.shape[1]):
                wanted = of_ab[a, b] * of_ac[a, c] * of_bc[b, c]
                # The derivative of (count - target)² / (target + softness) for one record
                # more.
                steep = weight / (wanted + softness)
                costs[cell, 0] = (2 * (costs[cell, 0] - wanted) + 1) * steep
                costs[cell, 1] = 2 * steep
                cell += 1


@compiled
def counts_to_costs_of_table(
    wanted: Floats, softness: float, weight: float, costs: Costs
) -> None:
    """Makes costs of counts, where the wished counts are these; shape (cells,)."""
    for cell in range(wanted.size):
        steep = weight / (wanted[cell] + softness)
        costs[cell, 0] = (2 * (costs[cell, 0] - wanted[cell]) + 1) * steep
        costs[cell, 1] = 2 * steep


@compiled
def base_cell(record: Records, lines: Places, at: int) -> int:
    """The cell of a table that the record were in if the attribute's own value were 0."""
    cell: int = (
        lines[at, 5] + record[lines[at, 0]] * lines[at, 2] + record[lines[at, 1]] * lines[at, 3]
    )
    return cell


# A compiled function takes plain arrays and numbers: numba knows no frozen dataclass.
@compiled
def take_from_neighbours(
    records: Records,
    attribute: int,
    binned: int,
    bounds: Places,
    lines: Places,
    costs: Costs,
    max_cost: float,
    window: int,
    state: State,
) -> float:
    """Each record, shape (records, columns), is offered what one of those next to it, up to `window` places away, has in
    the attribute, and takes it where that lowers the cost of all tables. Of a value that costs more than `most` in the
    tables of codes no others are looked at. By how much the cost fell. binned: the column of the attribute's bin."""
    rows, gained = records.shape[0], 0.0
    begin, middle, end = bounds[0], bounds[1], bounds[2]
    cells = np.empty(end - begin, dtype=np.int64)
    for row in range(rows):
        donor = row + below(state, 2 * window + 1) - window
        if donor < 0 or donor >= rows:
            continue
        record, now, value = (
            records[row],
            np.int64(records[row, attribute]),
            np.int64(records[donor, attribute]),
        )
        if now == value:
            continue
        cost = np.float32(0)
        for at in range(begin, middle):
            cell = base_cell(record, lines, at)
            cells[at - begin] = cell
            old, new = cell + now * lines[at, 4], cell + value * lines[at, 4]
            cost += costs[new, 0] + (costs[old, 1] - costs[old, 0])
        # The pairs alone are already too bad, so the many tables of three need not be
        # looked up.
        if not cost <= max_cost:
            continue
        bin_now, bin_value = np.int64(records[row, binned]), np.int64(records[donor, binned])
        last = end if bin_now != bin_value else middle
        for at in range(middle, last):
            cell = base_cell(record, lines, at)
            cells[at - begin] = cell
            old, new = cell + bin_now * lines[at, 4], cell + bin_value * lines[at, 4]
            cost += costs[new, 0] + (costs[old, 1] - costs[old, 0])
        # Also false for NaN, which infinite costs can produce: such a move is never made.
        if not cost < 0:
            continue
        gained -= float(cost)
        for at in range(begin, last):
            was, will = (now, value) if at < middle else (bin_now, bin_value)
            old, new = (
                cells[at - begin] + was * lines[at, 4],
                cells[at - begin] + will * lines[at, 4],
            )
            costs[old, 0] -= costs[old, 1]
            costs[new, 0] += costs[new, 1]
        record[attribute], record[binned] = value, bin_value
    return gained
