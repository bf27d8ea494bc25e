"""Noisy tables of overlapping groups of attributes, made to agree on whatever they share.

DPSyn (Li, Zhang and Wang 2018, section 3), after PriView (Qardaji, Yang and Li 2014), for attributes of any
size and noise that differs from table to table. What comes out is the generalised least-squares estimate:
docs/proofs/dpsyn.md. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Axes = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """Noisy counts of a group of attributes, which are numbered: `axes`, ascending, one for each dimension of
    `values`. variance: of the noise of one cell."""

    axes: Axes
    values: Floats
    variance: float

    def __post_init__(self) -> None:
        if list(self.axes) != sorted(set(self.axes)) or self.values.ndim != len(self.axes):
            raise ValueError(
                "a view has one dimension for each of its attributes, in ascending order"
            )
        if not self.variance > 0:
            raise ValueError("the variance of noise is above zero")

    def on(self, axes: Axes) -> Floats:
        """The sums over every attribute that is not among these; they keep a dimension of size 1."""
        rest = tuple(dimension for dimension, axis in enumerate(self.axes) if axis not in axes)
        sums: Floats = self.values.sum(axis=rest, keepdims=True)
        return sums


def shared_sets(groups: Sequence[Axes]) -> list[Axes]:
    """Every set of attributes that two or more groups have in common, closed under intersection, smaller ones
    first; the empty set, on which all of them share their total, is the first."""
    sets = list({frozenset(group) for group in groups})
    common = {first & second for index, first in enumerate(sets) for second in sets[:index]}
    common |= {frozenset[int]()}
    fresh = common
    # Closure under intersection: averaging on a set must not disturb the sets that lie
    # within it.
    while fresh:
        fresh = {first & second for first in fresh for second in sets} - common
        common = common | fresh
    repeated = {
        frozenset(group) for index, group in enumerate(groups) if group in groups[:index]
    }
    return sorted(
        (tuple(sorted(axes)) for axes in common | repeated),
        key=lambda axes: (len(axes), axes),
    )


def make_consistent(
    views: Sequence[View], *, total: float | None = None, order: Sequence[Axes] | None = None
) -> list[View]:
    """The views with equal sums on every set of attributes that they share.

    total: where the number of records is public, what every view is to add up to. order: what `shared` gives
    for the groups of these views, where it is known already.
    """
    adjusted = list(views)
    for axes in order if order is not None else shared_sets([view.axes for view in views]):
        given = total if not axes else None
        holding = [index for index, view in enumerate(adjusted) if set(axes) <= set(view.axes)]
        if len(holding) < 2 and given is None:
            continue
        sums = [adjusted[index].on(axes) for index in holding]
        best = (
            _mean(sums, [adjusted[index] for index in holding])
            if given is None
            else np.full((), given)
        )
        for index, own in zip(holding, sums, strict=True):
            view = adjusted[index]
            # The correction is spread evenly over the cells of a sum, which is the
            # least-squares projection.
            cells = view.values.size // own.size
            adjusted[index] = replace(
                view, values=view.values + (best.reshape(own.shape) - own) / cells
            )
    return adjusted


def _mean(sums: Sequence[Floats], views: Sequence[View]) -> Floats:
    """Of the sums of several views, each with the weight of its precision: a sum of C cells has C times the
    variance of one."""
    shape = tuple(size for size in sums[0].shape if size > 1)
    weights = np.array(
        [
            own.size / (view.values.size * view.variance)
            for own, view in zip(sums, views, strict=True)
        ]
    )
    # Inverse-variance weights: the generalised least-squares mean of independent estimates.
    weights /= weights.sum()
    flat = [weight * own.reshape(shape) for weight, own in zip(weights, sums, strict=True)]
    best: Floats = np.sum(flat, axis=0)
    return best
