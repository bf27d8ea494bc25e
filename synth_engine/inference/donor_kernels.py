"""The inner loops of the refinement of triples: a record takes one value from a record that is similar to it.

`costs` are as in `swap_kernels`: one more record in a cell costs `costs[cell, 0]`, one less
`costs[cell, 1] - costs[cell, 0]`. Each table is stored once. For each attribute there is a list of `lines`,
one for each of its tables: the other columns of a record (the same one twice in a table of two), their
strides (0 for the second of the same), the stride of the attribute itself, and where the table begins;
`further` has other columns after these, as in `swap_kernels`. Tables of codes come first,
`lines[begin:middle]`, then tables of bins, `lines[middle:end]`, in which the bin of the attribute is read
from another column of the record, or from its own.
"""

from __future__ import annotations

import numpy as np

from synth_engine.inference.maxent_triples import Floats
from synth_engine.inference.swap_kernels import Costs, Further, Places, Records, State, below
from synth_engine.jit import compiled


@compiled
def counts_to_costs(
    of_ab: Floats, of_ac: Floats, of_bc: Floats, softness: float, weight: float, costs: Costs
) -> None:
    """Turns counts into costs, in place; target counts are the products of three factors."""
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
    """Turns counts into costs, in place. wanted: target counts, shape (cells,)."""
    for cell in range(wanted.size):
        steep = weight / (wanted[cell] + softness)
        costs[cell, 0] = (2 * (costs[cell, 0] - wanted[cell]) + 1) * steep
        costs[cell, 1] = 2 * steep


@compiled
def base_cell(record: Records, lines: Places, further: Further, at: int) -> int:
    """The cell of a table in which the record would be if its value of the attribute were 0."""
    cell: int = (
        lines[at, 5] + record[lines[at, 0]] * lines[at, 2] + record[lines[at, 1]] * lines[at, 3]
    )
    # Compiled only where there are such tables.
    if further is not None:
        for place in range(1, 1 + 2 * further[at, 0], 2):
            cell += record[further[at, place]] * further[at, place + 1]
    return cell


# A compiled function takes plain arrays and numbers: numba knows no frozen dataclass.
@compiled
def take_from_neighbours(
    records: Records,
    attribute: int,
    binned: int,
    bounds: Places,
    lines: Places,
    further: Further,
    costs: Costs,
    max_cost: float,
    window: int,
    state: State,
) -> float:
    """Each record is offered the value that a record up to `window` places away has in the attribute, and
    takes it if that lowers the cost of all tables. Returns by how much the cost fell.

    records: shape (records, columns); binned: the column of the attribute's bin; max_cost: a value that costs
    more than that in the tables of codes is refused without a look at the tables of bins.
    """
    rows, gained = records.shape[0], 0.0
    begin, middle, end = bounds[0], bounds[1], bounds[2]
    cells = np.empty(end - begin, dtype=np.int64)
    for row in range(rows):
        donor = row + below(state, 2 * window + 1) - window
        if donor < 0 or donor >= rows:
            continue
        record, now = records[row], np.int64(records[row, attribute])
        value = np.int64(records[donor, attribute])
        if now == value:
            continue
        cost = np.float32(0)
        for at in range(begin, middle):
            cell = base_cell(record, lines, further, at)
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
            cell = base_cell(record, lines, further, at)
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
