"""The inner loops of the refinement of records: what a change of a record costs, and the change itself.

The cost of a table is the weighted squared distance of its counts from its targets. One more record in a cell
adds `costs[cell, 0]` to it, and one less adds `costs[cell, 1] - costs[cell, 0]`; when a cell gains a record,
the second number is added to the first. A table is stored once for each of its axes, with that axis last, so
that the costs of all values of an attribute are next to each other in memory. `copies` has a line for each of
these: its last axis, two other axes (the same one twice in a table of two), their strides, and where it
begins. `further` has a line for each of these too: how many axes the table has after these three, and each
with its stride; lines end in zeros. It is None where no table has more than three axes. Loops are compiled
for both cases, so that the first has nothing to do with the second. A list of lists is given as two arrays:
where each list begins, and the lists one after another.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled

Costs = npt.NDArray[np.float32]
Shares = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
Further = Places | None
Records = npt.NDArray[np.uint16]
State = npt.NDArray[np.uint64]


class Tables(NamedTuple):
    """Costs of all cells, a line of `copies` and of `further` for each table and axis, and the copies that
    each attribute is in: where each list begins, and all of them."""

    costs: Costs
    copies: Places
    further: Further
    first: Places
    touched: Places


class CostColumns(NamedTuple):
    """The two columns of the costs, each by itself, so that the costs of all values of an attribute lie side
    by side."""

    entering: Singles
    slopes: Singles


class Sets(NamedTuple):
    """Sets of attributes that change together, as lists of members, and one copy of each table that a set is
    in."""

    first: Places
    members: Places
    table_first: Places
    tables: Places


class ValueCopies(NamedTuple):
    """For each attribute how many values it has, and the copies in which it is the last axis."""

    sizes: Places
    first: Places
    own: Places


class Views(NamedTuple):
    """What `move_to_counts` reads and writes: the two columns of the costs, the tables, and the copies of
    each attribute."""

    columns: CostColumns
    tables: Tables
    values: ValueCopies


ROWS_AT_A_TIME = 4096
"""Number of records that are changed in one attribute before the next attribute. A change of it changes the
rows that are drawn."""

_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled
def below(state: State, limit: int) -> int:
    """A random whole number from 0 to limit - 1, limit up to 2^31: SplitMix64 (Steele, Lea and Flood
    2014)."""
    state[0] += _STEP
    mixed = state[0]
    mixed = (mixed ^ (mixed >> _30)) * _FIRST
    mixed = (mixed ^ (mixed >> _27)) * _SECOND
    mixed ^= mixed >> _31
    number: int = np.int64(((mixed >> _32) * np.uint64(limit)) >> _32)  # type: ignore[assignment]
    return number


@compiled
def count_cells(
    codes: Records, axes: Places, further: Further, first: int, times: int, counts: Places
) -> None:
    """Adds to `counts` how many records are in each cell of a table, of which the `first` ones count so many
    times. codes: shape (attributes, records); axes: three attributes, each with its stride, shape (3, 2);
    further: all after these, as many lines, None where there are none."""
    one, two, three = codes[axes[0, 0]], codes[axes[1, 0]], codes[axes[2, 0]]
    for record in range(codes.shape[1]):
        cell = (
            np.int64(one[record]) * axes[0, 1]
            + np.int64(two[record]) * axes[1, 1]
            + np.int64(three[record]) * axes[2, 1]
        )
        if further is not None:
            for at in range(further.shape[0]):
                cell += np.int64(codes[further[at, 0], record]) * further[at, 1]
        counts[cell] += times if record < first else 1


@compiled
def line_start(record: Records, copies: Places, further: Further, copy: int) -> int:
    """Where the costs of all values of the last axis begin, for the other values of the record, in one
    copy."""
    start: int = (
        copies[copy, 5]
        + record[copies[copy, 1]] * copies[copy, 3]
        + record[copies[copy, 2]] * copies[copy, 4]
    )
    # The compiler drops this branch where the argument is None; where it is not, most tables have no further
    # axes.
    if further is not None:
        for at in range(1, 1 + 2 * further[copy, 0], 2):
            start += record[further[copy, at]] * further[copy, at + 1]
    return start


@compiled
def change(
    record: Records,
    attribute: int,
    value: int,
    tables: Tables,
) -> None:
    """Gives the record another value, and keeps the costs of all tables up to date."""
    costs, copies, further, first, touched = tables
    for at in range(first[attribute], first[attribute + 1]):
        cell = line_start(record, copies, further, touched[at]) + record[copies[touched[at], 0]]
        # The cost of one more record is linear in the count, with slope `costs[cell, 1]`.
        costs[cell, 0] -= costs[cell, 1]
    record[attribute] = value
    for at in range(first[attribute], first[attribute + 1]):
        cell = line_start(record, copies, further, touched[at]) + record[copies[touched[at], 0]]
        costs[cell, 0] += costs[cell, 1]


@compiled
def exchange(record: Records, values: Records, members: Places) -> bool:
    """Swaps the values of a record in the members of a set with the given ones, in place. Returns whether any
    was different."""
    different = False
    for at, attribute in enumerate(members):
        different = different or record[attribute] != values[at]
        record[attribute], values[at] = values[at], record[attribute]
    return different


@compiled
def cost_of_exchange(
    record: Records,
    values: Records,
    members: Places,
    tables: Tables,
    used: Places,
    cells: Places,
) -> float:
    """What it costs that the record takes the values in the members of a set. The record is as before in the
    end. used: one copy of each table that the set is in; cells: an array for as many numbers."""
    costs, copies, further = tables.costs, tables.copies, tables.further
    for at, copy in enumerate(used):
        cells[at] = line_start(record, copies, further, copy) + record[copies[copy, 0]]
    if not exchange(record, values, members):
        return 0.0
    cost = np.float32(0)
    for at, copy in enumerate(used):
        cell, old = (
            line_start(record, copies, further, copy) + record[copies[copy, 0]],
            cells[at],
        )
        if cell != old:
            cost += costs[cell, 0] + (costs[old, 1] - costs[old, 0])
    # Undo: the caller decides whether the exchange is worth its cost.
    exchange(record, values, members)
    return float(cost)


@compiled
def exchange_sets(
    records: Records,
    proposals: int,
    state: State,
    tables: Tables,
    sets: Sets,
) -> float:
    """Tries so many proposals: one random record takes the values of another in all attributes of a random
    set, if that lowers the cost. Returns by how much the cost fell in all. Each set has its members and one
    copy of each of the tables that any of them is in."""
    rows, gained = records.shape[0], 0.0
    cells = np.empty(np.max(sets.table_first[1:] - sets.table_first[:-1]), dtype=np.int64)
    values = np.empty(records.shape[1], dtype=np.uint16)
    for _ in range(proposals):
        record, other = records[below(state, rows)], records[below(state, rows)]
        number = below(state, sets.first.size - 1)
        members = sets.members[sets.first[number] : sets.first[number + 1]]
        for at, attribute in enumerate(members):
            values[at] = other[attribute]
        used = sets.tables[sets.table_first[number] : sets.table_first[number + 1]]
        cost = cost_of_exchange(record, values, members, tables, used, cells)
        if cost < 0:
            gained -= float(cost)
            for at, attribute in enumerate(members):
                if record[attribute] != values[at]:
                    change(record, attribute, values[at], tables)
    return gained


@compiled
def take_best_by_column(
    records: Records,
    order: Places,
    free: Places,
    columns: CostColumns,
    tables: Tables,
    values: ValueCopies,
) -> float:
    """Each free attribute of the records in `order` takes the value that costs least by all of its tables, if
    that lowers the cost. Returns by how much the cost fell. `columns` is kept up to date, the costs of
    `tables` are not. Records are changed `ROWS_AT_A_TIME`, one attribute after the other, so that the tables
    of one attribute stay in a cache of the processor."""
    gained = 0.0
    room = np.empty(np.max(values.sizes), dtype=np.float32)
    for start in range(0, order.size, ROWS_AT_A_TIME):
        for attribute in free:
            costs = room[: values.sizes[attribute]]
            for row in order[start : start + ROWS_AT_A_TIME]:
                record = records[row]
                leaving = _costs_of_values(record, attribute, columns, tables, values, costs)
                # The present value is no change.
                costs[record[attribute]] = np.inf
                value = int(np.argmin(costs))
                cost = costs[value] + leaving
                if cost < 0:
                    gained -= float(cost)
                    _move(record, attribute, value, columns, tables)
    return gained


@compiled
def move_to_counts(
    records: Records,
    order: Places,
    attribute: int,
    excess: Places,
    views: Views,
) -> float:
    """Records in `order` move from codes of the attribute that too many have to codes that too few have, the
    cheapest move first, as long as there are both and a move that is not forbidden. Returns what that costs
    in all, which may be negative.

    excess: how many records of each code there are too many, negative where they are too few; shape (codes,),
    kept up to date. So are the records and the columns of costs; the costs of the tables are not.
    """
    costs = np.empty(excess.size, dtype=np.float32)
    lacking = np.flatnonzero(excess < 0)
    total = 0.0
    waiting = [(np.float32(0), np.int64(0)) for _ in range(0)]
    for row in order:
        if excess[records[row, attribute]] > 0:
            cost, _ = _least_cost(records[row], attribute, lacking, excess, views, costs)
            # The cost is infinite where all cells are forbidden.
            if cost < np.inf:
                waiting.append((cost, row))
    heapq.heapify(waiting)
    while waiting:
        _, row = heapq.heappop(waiting)
        now = records[row, attribute]
        if excess[now] <= 0:
            continue
        # Earlier moves have changed costs, and some codes have enough records by now.
        cost, value = _least_cost(records[row], attribute, lacking, excess, views, costs)
        if not cost < np.inf:
            continue
        if len(waiting) > 0 and waiting[0][0] < cost:
            heapq.heappush(waiting, (cost, row))
            continue
        _move(records[row], attribute, value, views.columns, views.tables)
        excess[now] -= 1
        excess[value] += 1
        total += float(cost)
    return total


@compiled
def _least_cost(
    record: Records,
    attribute: int,
    lacking: Places,
    excess: Places,
    views: Views,
    costs: Singles,
) -> tuple[np.float32, int]:
    """What it costs that the record takes the cheapest code that too few records have, of those in `lacking`;
    and that code. Infinite where there is none."""
    leaving = np.float32(
        _costs_of_values(record, attribute, views.columns, views.tables, views.values, costs)
    )
    least, best = np.float32(np.inf), 0
    for value in lacking:
        if excess[value] < 0 and costs[value] < least:
            least, best = costs[value], value
    return least + leaving, best


@compiled
def _costs_of_values(
    record: Records,
    attribute: int,
    columns: CostColumns,
    tables: Tables,
    values: ValueCopies,
    costs: Singles,
) -> float:
    """Writes to `costs` what one more record with each value of the attribute costs, given the other values
    of the record. Returns what it costs that the record leaves its present value."""
    now, leaving = record[attribute], np.float32(0)
    costs[:] = 0
    entering, slopes = columns.entering, columns.slopes
    copies, further = tables.copies, tables.further
    first, end = values.first[attribute], values.first[attribute + 1]
    # Four tables at once, so that sums are written to memory a quarter as often; they are added in the order
    # of the tables.
    whole = first + (end - first) // 4 * 4
    for at in range(first, whole, 4):
        a = line_start(record, copies, further, values.own[at])
        b = line_start(record, copies, further, values.own[at + 1])
        c = line_start(record, copies, further, values.own[at + 2])
        d = line_start(record, copies, further, values.own[at + 3])
        leaving = (
            leaving + slopes[a + now] + slopes[b + now] + slopes[c + now] + slopes[d + now]
        )
        one, two = entering[a : a + costs.size], entering[b : b + costs.size]
        three, four = entering[c : c + costs.size], entering[d : d + costs.size]
        for value in range(costs.size):
            costs[value] = costs[value] + one[value] + two[value] + three[value] + four[value]
    for at in range(whole, end):
        start = line_start(record, copies, further, values.own[at])
        leaving += slopes[start + now]
        line = entering[start : start + costs.size]
        for value in range(costs.size):
            costs[value] += line[value]
    own: float = leaving - costs[now]
    return own


@compiled
def _move(
    record: Records,
    attribute: int,
    value: int,
    columns: CostColumns,
    tables: Tables,
) -> None:
    """As `change`, for costs that are stored as two columns."""
    _, copies, further, first, touched = tables
    for at in range(first[attribute], first[attribute + 1]):
        cell = line_start(record, copies, further, touched[at]) + record[copies[touched[at], 0]]
        columns.entering[cell] -= columns.slopes[cell]
    record[attribute] = value
    for at in range(first[attribute], first[attribute + 1]):
        cell = line_start(record, copies, further, touched[at]) + record[copies[touched[at], 0]]
        columns.entering[cell] += columns.slopes[cell]
