"""Constraints inside the tables of a model: cells that cannot be lose their weight, and the rest is scaled so
that the sums that were measured stay as they are, as far as that can be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.domain.relations import ALL, Truth
from synth_engine.measurement import Clique

Floats = NDArray[np.float64]
Weighted = tuple[Clique, Floats]
"""Weights of the cells of a clique."""

MAX_JOINED_CELLS = 1 << 22
"""Largest product of independent tables, in cells, that is written out."""
MAX_ROUNDS = 200
MAX_CELL_UPDATES = 1 << 27
"""Cells that fitting may scale, over all rounds: about a second."""
CLOSE = 1e-6
"""Share of the weight by which sums may be off when fitting ends."""


def possible(domain: Domain, clique: Clique) -> Truth:
    """Returns which cells of a table the constraints allow, as far as they can be judged from
    its columns."""
    shape = domain.shape(clique)
    axes = np.meshgrid(*map(np.arange, shape), indexing="ij", sparse=True)
    codes = dict(zip(clique, axes, strict=True))
    holds = reduce(
        np.logical_and, (component.holds(codes) for component in domain.components), ALL
    )
    return np.broadcast_to(holds, shape)


def restrict(weights: Floats, allowed: Truth, *, margins: Sequence[tuple[int, ...]]) -> Floats:
    """The table without what cannot be, near to the one given (in relative entropy) among those that keep its
    sums over all axes but `margins`. Where no weight is left, all that can be weighs the same."""
    restricted_weights = np.where(allowed, weights, 0.0)
    if restricted_weights.sum() <= 0:
        return allowed.astype(np.float64)
    if allowed.all():
        return restricted_weights
    return _fit_margins(restricted_weights, [(axes, _sums(weights, axes)) for axes in margins])


def join_tables(domain: Domain, tables: Sequence[Weighted], *, keep: bool) -> list[Weighted]:
    """Independent tables, with those multiplied into one that hold the columns of a component, as long as
    that stays small, and without what cannot be. `keep`: the sums of the tables were measured, and are
    kept."""
    left = list(tables)
    for component in domain.components:
        touched = [table for table in left if set(table[0]) & set(component.columns)]
        clique = tuple(name for names, _ in touched for name in names)
        if prod(domain.shape(clique)) > MAX_JOINED_CELLS:
            # A product this large is not written out; records that break the constraint are
            # redrawn instead.
            continue  # left to repair
        whole: Floats = reduce(
            np.multiply.outer, (weights / weights.sum() for _, weights in touched)
        )
        position = next(i for i, table in enumerate(left) if table is touched[0])
        left = [table for table in left if not set(table[0]) & set(component.columns)]
        margins = _axes(touched) if keep else []
        left.insert(
            position, (clique, restrict(whole, possible(domain, clique), margins=margins))
        )
    return left


def _axes(tables: Sequence[Weighted]) -> list[tuple[int, ...]]:
    """The axes of each table in the product of all."""
    axes, start = [], 0
    for clique, _ in tables:
        axes.append(tuple(range(start, start + len(clique))))
        start += len(clique)
    return axes


def _fit_margins(table: Floats, margins: Sequence[tuple[tuple[int, ...], Floats]]) -> Floats:
    """Iterative proportional fitting (Deming and Stephan 1940). Zeros stay zeros; sums that these make
    impossible are met as nearly as it goes, the last of them best."""
    total = float(table.sum())
    rounds = min(MAX_ROUNDS, MAX_CELL_UPDATES // (table.size * len(margins))) if margins else 0
    for _ in range(rounds):
        off = 0.0
        for axes, wanted in margins:
            sums = _sums(table, axes)
            off = max(off, float(np.abs(np.where(sums > 0, wanted - sums, 0.0)).sum()))
            # Scaling whole slices keeps the odds ratios: the result is the I-projection on
            # these margins (Csiszar 1975).
            table = table * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
        if off <= CLOSE * total:
            break
    return table


def _sums(table: Floats, axes: tuple[int, ...]) -> Floats:
    others = tuple(axis for axis in range(table.ndim) if axis not in axes)
    sums: Floats = table.sum(axis=others, keepdims=True)
    return sums
