"""Boxes from noisy counts: consistent counts, groups of which none is small, and the table that generates
records. A function of paid answers alone.

Counts of all rounds are combined as those of a tree are (`hierarchy.estimate`): a box and the boxes that it
was divided into are two measurements of one number. Groups are then made from the first division on: children
with few records are put together and not divided further, and are left out where they are still few together,
as `suppression` does for a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy import UNDIVIDED, Boxes
from synth_engine.hierarchy.estimate import project_nonnegative

Floats = npt.NDArray[np.float64]
MAX_CELLS = 1_000_000
"""Cells of the table that generates records, over the values that groups tell apart."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedRound:
    """Noisy counts of the boxes after so many `rounds`, with the variance of their noise."""

    rounds: int
    values: Floats
    variance: float


@dataclass(frozen=True, kw_only=True)
class BoxGroup:
    """Records that are published together: a class in each column. column, among: the column in which classes
    are put together, and these classes; None and empty where there are none. count: noisy, made to agree with
    the others."""

    classes: tuple[int, ...]
    column: int | None = None
    among: tuple[int, ...] = ()
    count: float

    def codes(self, boxes: Boxes, column: int) -> npt.NDArray[np.intp]:
        """The codes of one column that records of the group may have, increasing."""
        members = boxes.trees[column].members
        if column != self.column:
            return members[self.classes[column]]
        return np.sort(np.concatenate([members[one] for one in self.among]))


def estimate(boxes: Boxes, counted: Sequence[CountedRound], *, total: float) -> list[Floats]:
    """Counts of the boxes before the first round and after each, none negative, those after a round adding up
    to those before it, and all to the total. Boxes after the last round were counted."""
    counts = [np.zeros(len(classes)) for classes in boxes.by_round]
    precision = [np.zeros(len(classes)) for classes in boxes.by_round]
    for one in counted:
        counts[one.rounds] += one.values / one.variance
        precision[one.rounds] += 1 / one.variance
    best = [counts[-1] / precision[-1]]
    variances = [1 / precision[-1]]
    # Upward: what is below a box is another measurement of its records.
    for level in range(len(boxes.rounds) - 1, -1, -1):
        below = np.bincount(boxes.parents[level], weights=best[0])
        spread = np.bincount(boxes.parents[level], weights=variances[0])
        weight = precision[level] + 1 / spread
        best.insert(0, (counts[level] + below / spread) / weight)
        variances.insert(0, 1 / weight)
    # Downward: the boxes after a round add up to the box before it.
    agreed = [np.array([max(total, 0.0)])]
    for parents, values, variance in zip(boxes.parents, best[1:], variances[1:], strict=True):
        agreed.append(project_nonnegative(values, variance, sums=agreed[-1], parents=parents))
    return agreed


@dataclass(kw_only=True)
class _Grouping:
    boxes: Boxes
    counts: Sequence[Floats]
    least: float
    groups: list[BoxGroup] = field(default_factory=list)

    def divide(self, level: int, box: int, records: float) -> None:
        """Makes groups of a box before a round, which have so many records together."""
        while level < len(self.boxes.rounds) and self._column(level, box) == UNDIVIDED:
            level, box = level + 1, int(self._children(level, box)[0])
        classes = tuple(self.boxes.by_round[level][box].tolist())
        whole = BoxGroup(classes=classes, count=records)
        if level == len(self.boxes.rounds):
            self.groups.append(whole)
            return
        children = self._children(level, box)
        sizes = self.counts[level + 1][children]
        large = sizes >= self.least
        # Dividing this box would only make groups below the least size.
        if not large.any():
            self.groups.append(whole)
            return
        together = float(sizes[~large].sum())
        published = float(sizes[large].sum()) + (together if together >= self.least else 0.0)
        if together >= self.least:
            column = self._column(level, box)
            among = self.boxes.by_round[level + 1][children[~large], column]
            self.groups.append(
                BoxGroup(
                    classes=classes,
                    column=column,
                    among=tuple(among.tolist()),
                    count=records * together / published,
                )
            )
        for child, size in zip(children[large], sizes[large], strict=True):
            self.divide(level + 1, int(child), records * float(size) / published)

    def _column(self, level: int, box: int) -> int:
        return int(self.boxes.rounds[level][box])

    def _children(self, level: int, box: int) -> npt.NDArray[np.int64]:
        first, last = np.searchsorted(self.boxes.parents[level], [box, box + 1])
        return np.arange(first, last)


def large_groups(boxes: Boxes, counts: Sequence[Floats], *, least: float) -> list[BoxGroup]:
    """The groups that are published, each of at least `least` records unless there are fewer in all. counts:
    those of `estimate`."""
    grouping = _Grouping(boxes=boxes, counts=counts, least=least)
    grouping.divide(0, 0, float(counts[0][0]))
    return grouping.groups


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupTable:
    """One table of all groups. columns: those that groups tell apart; bins: for each of them the bin of each
    code, codes of one bin being alike in every group; weights: one axis for each column, over its bins."""

    columns: tuple[str, ...]
    bins: Mapping[str, npt.NDArray[np.int64]]
    weights: Floats


def table_of(
    boxes: Boxes, groups: Sequence[BoxGroup], *, alone: Mapping[str, Floats]
) -> GroupTable | None:
    """Spreads the records of each group over its codes, column by column in proportion to the column `alone`,
    a weight for each code. None where the table has too many cells."""
    names = [tree.column for tree in boxes.trees]
    bins = [_bins(boxes, groups, column) for column in range(len(names))]
    distinguished = [column for column, each in enumerate(bins) if each.max() > 0]
    shape = tuple(int(bins[column].max()) + 1 for column in distinguished)
    if prod(shape) > MAX_CELLS:
        return None
    weights = np.zeros(shape)
    for group in groups:
        shares = np.ones(())
        inside = []
        for column, size in zip(distinguished, shape, strict=True):
            codes = group.codes(boxes, column)
            share = np.bincount(
                bins[column][codes], weights=alone[names[column]][codes], minlength=size
            )
            if share.sum() <= 0:
                share = np.bincount(bins[column][codes], minlength=size).astype(np.float64)
            there = np.flatnonzero(np.bincount(bins[column][codes], minlength=size))
            inside.append(there)
            shares = np.multiply.outer(shares, share[there] / share.sum())
        weights[np.ix_(*inside)] += group.count * shares
    return GroupTable(
        columns=tuple(names[column] for column in distinguished),
        bins={names[column]: bins[column] for column in distinguished},
        weights=weights,
    )


def _bins(boxes: Boxes, groups: Sequence[BoxGroup], column: int) -> npt.NDArray[np.int64]:
    """Codes of a column that every group has both of, or neither, have one bin."""
    size = boxes.trees[column].child_of.shape[1]
    bins = np.zeros(size, dtype=np.int64)
    seen = {
        (group.classes[column],) if group.column != column else group.among for group in groups
    }
    for classes in sorted(seen):
        inside = np.zeros(size, dtype=np.int64)
        for one in classes:
            inside[boxes.trees[column].members[one]] = 1
        bins = 2 * bins + inside
        # Numbered by their first codes: where each code has a bin of its own, bins are the codes.
        _, first, bins = np.unique(bins, return_index=True, return_inverse=True)
        bins = np.argsort(np.argsort(first))[bins]
    return bins
