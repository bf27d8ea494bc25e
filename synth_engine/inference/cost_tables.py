"""Costs of the cells of all tables, which the refinement of records lowers, and which attributes it changes
together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.inference import swap_kernels
from synth_engine.inference.triple_start import TripleStart

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint16]
Truth = npt.NDArray[np.bool_]
Axes = tuple[int, ...]
Lists = tuple[swap_kernels.Places, swap_kernels.Places]
Strided = tuple[int, int]
"""An axis of a table and its stride."""

JOINT_THRESHOLDS = (0.9, 0.7, 0.5, 0.3)
"""Attributes whose uncertainty coefficient is above one of these are changed together."""
MAX_NEIGHBOURS = 3
"""Number of attributes that are changed together with each attribute, at most, or by which records are sorted
for it."""
_GRAIN = 256
"""Uncertainty coefficients are rounded to multiples of one part of so many, because logarithms differ from
machine to machine."""
SOFTNESS = 3.0
"""Added to each target in the denominator of a cost, so that empty cells do not outweigh all others."""
FIRST_AXES = 3
"""Number of attributes of a table that compiled loops read without a loop over attributes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttributeFacts:
    """Facts about attributes besides their targets. Attributes are given by their positions in the codes.

    allowed: for sets of two attributes or more, which cells may be entered; a row in allowed cells stays in
    allowed cells. tied: disjoint sets of attributes. A row takes all values of such a set from another row,
    or none of them. ordered: of each attribute, whether neighbouring codes mean neighbouring values; None:
    tables of three attributes are not refined. start: where the fitting of tables of three attributes starts;
    None for uniform tables. strengths: how much attributes of a target depend on each other
    (`dependence_strengths`); used for tables of three attributes only.
    """

    allowed: Sequence[tuple[Axes, Truth]] = ()
    tied: Sequence[Axes] = ()
    ordered: Sequence[bool] | None = None
    start: TripleStart | None = None
    strengths: Mapping[tuple[int, int], float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RowRepeats:
    """How often rows count: the `first` ones so many `times`, the others once."""

    first: int
    times: int

    def total(self, rows: int) -> int:
        """Of so many rows."""
        return rows + (self.times - 1) * self.first

    def table(self, codes: Codes, axes: Axes, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """The counts of all rows by any attributes.

        codes: shape (attributes, rows), all below the sizes in `shape`, which is not checked here.
        """
        counts = np.zeros(prod(shape), dtype=np.int64)
        strides = [prod(shape[place + 1 :]) for place in range(len(shape))]
        # A table of fewer attributes reads its last one again, with no stride.
        missing = FIRST_AXES - len(axes)
        places = np.array(
            [*zip(axes, strides, strict=True), *[(axes[-1], 0)] * missing], dtype=np.int64
        )
        further = places[FIRST_AXES:] if len(places) > FIRST_AXES else None
        swap_kernels.count_cells(
            codes, places[:FIRST_AXES], further, self.first, self.times, counts
        )
        return counts.reshape(shape)


ONCE = RowRepeats(first=0, times=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class CostTables:
    """The costs of all tables, with one copy of each table for each of its axes; layout: see `swap_kernels`.
    axes: of each table, targets before constraints; own: of each attribute, the copies in which it is the
    last axis; touched: all copies that it is in."""

    targets: Sequence[tuple[Axes, Floats]]
    axes: Sequence[Axes]
    costs: swap_kernels.Costs
    copies: swap_kernels.Places
    further: swap_kernels.Further
    sizes: swap_kernels.Places
    own: Lists
    touched: Lists

    @property
    def arrays(self) -> swap_kernels.Tables:
        """What a change of a record reads and writes. The costs are those of this object, not a copy."""
        return swap_kernels.Tables(self.costs, self.copies, self.further, *self.touched)

    @property
    def values(self) -> swap_kernels.ValueCopies:
        return swap_kernels.ValueCopies(self.sizes, *self.own)

    def views(self) -> swap_kernels.Views:
        """What `take_best_by_column` and `move_to_counts` read and write: a copy of the present costs, column
        by column."""
        columns = swap_kernels.CostColumns(*(column.copy() for column in self.costs.T))
        return swap_kernels.Views(columns, self.arrays, self.values)


def sizes_of(attributes: int, tables: Sequence[tuple[Axes, npt.NDArray[Any]]]) -> list[int]:
    """How many values each attribute has, 0 where no table says; ValueError where they disagree."""
    sizes = [0] * attributes
    for axes, table in tables:
        if len(axes) < 2 or len(set(axes)) < len(axes) or table.ndim != len(axes):
            raise ValueError("a table of the finish is of two different attributes or more")
        for axis, size in zip(axes, table.shape, strict=True):
            if sizes[axis] not in (0, size):
                raise ValueError("tables of the finish disagree about the size of an attribute")
            sizes[axis] = size
    return sizes


def build(
    codes: Codes,
    targets: Sequence[tuple[Axes, Floats]],
    *,
    allowed: Sequence[tuple[Axes, Truth]],
    weights: Sequence[float],
    softness: float,
    times: RowRepeats = ONCE,
) -> CostTables:
    """Return the costs of the rows, given their targets. times: how often rows count. ValueError for codes
    that a table has no cell for."""
    sizes = sizes_of(len(codes), [*targets, *allowed])
    if any(
        size and row.size and row.max() >= size for size, row in zip(sizes, codes, strict=True)
    ):
        raise ValueError("a code of the finish is outside the tables of its attribute")
    parts = [
        *(
            costs_of(codes, a, t, weight=w, softness=softness, times=times)
            for (a, t), w in zip(targets, weights, strict=True)
        ),
        # Constraints are tables too: their forbidden cells cost infinitely much.
        *((np.where(t, 0.0, np.inf), np.zeros(t.shape)) for _, t in allowed),
    ]
    axes = [of_table for of_table, _ in (*targets, *allowed)]
    lines = [
        (number, last) for number, of_table in enumerate(axes) for last in range(len(of_table))
    ]
    starts = np.cumsum([0, *(parts[number][0].size for number, _ in lines)])
    costs = np.empty((int(starts[-1]), 2), dtype=np.float32)
    for (number, last), start in zip(lines, starts.tolist(), strict=False):
        for column, part in enumerate(parts[number]):
            others = [axis for axis in range(part.ndim) if axis != last]
            costs[start : start + part.size, column] = part.transpose(*others, last).ravel()
    lasts = [axes[number][last] for number, last in lines]
    own = [
        [copy for copy, last in enumerate(lasts) if last == attribute]
        for attribute in range(len(codes))
    ]
    rests = [_other_axes(axes[number], last, sizes) for number, last in lines]
    return CostTables(
        targets=targets,
        axes=axes,
        costs=costs,
        copies=np.array(
            [
                [last, *first_two(rest), start]
                for last, rest, start in zip(lasts, rests, starts.tolist(), strict=False)
            ]
        ),
        further=after_two(rests),
        sizes=np.array(sizes, dtype=np.int64),
        own=flatten_lists(own),
        touched=flatten_lists(
            [m for m, (n, _) in enumerate(lines) if attribute in axes[n]]
            for attribute in range(len(codes))
        ),
    )


def _other_axes(axes: Axes, last: int, sizes: Sequence[int]) -> list[Strided]:
    """Return the other axes of a copy, each with its stride."""
    others, stride = [], sizes[axes[last]]
    for axis in reversed([axis for place, axis in enumerate(axes) if place != last]):
        others.append((axis, stride))
        stride *= sizes[axis]
    return others[::-1]


def first_two(others: Sequence[Strided]) -> list[int]:
    """Return the first two axes, then their strides; the only axis is read twice, the second time with no
    stride."""
    (one, step), (two, other) = (
        others[:2] if len(others) > 1 else (others[0], (others[0][0], 0))
    )
    return [one, two, step, other]


def after_two(lists: Sequence[Sequence[Strided]]) -> swap_kernels.Further:
    """Return what `swap_kernels` reads as `further`: a line for each list of axes."""
    most = max((len(others) for others in lists), default=0) - 2
    if most <= 0:
        return None
    further = np.zeros((len(lists), 1 + 2 * most), dtype=np.int64)
    for line, others in zip(further, lists, strict=True):
        after = [number for strided in others[2:] for number in strided]
        line[: 1 + len(after)] = [len(after) // 2, *after]
    return further


def costs_of(
    codes: Codes,
    axes: Axes,
    target: Floats,
    *,
    weight: float = 1.0,
    softness: float,
    times: RowRepeats = ONCE,
) -> tuple[Floats, Floats]:
    """Return what one more record costs in each cell, and by how much that cost grows with each record.
    times: how often rows count."""
    rows, total = times.total(codes.shape[1]), float(target.sum())
    wanted = target * (rows / total) if total > 0 else target
    counts = times.table(codes, axes, target.shape)
    steep = weight / (wanted + softness)
    return (2 * (counts - wanted) + 1) * steep, 2 * steep


def flatten_lists(given: Iterable[Sequence[int]]) -> Lists:
    """Return where each list begins, and the lists one after another."""
    parts = list(given)
    first = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
    return first, np.array([number for part in parts for number in part], dtype=np.int64)


# --- which attributes belong together -----------------------------------------------------------------------


def uncertainty_coefficients(table: Floats) -> list[float]:
    """Return for each attribute of a table which part of its entropy the others explain, 0 to 1."""
    total = float(table.sum())
    if total <= 0:
        return [0.0] * table.ndim
    both = _entropy(table / total)
    axes = range(table.ndim)
    own = [
        _entropy(table.sum(axis=tuple(k for k in axes if k != axis)) / total) for axis in axes
    ]
    # For a table of two attributes, the other attributes of each are just the other one.
    others = (
        own[::-1]
        if table.ndim == 2
        else [_entropy(table.sum(axis=axis) / total) for axis in axes]
    )
    return [
        _on_grain((one + other - both) / one) if one > 0 else 0.0
        for one, other in zip(own, others, strict=True)
    ]


def _on_grain(part: float) -> float:
    """Return a part, rounded, so that the order of a sum does not change what is made of it."""
    return round(min(1.0, max(0.0, part)) * _GRAIN) / _GRAIN


def _entropy(shares: Floats) -> float:
    positive = shares[shares > 0]
    return -float(positive @ np.log(positive))


def dependence_strengths(
    targets: Sequence[tuple[Axes, Floats]],
) -> dict[tuple[int, int], float]:
    """Return for each pair of attributes that share a table the larger of their two uncertainty
    coefficients."""
    strengths: dict[tuple[int, int], float] = {}
    for axes, table in targets:
        for first, second in combinations(range(len(axes)), 2):
            others = tuple(k for k in range(table.ndim) if k not in (first, second))
            pair = table.sum(axis=others) if others else table
            coefficient = max(uncertainty_coefficients(pair))
            key = (min(axes[first], axes[second]), max(axes[first], axes[second]))
            strengths[key] = max(strengths.get(key, 0.0), coefficient)
    return strengths


def attribute_sets(
    targets: Sequence[tuple[Axes, Floats]],
    strength: Mapping[tuple[int, int], float],
    *,
    tied: Sequence[Axes] = (),
) -> list[Axes]:
    """Return sets of attributes that are changed together: each attribute by itself, each with those on which
    it depends most, and groups of dependent attributes. A set that holds one of `tied` attributes holds all
    of them. strength: `dependence_strengths` of the targets."""
    free = sorted({axis for axes, _ in targets for axis in axes})
    sets = []
    for axis in free:
        nearby = nearest(axis, strength)
        sets += [{axis, *nearby[:count]} for count in range(len(nearby) + 1)]
    # Components at several thresholds: strongly dependent groups first, looser ones around
    # them.
    for threshold in JOINT_THRESHOLDS:
        groups = _components(free, strength, threshold)
        sets += [set(group) for group in groups if 1 < len(group) < len(free)]
    whole = [axes.union(*(group for group in tied if axes & set(group))) for axes in sets]
    return list(dict.fromkeys(tuple(sorted(axes)) for axes in whole))


def nearest(axis: int, strength: Mapping[tuple[int, int], float]) -> list[int]:
    """Return the attributes that depend most on one, the strongest first, at most `MAX_NEIGHBOURS`. strength:
    `dependence_strengths`."""
    others = sorted(
        (pair for pair in strength if axis in pair), key=lambda pair: (-strength[pair], pair)
    )
    return [pair[0] if pair[1] == axis else pair[1] for pair in others[:MAX_NEIGHBOURS]]


def _components(
    free: Sequence[int], tied: Mapping[tuple[int, int], float], threshold: float
) -> list[Axes]:
    group = {axis: axis for axis in free}
    for (first, second), strength in tied.items():
        if strength > threshold and group[first] != group[second]:
            old, new = group[second], group[first]
            group = {axis: new if number == old else number for axis, number in group.items()}
    return [
        tuple(axis for axis in free if group[axis] == number)
        for number in sorted(set(group.values()))
    ]


def tables_of(sets: Sequence[Axes], tables: CostTables) -> Lists:
    """Return for each set one copy of each table that has one of its attributes."""
    # A table has as many copies as axes, one after another.
    firsts = accumulate((len(axes) for axes in tables.axes), initial=0)
    seen = [(copy, frozenset(axes)) for copy, axes in zip(firsts, tables.axes, strict=False)]
    return flatten_lists(
        [copy for copy, axes in seen if axes & set(axes_set)] for axes_set in sets
    )
