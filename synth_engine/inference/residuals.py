"""The best estimate of many marginals at once from noisy tables of any cliques: residuals (Mullins and others 2024, ReM).

A table over a clique is a sum of parts, one for each subset of the clique, which are orthogonal to one another: the part
of a subset is what its table says beyond the tables of smaller subsets (it adds up to zero along every axis), spread
evenly over the other attributes. All tables that hold a subset share that part, and white noise on a table is independent
noise on its parts. So weighted least squares over all tables is a weighted mean for each subset: noise of variance v on
the table of a clique is noise of variance v·n on the part of a subset, n the cells that add up to one cell of it.

Least squares alone gives negative counts. `Residuals.nonnegative` solves the same problem with no negative cell in any of
the wanted tables (local non-negativity) by accelerated ascent on its dual: a multiplier for each cell of each table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synth_engine.inference import factors
from synth_engine.inference.factors import Floats, Mask, Noisy, Sizes
from synth_engine.measurement import Clique

ROUNDS = 400
TOLERANCE = 1e-3
"""A cell below zero by less, in counts, is as good as zero."""
UNMEASURED_VARIANCE = 100.0
"""What nothing was measured of is pulled to zero as by a table with so many times the variance of the noisiest."""

Parts = dict[Clique, Floats]


def estimate(
    noisy: Sequence[Noisy],
    *,
    sizes: Sizes,
    wanted: Sequence[Clique],
    total: float | None = None,
) -> dict[Clique, Floats]:
    """Tables of the wanted cliques that agree with one another wherever they overlap: weighted least squares in closed form,
    with negative cells. `total`: the number of records where it is public; otherwise it is estimated with the rest."""
    known = Residuals(sizes, total=total)
    for table in noisy:
        known.add(table)
    return {clique: known.table(clique) for clique in wanted}


@dataclass(kw_only=True, eq=False)
class Multipliers:
    """What `nonnegative` ended with; given to a later call with the same and more tables it starts there."""

    of: dict[Clique, Floats] = field(default_factory=dict)


class Residuals:
    """Weighted means of residuals; tables can be added at any time."""

    def __init__(self, sizes: Sizes, *, total: float | None = None) -> None:
        self._sizes, self._total = sizes, total
        self._sums: Parts = {}
        self._weights: dict[Clique, float] = {}
        self._noisiest = 0.0

    def add(self, noisy: Noisy) -> None:
        """Take in a table; several of one clique add up in weight."""
        clique = factors.ordered(noisy.clique, self._sizes)
        values = np.asarray(
            factors.turned(noisy.values, noisy.clique, clique), dtype=np.float64
        )
        for part, residual in parts(values, clique).items():
            # A residual that sums n cells has n times the variance of a cell.
            weight = 1 / (noisy.variance * self._merged(clique, part))
            self._weights[part] = self._weights.get(part, 0.0) + weight
            self._sums[part] = self._sums.get(part, 0.0) + weight * residual
        self._noisiest = max(self._noisiest, noisy.variance)

    def table(self, clique: Clique) -> Floats:
        """The least-squares estimate; what nothing was measured of is as flat as the rest allows."""
        inner = factors.ordered(clique, self._sizes)
        known = {
            part: self._mean(part) for part in factors.subsets(inner) if self._is_known(part)
        }
        return np.asarray(
            factors.turned(self._whole(known, inner), inner, clique), dtype=np.float64
        )

    def variance(self, clique: Clique) -> float:
        """The mean variance of a cell of `table`; infinite if some part of the clique was not measured."""
        inner = factors.ordered(clique, self._sizes)
        summed = 0.0
        for part in factors.subsets(inner):
            if part == () and self._total is not None:
                continue
            if part not in self._weights:
                return math.inf
            free = math.prod(self._sizes[name] - 1 for name in part)
            summed += free / (self._weights[part] * self._merged(inner, part))
        return summed / factors.cells(inner, self._sizes)

    def nonnegative(
        self,
        wanted: Sequence[Clique],
        *,
        possible: Mapping[Clique, Mask] | None = None,
        rounds: int = ROUNDS,
        tolerance: float = TOLERANCE,
        start: Multipliers | None = None,
    ) -> dict[Clique, Floats]:
        """Weighted least squares over all that was added, with no cell of a wanted table below zero by more than
        `tolerance` unless the rounds run out; what then remains is cut at zero. `possible`: for wanted cliques, the cells
        that records can fall into at all; the others come out as zero and what was measured there counts as noise. `start`
        is brought up to date."""
        inner = {clique: factors.ordered(clique, self._sizes) for clique in wanted}
        masks = {
            inner[clique]: np.asarray(
                factors.turned(mask, clique, inner[clique]), dtype=np.bool_
            )
            for clique, mask in (possible or {}).items()
            if clique in inner and not mask.all()
        }
        tables = list(dict.fromkeys(inner.values()))
        solution = _Dual(self, tables, masks).solve(
            rounds=rounds, tolerance=tolerance, start=start or Multipliers()
        )
        return {
            clique: np.asarray(
                factors.turned(solution[inner[clique]], inner[clique], clique), dtype=np.float64
            )
            for clique in wanted
        }

    def _merged(self, clique: Clique, part: Clique) -> int:
        return factors.cells((name for name in clique if name not in part), self._sizes)

    def _is_known(self, part: Clique) -> bool:
        return part in self._weights or (part == () and self._total is not None)

    def _mean(self, part: Clique) -> Floats:
        if part == () and self._total is not None:
            return np.asarray(float(self._total))
        if part not in self._weights:
            return np.zeros(tuple(self._sizes[name] for name in part))
        return np.asarray(self._sums[part] / self._weights[part], dtype=np.float64)

    def _spread_of_noise(self, part: Clique, tables: Sequence[Clique]) -> float:
        """The variance of a part's mean; zero for a public total."""
        if part == () and self._total is not None:
            return 0.0
        if part in self._weights:
            return 1 / self._weights[part]
        smallest = min(self._merged(table, part) for table in tables if set(part) <= set(table))
        return UNMEASURED_VARIANCE * (self._noisiest or 1.0) * smallest

    def _whole(self, known: Parts, clique: Clique) -> Floats:
        return whole(known, clique, self._sizes)


def parts(values: Floats, clique: Clique) -> Parts:
    """The residual of every subset: the sums over the other attributes, less their mean along each axis."""
    residuals: Parts = {(): values}
    for name in clique:
        after: Parts = {}
        for part, table in residuals.items():
            sums = table.sum(axis=len(part))
            after[part] = sums
            after[(*part, name)] = table - np.expand_dims(
                sums / table.shape[len(part)], len(part)
            )
        residuals = after
    return residuals


def whole(known: Parts, clique: Clique, sizes: Sizes) -> Floats:
    """The table whose residuals these are; those that are lacking are zero."""
    table = np.zeros(tuple(sizes[name] for name in clique))
    for part, residual in known.items():
        others = factors.cells((name for name in clique if name not in part), sizes)
        table += factors.spread(residual / others, part, clique)
    return table


class _Dual:
    """Minimise Σ_S |a_S − m_S|² / (2 v_S) over residuals a so that no cell of any table is negative.

    With multipliers λ_C ≥ 0 of the cells of table C, a_S = m_S + v_S · Σ_C (part S of λ_C) / n(C, S), n(C, S) the cells of
    C that add up to one of S; the slope of the dual in λ_C is minus the table of C. Its curvature is at most d_C on table C
    if Σ_C 1 / (d_C · n(C, S)) ≤ 1 / v_S for every S, for then A V Aᵀ ≼ diag(d); d is found so. The multipliers of cells
    that are known to be empty may have any sign.
    """

    def __init__(
        self, known: Residuals, tables: Sequence[Clique], masks: Mapping[Clique, Mask]
    ) -> None:
        self._sizes = known._sizes
        self._tables, self._masks = tables, masks
        everything = factors.closure(tables, self._sizes)
        self._means = {part: known._mean(part) for part in everything}
        self._spreads = {part: known._spread_of_noise(part, tables) for part in everything}
        self._merged = {(c, s): known._merged(c, s) for c in tables for s in factors.subsets(c)}
        self._curvature = self._bounds()

    def _bounds(self) -> dict[Clique, float]:
        first = {
            clique: max(
                (self._spreads[s] / self._merged[clique, s] for s in factors.subsets(clique)),
                default=1.0,
            )
            or 1.0
            for clique in self._tables
        }
        loads: dict[Clique, float] = dict.fromkeys(self._means, 0.0)
        for clique in self._tables:
            for part in factors.subsets(clique):
                loads[part] += self._spreads[part] / (
                    first[clique] * self._merged[clique, part]
                )
        return {
            c: first[c] * (max(loads[s] for s in factors.subsets(c)) or 1.0)
            for c in self._tables
        }

    def solve(
        self, *, rounds: int, tolerance: float, start: Multipliers
    ) -> dict[Clique, Floats]:
        """Nesterov's method with a restart whenever a step goes against the slope. A step from multipliers λ goes by
        min(table / d, λ), so that what moves by less than the tolerance is neither below zero nor pushed up needlessly."""
        shape = {clique: tuple(self._sizes[name] for name in clique) for clique in self._tables}
        old = {clique: start.of.get(clique, np.zeros(shape[clique])) for clique in self._tables}
        ahead, momentum = old, 1.0
        for _ in range(rounds):
            tables = self._primal(ahead)
            new = {
                c: self._clip(c, ahead[c] - tables[c] / self._curvature[c])
                for c in self._tables
            }
            moved = {c: (ahead[c] - new[c]) * self._curvature[c] for c in self._tables}
            if all(
                float(np.abs(step).max(initial=0.0)) <= tolerance for step in moved.values()
            ):
                start.of = ahead
                return {c: self._cut(c, table) for c, table in tables.items()}
            # Momentum restarts once a step goes uphill (O'Donoghue and Candès 2015).
            against = sum(float(np.vdot(moved[c], new[c] - old[c])) for c in self._tables) > 0
            grown = 1.0 if against else (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            push = 0.0 if against else (momentum - 1) / grown
            ahead = {c: new[c] + push * (new[c] - old[c]) for c in self._tables}
            old, momentum = new, grown
        start.of = old
        return {c: self._cut(c, table) for c, table in self._primal(old).items()}

    def _primal(self, multipliers: Mapping[Clique, Floats]) -> dict[Clique, Floats]:
        adjusted = dict(self._means)
        for clique, values in multipliers.items():
            for part, residual in parts(values, clique).items():
                if self._spreads[part]:
                    adjusted[part] = adjusted[part] + residual * (
                        self._spreads[part] / self._merged[clique, part]
                    )
        return {
            clique: whole(
                {part: adjusted[part] for part in factors.subsets(clique)}, clique, self._sizes
            )
            for clique in self._tables
        }

    def _clip(self, clique: Clique, multipliers: Floats) -> Floats:
        positive: Floats = np.maximum(multipliers, 0.0)
        mask = self._masks.get(clique)
        return positive if mask is None else np.where(mask, positive, multipliers)

    def _cut(self, clique: Clique, table: Floats) -> Floats:
        mask = self._masks.get(clique)
        positive: Floats = np.maximum(table, 0.0)
        return positive if mask is None else np.where(mask, positive, 0.0)
