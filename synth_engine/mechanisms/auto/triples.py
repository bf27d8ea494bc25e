"""Relations of three columns that pairs do not show: which triples to look for, and how far they are from
what pairs imply.

A triple is compared with the table of maximum entropy given its three estimated pairs. Larger groups of
columns, which `groups` looks for, are compared in the same way. Everything here is a function of public facts
and of paid answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.inference import bins as binning
from synth_engine.inference import maxent_triples
from synth_engine.measurement import Candidate, Scores
from synth_engine.mechanisms.auto.group_tables import (
    MAX_CELLS,
    Group,
    GroupTables,
    Levels,
    Triple,
)
from synth_engine.mechanisms.auto.selection import Columns, Pair, distance_by_chance
from synth_engine.plans import resources
from synth_engine.plans.resources import ResourceEstimate

Floats = npt.NDArray[np.float64]

MIN_SELECTED, MAX_SELECTED = 6, 24
"""Smallest and largest number of triples that are selected and scored."""
_STRENGTH_OF_LEAST = 0.01
"""Strength up to which a budget pays for `MIN_SELECTED` selections only: about epsilon 1 for 40,000
records."""
MAX_LISTED = 6_000
"""Largest number of candidates that all selections after the first may name together, because stored answers
list them."""
MAX_CANDIDATES = 20_000
"""Largest number of candidates: all triples of fifty columns."""
RECORDS_A_CELL = 4
"""Smallest mean number of records in a cell of a table that is used to select triples. Finer tables show more
patterns of unordered codes, and the distance that chance adds to them is known and subtracted."""
ALL_CELLS_COMPARED = 1 << 22
"""Largest number of cells of all tables together that are used to select triples."""
MAX_SCORED = 1_000
"""Largest number of triples that are scored all together instead of being selected one by one."""
MAX_SCORE_NOISE = 0.01
"""Largest standard deviation of the noise of scores, as a share of the records, with which all triples are
scored."""


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
    """Estimate the cost of counting every candidate once, with its expected table in memory; all have a
    typical size."""
    sizes = [attribute.size for attribute in domain.modelled if attribute.size > 1]
    number = min(math.comb(len(sizes), 3), MAX_CANDIDATES)
    if not number:
        return ResourceEstimate(memory_bytes=0, seconds=0.0)
    typical = math.exp(sum(math.log(size) for size in sizes) / len(sizes))
    cells = min(typical**3, max(1, rows // RECORDS_A_CELL), ALL_CELLS_COMPARED / number)
    return resources.of_triples(rows, number=number, cells=round(cells))


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleSearch:
    """The search for triples that the estimated pairs do not explain. target: the axis of the column to
    predict."""

    tables: GroupTables
    target: int | None = None

    @cached_property
    def triples(self) -> list[Triple]:
        """The triples whose three pairs are estimated, at most `MAX_CANDIDATES`; of more, those with the
        smallest tables."""
        axes = self.tables.axes
        sizes = {axis: self.tables.fine.histograms[axis].size for axis in axes}
        able = [
            triple
            for triple in itertools.combinations(axes, 3)
            if self.tables.cells(triple) <= MAX_CELLS and self.tables.estimable(triple)
        ]
        if len(able) > MAX_CANDIDATES:
            able.sort(key=lambda triple: (math.prod(sizes[axis] for axis in triple), triple))
        return able[:MAX_CANDIDATES]

    @cached_property
    def selected_from(self) -> list[Triple]:
        """The triples among which a budget selects that cannot score all of them: those with the target, if
        there are any. The distances of others are larger, because the target has few classes, and would leave
        it no selection."""
        with_target = [triple for triple in self.triples if self.target in triple]
        return with_target or self.triples

    @cached_property
    def candidates(self) -> list[Candidate]:
        """One candidate for each triple, with its expected table. The penalty is the expected distance by
        chance."""
        return [self.candidate(triple) for triple in self.triples]

    @cached_property
    def distances_by_chance(self) -> Floats:
        """The distance that chance makes from the expected table of each triple, in L1, as a share of the
        records."""
        penalties = [candidate.penalty for candidate in self.candidates]
        return np.array(penalties, dtype=np.float64) / self.tables.columns.total

    def relations(self, triples: Sequence[Triple], scores: Scores) -> dict[Group, float]:
        """Return how far these scored triples are from what their pairs imply, in L1, in records, without the
        part that chance makes."""
        if len(triples) == len(self.triples):
            penalties = [candidate.penalty for candidate in self.candidates]
        else:
            penalties = [self.candidate(triple).penalty for triple in triples]
        # In floats: noise may be so wide that the square of a score passes the largest whole number of 64
        # bits.
        by_chance = np.array(penalties, dtype=np.float64)
        beyond = np.maximum(scores.values.astype(np.float64), 0.0) + by_chance
        # A distance by chance is orthogonal to a relation, so that squares are subtracted.
        distances = np.sqrt(beyond**2 - by_chance**2)
        relations: dict[Group, float] = {}
        relations.update(zip(triples, distances.tolist(), strict=True))
        return relations

    @property
    def selections(self) -> int:
        """The number of triples to select: it grows with the budget, and is smaller where there are very many
        candidates, each of which is stored with the answers."""
        # The budget grows with the square of epsilon, and the noise of a selection falls with its root.
        by_budget = MIN_SELECTED * math.sqrt(self.tables.columns.strength / _STRENGTH_OF_LEAST)
        wanted = min(max(MIN_SELECTED, round(by_budget)), MAX_SELECTED)
        number = len(self.selected_from)
        listed = MAX_LISTED // max(1, number)
        return min(number, max(1, min(wanted, listed)))

    def candidate(self, triple: Triple) -> Candidate:
        """Return the triple at the resolution at which it is compared, with its expected table."""
        levels = self.compared_levels(triple)
        expected = self.tables.expected(triple, levels)
        return Candidate(
            clique=self.tables.columns.clique(triple),
            reference=np.rint(expected).astype(np.int64),
            penalty=round(distance_by_chance(expected)),
            merged=self.tables.columns.merged(triple, levels) or None,
        )

    def compared_levels(self, triple: Triple) -> Levels:
        """Return the finest resolution whose table is not too large to compare, else the coarsest."""
        last = len(binning.LEVELS) - 1
        most = min(
            self.tables.columns.total // RECORDS_A_CELL, ALL_CELLS_COMPARED // len(self.triples)
        )
        first, second, third = (self.tables.columns.numbers_of_bins[axis] for axis in triple)
        for level in range(last):
            if first[level] * second[level] * third[level] <= most:
                return (level, level, level)
        return (last, last, last)
