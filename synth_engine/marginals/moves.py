"""The inner loops of the finish: what a change of a record costs, and the change itself.

Where a table of counts stands beside its target, one record more in a cell costs `up[cell]`, and one less costs
`back[cell] - up[cell]`; so a cell that gains a record has its `back` added to its `up`. A table is kept once for each
of its axes, with that axis last, so that the costs of all values of an attribute lie side by side. `copies` has a line
for each: its last axis, its other axes (twice the same in a table of two), their strides, and where it begins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.marginals.compiled import compiled

Costs = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
Records = npt.NDArray[np.uint16]
State = npt.NDArray[np.uint64]

_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled
def below(state: State, limit: int) -> int:
    """A random whole number from 0 to limit - 1, limit up to 2^31: SplitMix64 (Steele, Lea and Flood 2014)."""
    state[0] += _STEP
    mixed = state[0]
    mixed = (mixed ^ (mixed >> _30)) * _FIRST
    mixed = (mixed ^ (mixed >> _27)) * _SECOND
    mixed ^= mixed >> _31
    found: int = np.int64(((mixed >> _32) * np.uint64(limit)) >> _32)  # type: ignore[assignment]
    return found


@compiled
def place(record: Records, copy: Places) -> int:
    """Where the line of costs begins for the record, in one copy."""
    found: int = copy[5] + record[copy[1]] * copy[3] + record[copy[2]] * copy[4]
    return found


@compiled
def change(
    record: Records, attribute: int, value: int, up: Costs, back: Costs, copies: Places, first: Places, touched: Places
) -> None:
    """Gives the record another value, and keeps the costs of all tables up to date."""
    for at in range(first[attribute], first[attribute + 1]):
        copy = copies[touched[at]]
        cell = place(record, copy) + record[copy[0]]
        up[cell] -= back[cell]
    record[attribute] = value
    for at in range(first[attribute], first[attribute + 1]):
        copy = copies[touched[at]]
        cell = place(record, copy) + record[copy[0]]
        up[cell] += back[cell]


@compiled
def random_moves(
    records: Records,
    free: Places,
    proposals: int,
    state: State,
    up: Costs,
    back: Costs,
    copies: Places,
    own_first: Places,
    own: Places,
    first: Places,
    touched: Places,
) -> int:
    """One free attribute of one record takes the value that another record has, where that lowers the cost. The number
    of changes."""
    rows, changes = records.shape[0], 0
    for _ in range(proposals):
        record = records[below(state, rows)]
        attribute = free[below(state, free.size)]
        value = records[below(state, rows), attribute]
        now = record[attribute]
        if value == now:
            continue
        cost = np.float32(0)
        for at in range(own_first[attribute], own_first[attribute + 1]):
            start = place(record, copies[own[at]])
            cost += up[start + value] + (back[start + now] - up[start + now])
        if cost < 0:
            change(record, attribute, value, up, back, copies, first, touched)
            changes += 1
    return changes
