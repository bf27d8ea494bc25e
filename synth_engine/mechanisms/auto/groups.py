"""Relations of four to six narrow columns that neither pairs nor triples show: which groups to look for, and
how clear they are.

A group is compared with the table of maximum entropy given its estimated pairs, as triples are. What its
triples add to that distance is known from their scores, and is part of the penalty: a group is worth its
table for what only the whole group shows, as the parity of three columns and a label. Everything here is a
function of public facts and of paid answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.inference import bins as binning
from synth_engine.measurement import Candidate, Scores
from synth_engine.mechanisms.auto.group_tables import COLUMNS, Group
from synth_engine.mechanisms.auto.selection import distance_by_chance
from synth_engine.mechanisms.auto.triples import RECORDS_A_CELL, TripleSearch
from synth_engine.plans import resources
from synth_engine.plans.resources import ResourceEstimate

Floats = npt.NDArray[np.float64]

SIZES = (4, 5, 6)
"""Numbers of columns of the groups: of each of them one is selected."""
MAX_COLUMNS = max(SIZES)
SELECTING_SHARE = Fraction(1, 200)
COMPARING_SHARE = Fraction(1, 400)
"""Shares of the tables' budget: for selecting groups, and for scoring the selected ones."""
MAX_CANDIDATES = 2_002
"""Largest number of candidates of one size: all groups of four of sixteen columns, of five of fourteen, of
six of thirteen."""
MAX_COMPARED = 512
"""Largest number of cells of a table that is used to select groups."""
MAX_CELLS = 1 << 16
"""Largest number of cells, by codes, of a group that may be selected: its table becomes a target of row
refinement."""
_DOUBT = 3.0
"""Standard deviations of the noise of a score that are subtracted from it: most selected groups have no
relation, and a table of one that only seems to have it takes budget from pairs."""
_SPREAD_BY_CHANCE = 0.6
"""Standard deviation of the L1 distance that chance makes, over the root of the number of records: that of
the absolute value of a normal number is sqrt(1 - 2 / pi)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSearch:
    """The search for groups that neither pairs nor triples explain.

    triples: the search before, with the estimated pairs; relations: see `TripleSearch.relations`."""

    triples: TripleSearch
    relations: Mapping[Group, float]

    def groups(self, size: int) -> list[Group]:
        """Return the groups of so many columns, at most `MAX_CANDIDATES`: of the narrowest columns, in the
        order of the domain. With a column to predict, those that hold it."""
        return [
            group
            for group in _groups_of(self._able, size, self.triples.target)
            if self._fits(group)
        ]

    @cached_property
    def _able(self) -> list[int]:
        """The columns whose pairs are estimated, the narrowest first."""
        return sorted(
            self.triples.tables.axes,
            key=lambda axis: (self.triples.tables.fine.histograms[axis].size, axis),
        )

    def _fits(self, group: Group) -> bool:
        return (
            self.triples.tables.cells(group) <= MAX_CELLS
            and self._level(group) is not None
            and self.triples.tables.estimable(group)
        )

    def _level(self, group: Group) -> int | None:
        """Return the finest resolution whose table is not too large to compare; None if there is none."""
        most = min(MAX_COMPARED, self.triples.tables.columns.total // RECORDS_A_CELL)
        numbers = [self.triples.tables.columns.numbers_of_bins[axis] for axis in group]
        for level in range(len(binning.LEVELS)):
            cells = math.prod(of_axis[level] for of_axis in numbers)
            if cells <= most:
                # Nothing interacts along an axis of one bin, and coarser ones have no more.
                return level if all(of_axis[level] > 1 for of_axis in numbers) else None
        return None

    def candidate(self, group: Group) -> Candidate:
        """Return the group at the resolution at which it is compared, with its expected table. The penalty is
        the distance that chance and its triples make."""
        columns = self.triples.tables.columns
        level = self._level(group)
        if level is None:
            raise ValueError("this group is no candidate")
        levels = (level,) * len(group)
        expected = self.triples.tables.expected(group, levels)
        of_triples = [
            self.relations.get(triple, self._unscored)
            for triple in itertools.combinations(group, COLUMNS)
        ]
        # Effects of different triples are orthogonal, so that squares of their distances add up.
        penalty = math.hypot(distance_by_chance(expected), *of_triples)
        return Candidate(
            clique=columns.clique(group),
            reference=np.rint(expected).astype(np.int64),
            penalty=round(penalty),
            merged=columns.merged(group, levels) or None,
        )

    @cached_property
    def _unscored(self) -> float:
        """The distance that a triple without a score is taken to have: those with the largest distances were
        selected and scored."""
        return min(self.relations.values(), default=0.0)

    def distances(self, scores: Scores, *, compared: int) -> Floats:
        """Estimate what only these groups show, in L1, as shares of the records: nothing where noise of the
        score, or chance in the largest of so many `compared` groups, could have made it."""
        doubt = _DOUBT * math.sqrt(scores.noise.variance) + by_chance(
            self.triples.tables.columns.total, compared
        )
        clear: Floats = np.maximum(scores.values - doubt, 0.0)
        return clear / self.triples.tables.columns.total


def by_chance(rows: int, compared: int) -> float:
    """Return about the largest score that chance makes among so many groups that their pairs explain, in
    records."""
    return _SPREAD_BY_CHANCE * math.sqrt(rows) * math.sqrt(2 * math.log(max(2, compared)))


def _groups_of(columns: Sequence[int], size: int, target: int | None) -> list[Group]:
    """Return groups of so many columns, of the first ones of these, as many as there may be candidates."""
    others = [axis for axis in columns if axis != target]
    held = () if target is None or target not in columns else (target,)
    free = size - len(held)
    used = len(others)
    while used > free and math.comb(used, free) > MAX_CANDIDATES:
        used -= 1
    groups = (
        tuple(sorted((*held, *group)))
        for group in itertools.combinations(sorted(others[:used]), free)
    )
    return sorted(groups)


def resources_needed(domain: Domain, *, rows: int) -> ResourceEstimate:
    """Estimate the cost of counting the candidates of all sizes once, with their expected tables in
    memory."""
    sizes = sorted(attribute.size for attribute in domain.modelled if attribute.size > 1)
    needed = ResourceEstimate(memory_bytes=0, seconds=0.0)
    for size in SIZES:
        number = len(_groups_of(range(len(sizes)), size, None))
        cells = math.prod(min(each, binning.LEVELS[-1]) for each in sizes[:size])
        if number and cells <= MAX_COMPARED:
            needed += resources.of_triples(rows, number=number, cells=cells)
    return needed
