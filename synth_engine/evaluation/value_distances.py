"""Distances between the values of two columns as they are written, without bins."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec.value_counts import NumberCounts
from synth_engine.evaluation import ascending

Floats = NDArray[np.float64]

# The mean of the Kolmogorov distribution: √(π/2) ln 2.
_MEAN_OF_KOLMOGOROV = math.sqrt(math.pi / 2) * math.log(2)


@dataclass(frozen=True, kw_only=True)
class ValueDistances:
    """Distances of two columns of numbers.

    kolmogorov: the largest gap between the cumulative shares. earth_mover: the mean distance over which a
    value would have to be moved, in the unit of the column.
    """

    kolmogorov: float
    earth_mover: float


def value_distances(real: NumberCounts, synthetic: NumberCounts) -> ValueDistances:
    """Compare two columns of which both have a number."""
    values = ascending.union(real.values, synthetic.values)
    gaps = np.abs(real.below(values, inclusive=True) - synthetic.below(values, inclusive=True))
    # Between neighbouring values both curves are level, so the area between them is a sum.
    moved = float(gaps[:-1] @ np.diff(values))
    return ValueDistances(kolmogorov=float(gaps.max()), earth_mover=moved)


def chance_gap(real: int, synthetic: int) -> float:
    """The mean Kolmogorov distance of two samples of one continuous distribution, of so many values each."""
    if not real or not synthetic:
        return 0.0
    return min(1.0, _MEAN_OF_KOLMOGOROV * math.sqrt(1 / real + 1 / synthetic))


def gap_at(edges: Floats, real: NumberCounts, synthetic: NumberCounts) -> float:
    """The largest gap between the cumulative shares at the edges of bins alone. edges: shape (k,), k at least
    1."""
    below = [side.below(edges, inclusive=False) for side in (real, synthetic)]
    return float(np.abs(below[0] - below[1]).max())


def gap_within(
    first: float, end: float, real: NumberCounts, synthetic: NumberCounts
) -> tuple[float, float]:
    """The Kolmogorov distance of the values from `first` up to but without `end`, and what chance gives;
    zeros where a side has no value there."""
    parts = []
    for side in (real, synthetic):
        start, stop = np.searchsorted(side.values, (first, end))
        parts.append(
            NumberCounts(
                values=side.values[start:stop],
                counts=side.counts[start:stop],
                mean=0.0,
                standard_deviation=0.0,
            )
        )
    if not all(part.total for part in parts):
        return 0.0, 0.0
    gap = value_distances(*parts).kolmogorov
    return gap, chance_gap(parts[0].total, parts[1].total)
