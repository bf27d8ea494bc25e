"""Consistent, non-negative counts of a tree from noisy ones.

A node's own noisy count and the sum of its children's counts are two measurements of one number. The upward
pass combines them by inverse variance, from the deepest nodes on. The downward pass moves the counts of
siblings so that they add up to the count of their parent, each child in proportion to its variance, and
projects them so that none is negative. This is Hay et al. 2010 with unequal variances; the projection is this
project's. A node that was opened only because its noise was large is corrected by the counts of its children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import Hierarchy, Prefixes
from synth_engine.hierarchy.growth import Growth, Level
from synth_engine.hierarchy.partition import NodeSet

Floats = npt.NDArray[np.float64]


class _Noise(Protocol):
    @property
    def variance(self) -> float: ...


class CountTable(Protocol):
    """Noisy counts of nodes, one each."""

    @property
    def partition(self) -> NodeSet: ...

    @property
    def noise(self) -> _Noise: ...

    @property
    def values(self) -> npt.NDArray[Any]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafEstimates:
    """The nodes that were not opened: depth, smallest code and estimated count of each; the counts add up to
    the total."""

    levels: npt.NDArray[np.int64]
    prefixes: Prefixes
    counts: Floats

    def take(self, mask: npt.NDArray[np.bool_]) -> LeafEstimates:
        return LeafEstimates(
            levels=self.levels[mask], prefixes=self.prefixes[mask], counts=self.counts[mask]
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Estimate:
    counts: Floats
    variances: Floats


def total(
    growth: Growth,
    hierarchy: Hierarchy,
    *,
    own: tuple[float, float] | None,
    variance: float = 0.0,
    counted: Sequence[CountTable] = (),
) -> float:
    """Estimate the number of records. own: a noisy count of all records and its variance, if there is one;
    the other arguments are those of `leaves`."""
    levels = list(growth.levels(hierarchy))
    root = _from_below(
        levels, growth, _own(levels, growth, variance=variance, counted=counted)
    )[0]
    below, spread = float(root.counts.sum()), float(root.variances.sum())
    if own is None:
        return below
    weight = spread / (spread + own[1])
    return weight * own[0] + (1 - weight) * below


def leaves(
    growth: Growth,
    hierarchy: Hierarchy,
    *,
    total: float,
    variance: float = 0.0,
    counted: Sequence[CountTable] = (),
) -> LeafEstimates:
    """Estimate the counts of the nodes that were not opened.

    total: the number of records, which the counts add up to.
    variance: variance of each noisy count that the tree itself holds.
    counted: tables of noisy counts of nodes, where the tree itself holds none.
    Errors: ValueError if a table counts nodes that the tree does not have, or if a leaf was not counted."""
    levels = list(growth.levels(hierarchy))
    # Upward pass of Hay et al. 2010: each node's own count and the sum of its children's,
    # weighted by inverse variance.
    estimates = _from_below(
        levels, growth, _own(levels, growth, variance=variance, counted=counted)
    )
    given = np.array([max(total, 0.0)])
    closed_nodes = []
    for level, estimate, opened in zip(levels, estimates, growth.opened, strict=True):
        # Downward pass: siblings are moved to the estimate of their parent, from the root on.
        counts = project_nonnegative(
            estimate.counts, estimate.variances, sums=given, parents=level.parents
        )
        closed = np.ones(len(level), dtype=np.bool_)
        closed[opened] = False
        closed_nodes.append(
            (np.full(int(closed.sum()), level.level), level.prefixes[closed], counts[closed])
        )
        given = counts[opened]
    return LeafEstimates(
        levels=np.concatenate([one[0] for one in closed_nodes]).astype(np.int64),
        prefixes=np.concatenate([one[1] for one in closed_nodes]),
        counts=np.concatenate([one[2] for one in closed_nodes]),
    )


def _own(
    levels: Sequence[Level], growth: Growth, *, variance: float, counted: Sequence[CountTable]
) -> list[_Estimate]:
    """Returns the own count of every node, by depth from the first on; of infinite variance
    where it was not counted."""
    if not counted:
        return [
            _Estimate(
                counts=counts.astype(np.float64), variances=np.full(counts.size, variance)
            )
            for counts in growth.counts
        ]
    estimates = [
        _Estimate(counts=np.zeros(len(level)), variances=np.full(len(level), np.inf))
        for level in levels
    ]
    for table in counted:
        for level, own in zip(levels, estimates, strict=True):
            mine = table.partition.levels == level.level
            places = np.searchsorted(level.prefixes, table.partition.prefixes[mine])
            if not np.array_equal(
                level.prefixes[np.minimum(places, len(level) - 1)],
                table.partition.prefixes[mine],
            ):
                raise ValueError("counts of other nodes than the tree has")
            own.counts[places] = table.values.ravel()[mine]
            own.variances[places] = table.noise.variance
    for own, opened in zip(estimates, growth.opened, strict=True):
        uncounted = np.isinf(own.variances)
        uncounted[opened] = False
        if uncounted.any():
            raise ValueError("a node at which the tree ends was not counted")
    return estimates


def _from_below(
    levels: Sequence[Level], growth: Growth, own: Sequence[_Estimate]
) -> list[_Estimate]:
    """Estimates the count of every node from its own and all counts below it, by depth from the
    first on."""
    estimates: list[_Estimate] = []
    deeper: tuple[Floats, Floats] | None = None
    for level, mine, opened in zip(
        reversed(levels), reversed(own), reversed(growth.opened), strict=True
    ):
        counts, variances = mine.counts.copy(), mine.variances.copy()
        if deeper is not None and opened.size:
            # deeper[1] is the variance of the children's sum: the noisier of two estimates has
            # the smaller weight.
            weight = deeper[1] / (deeper[1] + variances[opened])
            counts[opened] = weight * counts[opened] + (1 - weight) * deeper[0]
            variances[opened] = 1 / (1 / deeper[1] + 1 / variances[opened])
        estimates.append(_Estimate(counts=counts, variances=variances))
        sums, spread = (
            np.bincount(level.parents, weights=each) for each in (counts, variances)
        )
        deeper = sums.astype(np.float64), spread.astype(np.float64)
    return estimates[::-1]


def project_nonnegative(
    counts: Floats, variances: Floats, *, sums: Floats, parents: npt.NDArray[np.int64]
) -> Floats:
    """Project counts onto those that are not negative and add up to the count of each parent, in the metric
    of their variances.

    parents: the index of each child's parent, increasing; sums: the count of each parent, not negative.

    The answer is max(0, count + variance * shift) with one shift for a parent. Where it crosses zero the
    children of a parent are sorted; with the first k of them above zero the shift is (sum - their counts) /
    (their variances), and k is the largest for which the k-th stays above it."""
    # The shift at which each child reaches zero; sorted by it, the positive children come
    # first.
    at_zero = -counts / variances
    order = np.lexsort((at_zero, parents))
    family = parents[order]
    starts = np.searchsorted(family, np.arange(sums.size))
    reached = (
        np.cumsum(counts[order]) - np.append(0.0, np.cumsum(counts[order]))[starts][family]
    )
    spread = (
        np.cumsum(variances[order])
        - np.append(0.0, np.cumsum(variances[order]))[starts][family]
    )
    shifts = (sums[family] - reached) / spread
    above = (shifts > at_zero[order]) | (np.arange(family.size) == starts[family])
    last = np.maximum.reduceat(np.where(above, np.arange(family.size), -1), starts)
    projected: Floats = np.maximum(0.0, counts + variances * shifts[last][parents])
    projected[np.repeat(sums == 0, np.bincount(parents, minlength=sums.size))] = 0.0
    return projected
