"""No negative counts: what a cell lacks is taken from its neighbours, which differ from it in one attribute.

PriView's ripple (Qardaji, Yang and Li 2014; Li, Zhang and Wang 2018, section 3.1.4), for attributes of any
size. The total of a table stays as it is. Post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from synth_engine.inference import oneway
from synth_engine.inference.consistency import Axes, Floats, View, make_consistent, shared_sets
from synth_engine.jit import compiled

ROUNDS = 3
THRESHOLD = 0.02
"""Of the standard deviation of a cell's noise: how far below zero a cell may stay in between. Of the values
tried from 0.003 to 1 the small ones were best, and alike."""
_MAX_TURNS_PER_CELL = 200
"""So many times as many cells as a table has may be emptied; then the rest is cut at once. A table whose
total is not above zero has no end."""


def without_negatives(values: Floats, *, threshold: float, neighbours: int = 0) -> Floats:
    """The table with every cell below -threshold set to 0, and as much taken, in equal parts, from each cell
    that differs in one attribute; again, until there is no such cell. threshold: above 0, in records; with 0
    it takes ever smaller steps and may be stopped before its end. neighbours: take it from so many of these
    cells, the largest; 0: from all. A table whose total is not above zero becomes empty."""
    flat = np.ascontiguousarray(values, dtype=np.float64).ravel().copy()
    sizes = np.array(values.shape, dtype=np.int64)
    # Without a positive total there is nothing that negative cells could be filled from.
    if flat.sum() <= 0 or not _ripple(
        flat, sizes, threshold, neighbours, _MAX_TURNS_PER_CELL * flat.size
    ):
        return _cut(values)
    return flat.reshape(values.shape)


def nonnegative_views(
    views: Sequence[View],
    *,
    total: float | None = None,
    threshold: float = THRESHOLD,
    neighbours: int = 0,
) -> list[View]:
    """Views without a negative cell that agree as well as may be: agreement, then ripple and agreement a few
    times over, and at last what is still below zero, which is little, cut. All have the same total, the
    public one if it is given, or none at all where the views say that there are no records. threshold: in
    standard deviations of the noise of a cell; neighbours: as `without_negatives` has them."""
    order: list[Axes] = shared_sets([view.axes for view in views])
    adjusted = make_consistent(views, total=total, order=order)
    for _ in range(ROUNDS):
        adjusted = [
            replace(
                view,
                values=without_negatives(
                    view.values,
                    threshold=threshold * math.sqrt(view.variance),
                    neighbours=neighbours,
                ),
            )
            for view in adjusted
        ]
        adjusted = make_consistent(adjusted, total=total, order=order)
    # Non-negativity matters more than agreement, so it has the last word.
    return [replace(view, values=_cut(view.values)) for view in adjusted]


def _cut(values: Floats) -> Floats:
    total = float(values.sum())
    return (
        oneway.project_to_simplex(values, total=total) if total > 0 else np.zeros_like(values)
    )


@compiled
def _neighbours(cell: Any, sizes: Any, others: Any) -> Any:  # pragma: no cover
    """Write down the cells that differ from this one in one attribute."""
    stride = 1
    place = 0
    for axis in range(sizes.size - 1, -1, -1):
        size = sizes[axis]
        start = cell - (cell // stride) % size * stride
        for code in range(size):
            other = start + code * stride
            if other != cell:
                others[place] = other
                place += 1
        stride *= size


@compiled
def _ripple(  # noqa: C901 # pragma: no cover
    flat: Any, sizes: Any, threshold: Any, wanted: Any, turns: Any
) -> Any:
    """In place, first in first out. False if it was stopped before its end, or if there are no neighbours."""
    cells = flat.size
    neighbours = 0
    for size in sizes:
        neighbours += size - 1
    others = np.empty(neighbours, dtype=np.int64)
    taken = neighbours
    if 0 < wanted < neighbours:
        taken = wanted
    queue = np.empty(cells, dtype=np.int64)
    waiting = np.zeros(cells, dtype=np.bool_)
    length = 0
    for cell in range(cells):
        if flat[cell] < -threshold:
            queue[length] = cell
            waiting[cell] = True
            length += 1
    if length > 0 and neighbours == 0:
        return False
    first = 0
    while length > 0:
        if turns == 0:
            return False
        turns -= 1
        cell = queue[first]
        first = (first + 1) % cells
        length -= 1
        waiting[cell] = False
        part = flat[cell] / taken
        flat[cell] = 0.0
        _neighbours(cell, sizes, others)
        if taken < neighbours:
            # Stable, so that equal cells come in one order on every machine.
            others[:] = others[np.argsort(-flat[others], kind="mergesort")]
        for other in others[:taken]:
            flat[other] += part
            if flat[other] < -threshold and not waiting[other]:
                queue[(first + length) % cells] = other
                waiting[other] = True
                length += 1
    return True
