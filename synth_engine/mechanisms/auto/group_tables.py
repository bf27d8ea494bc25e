"""Tables of three columns and more: what pairs imply of them, which are worth their price, and what noisy
answers say of them.

What is implied is the table of maximum entropy given the estimated pairs, or one that is fitted to these from
a mixture. Everything here is a function of public facts and of paid answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.inference import allocation, maxent_groups, maxent_triples, shrinkage
from synth_engine.inference import bins as binning
from synth_engine.inference.allocation import Choice, TableOption
from synth_engine.inference.bins import Bins
from synth_engine.inference.tables import Margin, fit_margins
from synth_engine.inference.triple_start import TripleStart
from synth_engine.mechanisms.auto.denoising import CLEAR, CLOSE, FIT_ROUNDS, Fine
from synth_engine.mechanisms.auto.selection import Columns, Pair, PairCounts
from synth_engine.models.model import MAX_TARGET_CELLS

Floats = npt.NDArray[np.float64]
Triple = tuple[int, int, int]
Group = tuple[int, ...]
"""Three columns or more."""
Levels = tuple[int, ...]
COLUMNS = 3
"""Columns of a triple."""

MAX_CELLS = 1 << 18
"""Largest number of cells, by codes, of a triple that may be selected: its table becomes a target of row
refinement."""
ROOM_SHARE = 4
"""All groups that are measured have at most one in this many of the cells that targets may have together."""
_LEAST_REMOVED = 0.02
"""Part of the distance of a group that counting it must be predicted to remove: a table of which noise hides
nearly all gets nearly nothing of the budget, and would be one more target all the same."""
_BELOW_CHANCE = 10.0
"""A cell is taken as it is where its variance by chance, its count, is so many times that of its noise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupTables:
    """Estimates of the tables of groups of three columns and more.

    counts: the estimated table of every pair by the finest bins, shape (bins, bins), in records; weights: of
    the pairs in the workload; room: for the estimated tables of measured groups, in cells; start: the mixture
    from which expected tables are fitted to their pairs, instead of from uniform tables; known: estimated
    tables of triples, by the finest bins, which larger groups have too."""

    columns: Columns
    fine: Fine
    counts: Mapping[Pair, Floats]
    weights: Mapping[Pair, float]
    room: int = MAX_TARGET_CELLS // ROOM_SHARE
    start: TripleStart | None = None
    known: Mapping[Triple, Floats] = field(default_factory=dict)

    @property
    def axes(self) -> list[int]:
        """The columns that have estimated pairs."""
        return sorted({axis for pair in self.counts for axis in pair})

    def estimable(self, group: Group) -> bool:
        """Return whether all pairs of a group are estimated."""
        return all(pair in self.counts for pair in itertools.combinations(group, 2))

    def cells(self, group: Group) -> int:
        """Return the number of cells of the estimated table of a group."""
        return math.prod(self.fine.histograms[axis].size for axis in group)

    def weight(self, group: Group) -> float:
        """Return the mean weight of the pairs of a group."""
        weights = [self.weights[pair] for pair in itertools.combinations(group, 2)]
        return sum(weights) / len(weights)

    def error(self, groups: Sequence[Group], distances: Floats) -> float:
        """Return the error of these groups if none is measured, in records times their weights. distances: in
        L1, as shares of the records."""
        weights = [self.weight(group) for group in groups]
        return float(distances @ weights) * self.columns.total

    def expected(self, group: Group, levels: Levels) -> Floats:
        """Return the table given the estimated pairs, in records, by bins of these levels: that of maximum
        entropy, or, of three columns, the one nearest to the mixture. That of a larger group has the triples
        that are known as well."""
        level_of = dict(zip(group, levels, strict=True))
        sides = [
            self._counts_by_bins(pair, (level_of[pair[0]], level_of[pair[1]]))
            for pair in itertools.combinations(group, 2)
        ]
        bins = {axis: self.fine.levels[axis][level] for axis, level in level_of.items()}
        if len(group) > COLUMNS:
            start = None if self.start is None else self.start.by_bins(bins).table(group)
            table = maxent_groups.fitted(sides, start=start)
            if not self._known(group):
                return table
            return fit_margins(table, self._margins(group, bins))
        if self.start is not None:
            first, second, third = group
            return self.start.by_bins(bins).fitted((first, second, third), sides)
        return maxent_triples.product(maxent_triples.factors(sides))

    def _counts_by_bins(self, pair: Pair, levels: tuple[int, int]) -> Floats:
        """Return the estimated table of a pair by bins of these levels, which many triples share."""
        known = self._known_by_bins
        if (pair, levels) not in known:
            bins = [
                self.fine.levels[axis][level] for axis, level in zip(pair, levels, strict=True)
            ]
            summed = binning.sum_into_bins(self.counts[pair], bins)
            known[pair, levels] = np.ascontiguousarray(summed)
        return known[pair, levels]

    @cached_property
    def _known_by_bins(self) -> dict[tuple[Pair, tuple[int, int]], Floats]:
        return {}

    def choices(
        self,
        groups: Sequence[Group],
        distances: Floats,
        *,
        deviation: Callable[[tuple[int, ...]], float],
        power: float,
    ) -> list[Choice]:
        """Return which groups to measure, at which resolution, and with what share of the budget.

        distances: of each group from its expected table, in L1, as a share of the records; deviation: the
        standard deviation of a cell's noise, by the shape of a table, if the whole budget were spent on it;
        power: see `AutoPlan`."""
        options = []
        for number, group in enumerate(groups):
            levels = tuple(self.resolutions(group))
            if not levels:
                continue
            options.append(
                TableOption(
                    number=number,
                    distance=float(distances[number]),
                    weight=self.weight(group),
                    sides=tuple(self.columns.sides[axis] for axis in group),
                    levels=levels,
                    deviations=tuple(deviation(self.columns.shape(group, at)) for at in levels),
                )
            )
        choices = allocation.allocate(options, rows=self.columns.total, power=power)
        errors = {each.number: each.distance * each.weight for each in options}
        least = _LEAST_REMOVED * self.columns.total
        worth = [choice for choice in choices if choice.gain > least * errors[choice.number]]
        return self._with_room(worth, groups)

    def _with_room(self, choices: Sequence[Choice], groups: Sequence[Group]) -> list[Choice]:
        """Return the choices whose tables find room among the targets, those that gain most first."""
        room, fitting = self.room, list[Choice]()
        for choice in sorted(choices, key=lambda choice: (-choice.gain, choice.number)):
            cells = self.cells(groups[choice.number])
            if cells <= room:
                fitting.append(choice)
                room -= cells
        return sorted(fitting, key=lambda choice: choice.number)

    def resolutions(self, group: Group) -> list[Levels]:
        """Return the resolutions at which a group may be measured, the finest first."""
        able: list[Levels] = []
        for level in range(len(binning.LEVELS)):
            levels = (level,) * len(group)
            shape = self.columns.shape(group, levels)
            if min(shape) > 1 and math.prod(shape) <= MAX_CELLS:
                able.append(levels)
        return able

    def estimate(self, group: Group, observed: PairCounts) -> Floats:
        """Estimate the table of a measured group by the finest bins, in records; its sums are the estimated
        pairs. An answer whose noise hides every relation leaves what is expected."""
        finest = self.expected(group, (0,) * len(group))
        bins = {
            axis: self.fine.levels[axis][level]
            for axis, level in zip(group, observed.levels, strict=True)
        }
        expected = binning.sum_into_bins(finest, list(bins.values()))
        sums = self._margins(group, bins)
        if not shrinkage.stands_out(expected, sums, variance=observed.variance):
            return finest
        distance = float(np.abs(observed.values - expected).sum()) / self.fine.rows
        read = shrinkage.estimate_ratios(
            observed.values,
            expected,
            variance=observed.variance,
            law=observed.law,
            grid=shrinkage.WIDE_GRID if distance >= CLOSE else shrinkage.GRID,
        )
        # A grid of ratios is coarser than an answer whose noise is far below what chance makes of a cell.
        clear = observed.values > max(
            CLEAR * math.sqrt(observed.variance), _BELOW_CHANCE * observed.variance
        )
        ratios = np.where(
            clear, observed.values / np.maximum(expected, shrinkage.MIN_EXPECTED), read.ratios
        )
        by_codes = np.ix_(*bins.values())
        finest_sums = self._margins(group, {axis: self.fine.levels[axis][0] for axis in group})
        return fit_margins(finest * ratios[by_codes], finest_sums, rounds=FIT_ROUNDS)

    def _margins(self, group: Group, bins: Mapping[int, Bins]) -> list[Margin]:
        """Return the estimated sums of the table of a group: its pairs, and the triples within a larger one
        that are known."""
        tables: list[tuple[Group, Floats]] = [
            (pair, self.counts[pair]) for pair in itertools.combinations(group, 2)
        ]
        tables += [(triple, self.known[triple]) for triple in self._known(group)]
        return [
            (
                tuple(group.index(axis) for axis in axes),
                binning.sum_into_bins(table, [bins[axis] for axis in axes]),
            )
            for axes, table in tables
        ]

    def _known(self, group: Group) -> list[Triple]:
        return [triple for triple in self.known if set(triple) < set(group)]
