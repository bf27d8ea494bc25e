"""Records drawn one by one from tables in an order in which each adds as few attributes as possible: DPSyn's STS (Li,
Zhang and Wang 2018, section 3.3). Post-processing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from synth_engine.inference.consistency import Axes, Floats
from synth_engine.inference.flow import Codes, Wish

STARTS = 8
"""Orders that begin with different tables, each for an equal part of the records."""


def draw(
    wishes: Sequence[Wish],
    *,
    rows: int,
    attributes: int,
    rng: np.random.Generator,
    starts: int = STARTS,
) -> Codes:
    """Records, shape (attributes, rows), in random order. A record takes the cell with the largest remaining count that
    agrees with what it has already, table after table; then one is taken off its cell in every table, also in those
    that add nothing. Equal counts are told apart by chance."""
    codes = np.zeros((attributes, rows), dtype=np.uint16)
    if not rows:
        return codes
    sizes = np.ones(attributes, dtype=np.int64)
    for axes, wanted in wishes:
        sizes[list(axes)] = wanted.shape
    ends = np.linspace(0, rows, starts + 1).astype(np.int64)
    left = [wanted.ravel() + rng.random(wanted.size) for _, wanted in wishes]
    for start, end in itertools.pairwise(ends.tolist()):
        if end > start:
            part = codes[:, start:end]
            _draw_part(part, [axes for axes, _ in wishes], left, sizes=sizes, rng=rng)
    return np.ascontiguousarray(codes[:, rng.permutation(rows)])


def ordered(groups: Sequence[Axes], *, rng: np.random.Generator) -> list[int]:
    """The places of groups in an order that begins with any, goes on with the one that adds the fewest attributes, and
    leaves out those that add none."""
    places = rng.permutation(len(groups)).tolist()
    known: set[int] = set()
    found: list[int] = []
    while places := [place for place in places if set(groups[place]) - known]:
        best = (
            min(places, key=lambda place: len(set(groups[place]) - known))
            if found
            else places[0]
        )
        found.append(best)
        known |= set(groups[best])
    return found


def _draw_part(
    codes: Codes,
    groups: Sequence[Axes],
    left: list[Floats],
    *,
    sizes: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Fills the records of one order, and takes them off what is left."""
    order = ordered(groups, rng=rng)
    order += [place for place in range(len(groups)) if place not in set(order)]
    known: set[int] = set()
    tables, axes, widths, fixed = [], [], [], []
    for place in order:
        group = groups[place]
        old = [axis for axis in group if axis in known]
        new = [axis for axis in group if axis not in known]
        known |= set(new)
        shape = [int(sizes[axis]) for axis in group]
        turned = (
            left[place].reshape(shape).transpose([group.index(axis) for axis in (*old, *new)])
        )
        tables.append(np.ascontiguousarray(turned).ravel())
        axes.append([*old, *new])
        widths.append(len(group))
        fixed.append(len(old))
    flat = np.concatenate(tables)
    offsets = np.cumsum([0, *(table.size for table in tables)])
    listed = np.full((len(order), max(widths)), -1, dtype=np.int64)
    for number, one in enumerate(axes):
        listed[number, : len(one)] = one
    _fill(codes, flat, offsets, listed, np.array(widths), np.array(fixed), sizes)
    for number, place in enumerate(order):
        group = groups[place]
        turned = flat[offsets[number] : offsets[number + 1]].reshape(
            [int(sizes[axis]) for axis in axes[number]]
        )
        left[place] = np.ascontiguousarray(
            turned.transpose([axes[number].index(axis) for axis in group])
        ).ravel()


@numba.njit(cache=True)
def _fill(codes, flat, offsets, listed, widths, fixed, sizes):  # type: ignore[no-untyped-def] # noqa: C901 # pragma: no cover
    """Table by table for each record; attributes that are known already come first in every table. The largest cell of the
    first table is kept at the root of a tree of maxima."""
    first = offsets[1] - offsets[0]
    base = 1
    while base < first:
        base *= 2
    tree = np.full(2 * base, -1, dtype=np.int64)
    for cell in range(first):
        tree[base + cell] = cell
    for node in range(base - 1, 0, -1):
        one, other = tree[2 * node], tree[2 * node + 1]
        tree[node] = one if other < 0 or (one >= 0 and flat[one] >= flat[other]) else other
    for row in range(codes.shape[1]):
        for number in range(widths.size):
            start, width, old = offsets[number], widths[number], fixed[number]
            place = 0
            for i in range(old):
                axis = listed[number, i]
                place = place * sizes[axis] + codes[axis, row]
            span = 1
            for i in range(old, width):
                span *= sizes[listed[number, i]]
            best = start + place * span
            if number == 0:
                best = tree[1]
            elif span > 1:
                for cell in range(start + place * span, start + (place + 1) * span):
                    if flat[cell] > flat[best]:
                        best = cell
            flat[best] -= 1.0
            rest = (best - start) % span
            for i in range(width - 1, old - 1, -1):
                axis = listed[number, i]
                codes[axis, row] = rest % sizes[axis]
                rest //= sizes[axis]
            if number == 0:
                node = (base + best) // 2
                while node > 0:
                    one, other = tree[2 * node], tree[2 * node + 1]
                    tree[node] = (
                        one if other < 0 or (one >= 0 and flat[one] >= flat[other]) else other
                    )
                    node //= 2
