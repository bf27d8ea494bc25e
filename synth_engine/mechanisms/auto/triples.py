"""Relations of three columns that pairs do not show: which triples to look for, and how to estimate them.

A triple is compared with the table of maximum entropy given its three estimated pairs. Larger groups of columns, which `groups` looks
for, are estimated in the same way. Everything here is a function of public facts and of paid answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.inference import allocation, maxent_groups, maxent_triples, shrinkage
from synth_engine.inference import bins as binning
from synth_engine.inference.allocation import Choice, TableOption
from synth_engine.inference.bins import Bins
from synth_engine.inference.tables import Margin, fit_margins
from synth_engine.inference.triple_start import TripleStart
from synth_engine.measurement import Candidate, Scores
from synth_engine.mechanisms.auto.denoising import CLEAR, CLOSE, FIT_ROUNDS, Fine
from synth_engine.mechanisms.auto.selection import (
    Columns,
    Pair,
    PairCounts,
    distance_by_chance,
)
from synth_engine.models.model import MAX_TARGET_CELLS
from synth_engine.plans import resources
from synth_engine.plans.resources import ResourceEstimate

Floats = npt.NDArray[np.float64]
Triple = tuple[int, int, int]
Group = tuple[int, ...]
"""Three columns or more."""
Levels = tuple[int, ...]
COLUMNS = 3
"""Columns of a triple."""

MIN_SELECTED, MAX_SELECTED = 6, 24
"""Smallest and largest number of triples that are selected and scored."""
_STRENGTH_OF_LEAST = 0.01
"""Strength up to which a budget pays for `MIN_SELECTED` selections only: about epsilon 1 for 40,000 records."""
MAX_LISTED = 6_000
"""Largest number of candidates that all selections after the first may name together, because stored answers list them."""
MAX_CANDIDATES = 20_000
"""Largest number of candidates: all triples of fifty columns."""
_BELOW_CHANCE = 10.0
"""A cell is taken as it is where its variance by chance, its count, is so many times that of its noise."""
RECORDS_A_CELL = 4
"""Smallest mean number of records in a cell of a table that is used to select triples. Finer tables show more patterns of
unordered codes, and the distance that chance adds to them is known and subtracted."""
ALL_CELLS_COMPARED = 1 << 22
"""Largest number of cells of all tables together that are used to select triples."""
MAX_CELLS = 1 << 18
"""Largest number of cells, by codes, of a triple that may be selected: its table becomes a target of row refinement."""
ROOM_SHARE = 4
"""All triples that are measured have at most one in this many of the cells that targets may have together."""
_LEAST_REMOVED = 0.02
"""Part of the distance of a triple that counting it must be predicted to remove: a table of which noise hides nearly all gets nearly nothing of the budget,
and would be one more target all the same."""
MAX_SCORED = 1_000
"""Largest number of triples that are scored all together instead of being selected one by one."""
MAX_SCORE_NOISE = 0.01
"""Largest standard deviation of the noise of scores, as a share of the records, with which all triples are scored."""


def exist(columns: Columns, pairs: Sequence[Pair]) -> bool:
    """Return whether there is a triple whose pairs all matter and whose table is not too large."""
    sizes = [int(levels[0].max()) + 1 for levels in columns.levels]
    matter = set(pairs)
    # The narrowest columns first: their tables are the smallest.
    narrow = sorted(range(len(sizes)), key=lambda axis: sizes[axis])
    return any(
        math.prod(sizes[axis] for axis in triple) <= MAX_CELLS
        and matter.issuperset(maxent_triples.pairs_of(tuple(sorted(triple))))  # type: ignore[arg-type]
        for triple in itertools.combinations(narrow, 3)
    )


def resources_needed(domain: Domain, *, rows: int) -> ResourceEstimate:
    """Estimate the cost of counting every candidate once, with its expected table in memory; all have a typical size."""
    sizes = [attribute.size for attribute in domain.modelled if attribute.size > 1]
    number = min(math.comb(len(sizes), 3), MAX_CANDIDATES)
    if not number:
        return ResourceEstimate(memory_bytes=0, seconds=0.0)
    typical = math.exp(sum(math.log(size) for size in sizes) / len(sizes))
    cells = min(typical**3, max(1, rows // RECORDS_A_CELL), ALL_CELLS_COMPARED / number)
    return resources.of_triples(rows, number=number, cells=round(cells))


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleSearch:
    """The search for triples that the estimated pairs do not explain.

    counts: the estimated table of every pair by the finest bins, shape (bins, bins), in records; weights: of the pairs in
    the workload; target: the axis of the column to predict; room: for the estimated tables of measured triples, in cells;
    start: the mixture from which expected tables are fitted to their pairs, instead of from uniform tables; known: estimated tables of
    triples, by the finest bins, which larger groups have too."""

    columns: Columns
    fine: Fine
    counts: Mapping[Pair, Floats]
    weights: Mapping[Pair, float]
    target: int | None = None
    room: int = MAX_TARGET_CELLS // ROOM_SHARE
    start: TripleStart | None = None
    known: Mapping[Triple, Floats] = field(default_factory=dict)

    @cached_property
    def triples(self) -> list[Triple]:
        """The triples whose three pairs are estimated, at most `MAX_CANDIDATES`; of more, those with the smallest tables."""
        axes = sorted({axis for pair in self.counts for axis in pair})
        sizes = {axis: self.fine.histograms[axis].size for axis in axes}
        able = [
            triple
            for triple in itertools.combinations(axes, 3)
            if self.cells(triple) <= MAX_CELLS and self.estimable(triple)
        ]
        if len(able) > MAX_CANDIDATES:
            able.sort(key=lambda triple: (math.prod(sizes[axis] for axis in triple), triple))
        return able[:MAX_CANDIDATES]

    def estimable(self, group: Group) -> bool:
        """Return whether all pairs of a group are estimated."""
        return all(pair in self.counts for pair in itertools.combinations(group, 2))

    @cached_property
    def selected_from(self) -> list[Triple]:
        """The triples among which a budget selects that cannot score all of them: those with the target, if there are any. The
        distances of others are larger, because the target has few classes, and would leave it no selection."""
        with_target = [triple for triple in self.triples if self.target in triple]
        return with_target or self.triples

    @cached_property
    def candidates(self) -> list[Candidate]:
        """One candidate for each triple, with its expected table. The penalty is the expected distance by chance."""
        return [self.candidate(triple) for triple in self.triples]

    @cached_property
    def distances_by_chance(self) -> Floats:
        """The distance that chance makes from the expected table of each triple, in L1, as a share of the records."""
        penalties = [candidate.penalty for candidate in self.candidates]
        return np.array(penalties, dtype=np.float64) / self.columns.total

    def relations(self, triples: Sequence[Triple], scores: Scores) -> dict[Group, float]:
        """Return how far these scored triples are from what their pairs imply, in L1, in records, without the part that chance makes."""
        if len(triples) == len(self.triples):
            penalties = [candidate.penalty for candidate in self.candidates]
        else:
            penalties = [self.candidate(triple).penalty for triple in triples]
        beyond = np.maximum(scores.values, 0) + np.array(penalties)
        # A distance by chance is orthogonal to a relation, so that squares are subtracted.
        distances = np.sqrt(beyond**2 - np.square(penalties))
        relations: dict[Group, float] = {}
        relations.update(zip(triples, distances.tolist(), strict=True))
        return relations

    def error(self, triples: Sequence[Group], distances: Floats) -> float:
        """Return the error of these triples if none is measured, in records times their weights. distances: in L1, as shares of
        the records."""
        weights = [self.weight(triple) for triple in triples]
        return float(distances @ weights) * self.columns.total

    @property
    def selections(self) -> int:
        """The number of triples to select: it grows with the budget, and is smaller where there are very many candidates, each of
        which is stored with the answers."""
        # The budget grows with the square of epsilon, and the noise of a selection falls with its root.
        by_budget = MIN_SELECTED * math.sqrt(self.columns.strength / _STRENGTH_OF_LEAST)
        wanted = min(max(MIN_SELECTED, round(by_budget)), MAX_SELECTED)
        number = len(self.selected_from)
        listed = MAX_LISTED // max(1, number)
        return min(number, max(1, min(wanted, listed)))

    def candidate(self, triple: Triple) -> Candidate:
        """Return the triple at the resolution at which it is compared, with its expected table."""
        levels = self.compared_levels(triple)
        expected = self.expected(triple, levels)
        return Candidate(
            clique=self.columns.clique(triple),
            reference=np.rint(expected).astype(np.int64),
            penalty=round(distance_by_chance(expected)),
            merged=self.columns.merged(triple, levels) or None,
        )

    def compared_levels(self, triple: Triple) -> Levels:
        """Return the finest resolution whose table is not too large to compare, else the coarsest."""
        last = len(binning.LEVELS) - 1
        most = min(
            self.columns.total // RECORDS_A_CELL, ALL_CELLS_COMPARED // len(self.triples)
        )
        first, second, third = (self.columns.numbers_of_bins[axis] for axis in triple)
        for level in range(last):
            if first[level] * second[level] * third[level] <= most:
                return (level, level, level)
        return (last, last, last)

    def expected(self, group: Group, levels: Levels) -> Floats:
        """Return the table given the estimated pairs, in records, by bins of these levels: that of maximum entropy, or, of three
        columns, the one nearest to the mixture. That of a larger group has the triples that are known as well."""
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

    def weight(self, group: Group) -> float:
        """Return the mean weight of the pairs of a group."""
        weights = [self.weights[pair] for pair in itertools.combinations(group, 2)]
        return sum(weights) / len(weights)

    def choices(
        self,
        groups: Sequence[Group],
        distances: Floats,
        *,
        deviation: Callable[[tuple[int, ...]], float],
        power: float,
    ) -> list[Choice]:
        """Return which groups to measure, at which resolution, and with what share of the budget.

        distances: of each group from its expected table, in L1, as a share of the records; deviation: the standard deviation
        of a cell's noise, by the shape of a table, if the whole budget were spent on it; power: see `AutoPlan`."""
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

    def cells(self, group: Group) -> int:
        """Return the number of cells of the estimated table of a group."""
        return math.prod(self.fine.histograms[axis].size for axis in group)

    def estimate(self, group: Group, observed: PairCounts) -> Floats:
        """Estimate the table of a measured group by the finest bins, in records; its sums are the estimated pairs. An answer whose
        noise hides every relation leaves what is expected."""
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
        """Return the estimated sums of the table of a group: its pairs, and the triples within a larger one that are known."""
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

    def resolutions(self, group: Group) -> list[Levels]:
        """Return the resolutions at which a group may be measured, the finest first."""
        able: list[Levels] = []
        for level in range(len(binning.LEVELS)):
            levels = (level,) * len(group)
            shape = self.columns.shape(group, levels)
            if min(shape) > 1 and math.prod(shape) <= MAX_CELLS:
                able.append(levels)
        return able
