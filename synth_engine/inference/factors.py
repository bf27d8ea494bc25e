"""Cliques, and tables over them: which axes a table has, sums over some of them, products.

A clique is a tuple of attribute names; the axes of a table stand in the order of its clique. All of it is
post-processing: it sees noisy values and public facts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.measurement import Clique, Measurement

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Sizes = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Noisy:
    """Counts of a clique with independent noise of one variance on every cell; float64, one axis for each
    attribute."""

    clique: Clique
    values: Floats
    variance: float

    def __post_init__(self) -> None:
        if self.values.dtype != np.float64 or self.values.ndim != len(self.clique):
            raise TypeError("values are float64 with one axis for each attribute")
        if len(set(self.clique)) != len(self.clique):
            raise TypeError("a clique names each attribute once")
        if not (math.isfinite(self.variance) and self.variance > 0):
            raise TypeError("a variance is a positive number")

    @classmethod
    def of(cls, measurement: Measurement) -> Noisy:
        values = measurement.values.astype(np.float64)
        return cls(
            clique=measurement.clique, values=values, variance=measurement.noise.variance
        )


def mean(first: Noisy, second: Noisy) -> Noisy:
    """Two tables of one clique, its axes in the same order, as one: their mean, weighted by precision."""
    variance = 1 / (1 / first.variance + 1 / second.variance)
    values = variance * (first.values / first.variance + second.values / second.variance)
    return Noisy(clique=first.clique, values=values, variance=variance)


def cells(clique: Iterable[str], sizes: Sizes) -> int:
    """How many cells the table of a clique has."""
    return math.prod(sizes[name] for name in clique)


def ordered(names: Iterable[str], sizes: Sizes) -> Clique:
    """The attributes once each, in the order of the sizes, which is that of the domain."""
    wanted = set(names)
    return tuple(name for name in sizes if name in wanted)


def subsets(clique: Clique) -> Iterator[Clique]:
    """All subsets, the empty one first, in the order of the clique."""
    for size in range(len(clique) + 1):
        yield from itertools.combinations(clique, size)


def turned(
    table: npt.NDArray[np.generic], clique: Clique, onto: Clique
) -> npt.NDArray[np.generic]:
    """The same table with its axes in another order."""
    if clique == onto:
        return table
    return table.transpose([clique.index(name) for name in onto])


def margin(table: Floats, clique: Clique, onto: Clique) -> Floats:
    """Sums over all attributes that are not in `onto`, axes in the order of `onto`."""
    # Axes that are summed out.
    others = tuple(axis for axis, name in enumerate(clique) if name not in onto)
    sums = table.sum(axis=others) if others else table
    remaining = tuple(name for name in clique if name in onto)
    return np.asarray(turned(sums, remaining, onto), dtype=np.float64)


def spread(table: Floats, clique: Clique, onto: Clique) -> Floats:
    """The table as one that can be added to or multiplied with one over `onto`: with axes of length 1 in
    it."""
    present = tuple(name for name in onto if name in clique)
    turned_ = turned(table, clique, present)
    shape = iter(turned_.shape)
    return np.asarray(
        turned_.reshape([next(shape) if name in clique else 1 for name in onto]),
        dtype=np.float64,
    )


def product(oneways: Sequence[Floats], *, total: float) -> Floats:
    """The table of independent attributes with these counts, which add up to `total` each."""
    if total <= 0:
        return np.zeros(tuple(table.size for table in oneways))
    joint: Floats = np.asarray(float(total))
    for table in oneways:
        joint = np.multiply.outer(joint, table / total)
    return joint
