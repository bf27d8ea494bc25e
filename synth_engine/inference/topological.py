"""Records drawn one by one from tables in an order in which each adds as few attributes as possible: DPSyn's
STS (Li, Zhang and Wang 2018, section 3.3). Post-processing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.inference.consistency import Axes, Floats
from synth_engine.inference.flow import Codes, Target
from synth_engine.jit import compiled

STARTS = 8
"""Orders that begin with different tables, each for an equal part of the records."""


def draw(
    wishes: Sequence[Target],
    *,
    rows: int,
    attributes: int,
    rng: np.random.Generator,
    starts: int = STARTS,
) -> Codes:
    """Records, shape (attributes, rows), in random order. A record takes the cell with the largest remaining
    count that agrees with what it has already, table after table; then one is taken off its cell in every
    table, also in those that add nothing. Equal counts are told apart by chance."""
    codes = np.zeros((attributes, rows), dtype=np.uint16)
    if not rows:
        return codes
    sizes = np.ones(attributes, dtype=np.int64)
    for axes, wanted in wishes:
        sizes[list(axes)] = wanted.shape
    ends = np.linspace(0, rows, starts + 1).astype(np.int64)
    # Random fractions below one break ties and never change the order of different counts.
    remaining = [wanted.ravel() + rng.random(wanted.size) for _, wanted in wishes]
    for start, end in itertools.pairwise(ends.tolist()):
        if end > start:
            part = codes[:, start:end]
            _draw_part(part, [axes for axes, _ in wishes], remaining, sizes=sizes, rng=rng)
    return np.ascontiguousarray(codes[:, rng.permutation(rows)])


def draw_order(groups: Sequence[Axes], *, rng: np.random.Generator) -> list[int]:
    """The places of groups in an order that begins with any, goes on with the one that adds the fewest
    attributes, and leaves out those that add none."""
    places = rng.permutation(len(groups)).tolist()
    known: set[int] = set()
    order: list[int] = []
    while places := [index for index in places if set(groups[index]) - known]:
        best = (
            min(places, key=lambda index: len(set(groups[index]) - known))
            if order
            else places[0]
        )
        order.append(best)
        known |= set(groups[best])
    return order


def _draw_part(
    codes: Codes,
    groups: Sequence[Axes],
    remaining: list[Floats],
    *,
    sizes: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Fills the records of one order, and takes them off what is left."""
    order = draw_order(groups, rng=rng)
    order += [index for index in range(len(groups)) if index not in set(order)]
    known: set[int] = set()
    tables, axes, widths, fixed = [], [], [], []
    for index in order:
        group = groups[index]
        old = [axis for axis in group if axis in known]
        new = [axis for axis in group if axis not in known]
        known |= set(new)
        shape = [int(sizes[axis]) for axis in group]
        turned = (
            remaining[index]
            .reshape(shape)
            .transpose([group.index(axis) for axis in (*old, *new)])
        )
        tables.append(np.ascontiguousarray(turned).ravel())
        axes.append([*old, *new])
        widths.append(len(group))
        fixed.append(len(old))
    flat = np.concatenate(tables)
    offsets = np.cumsum([0, *(table.size for table in tables)])
    axes_of = np.full((len(order), max(widths)), -1, dtype=np.int64)
    for number, table_axes in enumerate(axes):
        axes_of[number, : len(table_axes)] = table_axes
    _fill(codes, flat, offsets, axes_of, np.array(widths), np.array(fixed), sizes)
    for number, index in enumerate(order):
        group = groups[index]
        turned = flat[offsets[number] : offsets[number + 1]].reshape(
            [int(sizes[axis]) for axis in axes[number]]
        )
        remaining[index] = np.ascontiguousarray(
            turned.transpose([axes[number].index(axis) for axis in group])
        ).ravel()


# A compiled function takes plain arrays and numbers: numba knows no frozen dataclass.
@compiled
def _fill(  # noqa: C901
    codes: Any, flat: Any, offsets: Any, axes_of: Any, widths: Any, fixed: Any, sizes: Any
) -> Any:  # pragma: no cover
    """Table by table for each record; attributes that are known already come first in every table. The
    largest cell of the first table is kept at the root of a tree of maxima."""
    first = offsets[1] - offsets[0]
    base = 1
    while base < first:
        base *= 2
    tree = np.full(2 * base, -1, dtype=np.int64)
    for cell in range(first):
        tree[base + cell] = cell
    for node in range(base - 1, 0, -1):
        first_child, second_child = tree[2 * node], tree[2 * node + 1]
        tree[node] = (
            first_child
            if second_child < 0
            or (first_child >= 0 and flat[first_child] >= flat[second_child])
            else second_child
        )
    for row in range(codes.shape[1]):
        for number in range(widths.size):
            start, width, old = offsets[number], widths[number], fixed[number]
            index = 0
            for i in range(old):
                axis = axes_of[number, i]
                index = index * sizes[axis] + codes[axis, row]
            span = 1
            for i in range(old, width):
                span *= sizes[axes_of[number, i]]
            best = start + index * span
            if number == 0:
                best = tree[1]
            elif span > 1:
                for cell in range(start + index * span, start + (index + 1) * span):
                    if flat[cell] > flat[best]:
                        best = cell
            flat[best] -= 1.0
            rest = (best - start) % span
            for i in range(width - 1, old - 1, -1):
                axis = axes_of[number, i]
                codes[axis, row] = rest % sizes[axis]
                rest //= sizes[axis]
            if number == 0:
                node = (base + best) // 2
                while node > 0:
                    first_child, second_child = tree[2 * node], tree[2 * node + 1]
                    tree[node] = (
                        first_child
                        if second_child < 0
                        or (first_child >= 0 and flat[first_child] >= flat[second_child])
                        else second_child
                    )
                    node //= 2
