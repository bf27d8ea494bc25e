"""DPSyn's synthesis by minimum-cost flow (Li, Zhang and Wang 2018, section 3.3): as few records as possible
change, and as little as possible, until their marginals match the targets.

For one marginal, a flow from the cells that hold too many records to those that hold too few determines which
records change. Its cost prefers changes of one attribute to changes of two, and these to more, so that other
marginals are disturbed as little as possible. Sweeps over all marginals repeat until few records change.
Post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.inference.consistency import Axes
from synth_engine.jit import compiled

Codes = npt.NDArray[np.uint16]
Counts = npt.NDArray[np.int64]
Target = tuple[Axes, Counts]
"""Axes, ascending, and the target count of each cell of their marginal. The counts add up to the number of
records."""

SWEEPS = 8
MIN_CHANGED_SHARE = 0.002
"""The last sweep is the one that changes a smaller share of the records, on average over the marginals."""
_GROUPS_OF_TWO = 2
_MAX_ARCS = 40_000
"""A flow of so many arcs takes a tenth of a second. Where it would have more, changes of two attributes cost
as much as changes of all, and if that is not enough, every change costs the same."""


def meet_targets(codes: Codes, targets: Sequence[Target], *, rng: np.random.Generator) -> Codes:
    """Returns the records, changed until their marginals are close to the targets. codes: shape (attributes,
    rows), as the result."""
    changed_codes, rows = codes.copy(), codes.shape[1]
    if any(wanted.sum() != rows for _, wanted in targets):
        raise ValueError("the targets of a marginal add up to another total than the records")
    if not rows or not targets:
        return changed_codes
    before = math.inf
    for _ in range(SWEEPS):
        changed = sum(
            _meet_target(changed_codes, *targets[index], rng=rng)
            for index in rng.permutation(len(targets))
        )
        if changed <= MIN_CHANGED_SHARE * rows * len(targets) or changed > 0.98 * before:
            break
        before = changed
    return changed_codes


def _meet_target(codes: Codes, axes: Axes, wanted: Counts, *, rng: np.random.Generator) -> int:
    """Changes records in place until one marginal matches its target; returns how many records changed."""
    rows = codes.shape[1]
    axes_array, sizes = np.array(axes, dtype=np.int64), np.array(wanted.shape, dtype=np.int64)
    cells = _cells(codes, axes_array, sizes)
    excess = np.bincount(cells, minlength=wanted.size) - wanted.ravel()
    sources, sinks = moves(excess.reshape(wanted.shape))
    if sources.size:
        by_source = np.argsort(sources, kind="stable")
        ends = np.cumsum(np.bincount(sources, minlength=wanted.size))
        step = int(rng.integers(rows)) | 1
        # A step that shares no factor with the number of rows visits each row once.
        while math.gcd(step, rows) > 1:
            step += 2
        _change(
            codes,
            cells,
            axes_array,
            sizes,
            ends,
            sinks[by_source],
            int(rng.integers(rows)),
            step,
        )
    return int(sources.size)


@compiled
def _cells(codes: Any, axes: Any, sizes: Any) -> Any:  # pragma: no cover - compiled
    """The number of the cell of each record, in C order."""
    rows = codes.shape[1]
    cells = np.zeros(rows, dtype=np.int64)
    for position in range(axes.size):
        column, size = codes[axes[position]], sizes[position]
        for row in range(rows):
            cells[row] = cells[row] * size + column[row]
    return cells


# A compiled function takes plain arrays and numbers: numba knows no frozen dataclass.
@compiled
def _change(
    codes: Any, cells: Any, axes: Any, sizes: Any, ends: Any, sinks: Any, at: Any, step: Any
) -> Any:  # pragma: no cover
    """Moves records to the sinks of their cells; those of cell c are `sinks[ends[c - 1] : ends[c]]`. Steps of
    equal length visit each record once, so that nothing in the records decides which ones of a cell
    change."""
    rows, remaining = cells.size, sinks.size
    given = np.empty(ends.size, dtype=np.int64)
    given[0] = 0
    given[1:] = ends[:-1]
    for _ in range(rows):
        if remaining == 0:
            break
        cell = cells[at]
        if given[cell] < ends[cell]:
            rest = sinks[given[cell]]
            given[cell] += 1
            remaining -= 1
            for position in range(axes.size - 1, -1, -1):
                codes[axes[position], at] = rest % sizes[position]
                rest //= sizes[position]
        at = (at + step) % rows


def moves(excess: Counts) -> tuple[Counts, Counts]:
    """Returns the moves of least cost that leave no cell with too many or too few records: for each record
    that moves, the number of its cell, in C order, and that of its new one.

    A move costs 1 for each attribute that changes, up to two (one, or none, in marginals of very many cells);
    a move that changes more costs as much as one that changes all. excess: records beyond the target, in each
    cell of the marginal."""
    flat = excess.ravel()
    out, into = np.flatnonzero(flat > 0), np.flatnonzero(flat < 0)
    if not out.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow  # slow to import

    hubs = _Hubs(excess.shape, cells=out.size + into.size)
    leaving, arriving = hubs.reached(out), hubs.reached(into)
    # A hub that is reached from one side only carries no flow.
    useful = np.intersect1d(leaving.hubs, arriving.hubs)
    leaving, arriving = leaving.only(useful), arriving.only(useful)
    first_hub = flat.size
    tails = np.concatenate([leaving.cells, first_hub + np.searchsorted(useful, arriving.hubs)])
    heads = np.concatenate([first_hub + np.searchsorted(useful, leaving.hubs), arriving.cells])
    costs = np.concatenate([leaving.costs, np.zeros(arriving.cells.size, dtype=np.int64)])
    flow = SimpleMinCostFlow()
    arcs = flow.add_arcs_with_capacity_and_unit_cost(
        tails, heads, np.full(tails.size, flat[out].sum()), costs
    )
    flow.set_nodes_supplies(np.concatenate([out, into]), flat[np.concatenate([out, into])])
    if flow.solve() != flow.OPTIMAL:
        raise ValueError("the excess of the cells does not add up to zero")
    carried = flow.flows(arcs)
    leaving_flow, arriving_flow = carried[: leaving.cells.size], carried[leaving.cells.size :]
    by_hub_out = np.argsort(leaving.hubs, kind="stable")
    by_hub_into = np.argsort(arriving.hubs, kind="stable")
    return (
        np.repeat(leaving.cells[by_hub_out], leaving_flow[by_hub_out]),
        np.repeat(arriving.cells[by_hub_into], arriving_flow[by_hub_into]),
    )


class _HubArcs:
    """Which cells reach which hubs, and the cost of leaving by them."""

    def __init__(self, cells: Counts, hubs: Counts, costs: Counts) -> None:
        self.cells, self.hubs, self.costs = cells, hubs, costs

    def only(self, hubs: Counts) -> _HubArcs:
        useful = np.isin(self.hubs, hubs)
        return _HubArcs(self.cells[useful], self.hubs[useful], self.costs[useful])


class _Hubs:
    """For every set of up to two attributes, and for all of them, one hub for each cell of the table of the
    others: cells that differ in those attributes alone meet there. Arcs are then few where cells are many."""

    def __init__(self, shape: tuple[int, ...], *, cells: int) -> None:
        self._shape = shape
        real = [axis for axis, size in enumerate(shape) if size > 1]
        together = next(
            (
                size
                for size in (_GROUPS_OF_TWO, 1)
                if cells * math.comb(len(real), size) <= _MAX_ARCS
            ),
            0,
        )
        few = range(1, min(together, len(real)) + 1)
        groups = [group for number in few for group in itertools.combinations(real, number)]
        self._groups = list(dict.fromkeys([*groups, tuple(real)]))

    def reached(self, cells: Counts) -> _HubArcs:
        codes = np.unravel_index(cells, self._shape)
        hubs, costs, offset = [], [], 0
        for group in self._groups:
            fixed = [0 if axis in group else column for axis, column in enumerate(codes)]
            cell = np.zeros(cells.size, dtype=np.int64)
            for size, column in zip(self._shape, fixed, strict=True):
                cell = cell * size + column
            hubs.append(offset + cell)
            costs.append(np.full(cells.size, len(group), dtype=np.int64))
            offset += math.prod(self._shape)
        return _HubArcs(
            np.tile(cells, len(self._groups)), np.concatenate(hubs), np.concatenate(costs)
        )
