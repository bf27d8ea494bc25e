"""Whether the mixture that predicts pairs explains relations of three columns too.

A mixture that was fitted to pairs implies a table of every triple. Where groups of records differ in many
columns at once it is right about triples; where pairs depend on each other in other ways it makes relations
up. It has to explain the pairs themselves, to which it was fitted: a distance of a triple says how far it is
from what pairs imply, not in which cells. Then the answers about triples decide: those with the largest
distances from maximum entropy were selected, and the mixture must predict most of these distances. A mixture
that is right is right about these as well, and noise of the selection is independent of that of scores and
tables. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from synth_engine.mechanisms.auto import selection
from synth_engine.mechanisms.auto.denoising import Fine
from synth_engine.mechanisms.auto.group_tables import GroupTables, Triple
from synth_engine.mechanisms.auto.selection import Answered, Pair
from synth_engine.mechanisms.auto.triples import TripleSearch

Floats = npt.NDArray[np.float64]

MAX_LEFT = 0.5
"""Largest part of the distances of triples that the mixture may leave."""
MAX_LEFT_OF_PAIRS = 0.2
"""Largest part of the distances of measured pairs from independence that the mixture may leave. Of groups of
records it leaves about .1, of a chain of columns .3, and of a tree .4."""
MIN_SCORED = 3
"""Smallest number of scores that decide: one or two distances agree by chance."""
_SOFTNESS = 3.0
"""Variance, in records, that is added to each cell, so that nearly empty cells do not count for
everything."""


def holds(
    search: TripleSearch,
    mixed: GroupTables,
    *,
    scored: Mapping[Triple, float],
    measured: Mapping[Triple, Answered],
    left_of_pairs: float,
) -> bool:
    """Return whether tables of triples are better estimated with the mixture.

    search: with tables that pairs imply; mixed: the same tables with the mixture; scored: the noisy distances
    of triples from maximum entropy, in L1, in records; measured: the answers about triples; left_of_pairs:
    the part of the distances of measured pairs that the mixture leaves."""
    return (
        left_of_pairs <= MAX_LEFT_OF_PAIRS
        and _left_of_scores(search, mixed, scored) <= MAX_LEFT
        and _left_of_tables(search.tables, mixed, measured) <= MAX_LEFT
    )


def left_of_pairs(
    fine: Fine, predicted: Mapping[Pair, Floats], counts: Mapping[Pair, Floats]
) -> float:
    """Return how far the mixture's tables of pairs are from their estimates, as a part of how far these are
    from independence; 0 where there are none. predicted: by the mixture, in records; counts: the estimates of
    the pairs that were measured."""
    left = sum(float(np.abs(predicted[pair] - table).sum()) for pair, table in counts.items())
    whole = sum(
        float(np.abs(fine.independent(pair) - table).sum()) for pair, table in counts.items()
    )
    return left / max(whole, 1.0)


def _left_of_scores(
    search: TripleSearch, mixed: GroupTables, scored: Mapping[Triple, float]
) -> float:
    """Return how far predicted distances are from the noisy ones, as a part of these; 1 where too few are
    known."""
    known = [triple for triple in scored if search.tables.estimable(triple)]
    if len(known) < MIN_SCORED:
        return 1.0
    noisy = np.array([scored[triple] for triple in known])
    predicted = np.empty(noisy.size)
    for number, triple in enumerate(known):
        levels = search.compared_levels(triple)
        moved = mixed.expected(triple, levels) - search.tables.expected(triple, levels)
        predicted[number] = np.abs(moved).sum()
    return float(np.abs(noisy - predicted).sum() / max(np.abs(noisy).sum(), 1.0))


def _left_of_tables(
    without: GroupTables, mixed: GroupTables, measured: Mapping[Triple, Answered]
) -> float:
    """Return how far noisy tables are from the mixture's, beyond their noise, as a part of how far they are
    from those of maximum entropy; 0 where none was measured."""
    before = after = 0.0
    for triple, table in measured.items():
        tables = [each.expected(triple, table.levels) for each in (without, mixed)]
        mean = (tables[0] + tables[1]) / 2
        distances = [_beyond_noise(table, expected, mean) for expected in tables]
        before, after = before + distances[0], after + distances[1]
    if not measured:
        return 0.0
    return after / before if before > 0 else 1.0


def _beyond_noise(table: Answered, expected: Floats, mean: Floats) -> float:
    """Return the distance of a noisy table from an expected one, in L2 with cells weighted by the inverse of
    their variance, less what noise adds to it. mean: counts that give the variance by chance."""
    observed = selection.combined(
        [selection.around(expected, answer, table.levels) for answer in table.measurements]
    )
    weights = 1 / (observed.variance + mean + _SOFTNESS)
    squares = (observed.values - expected) ** 2 - observed.variance
    return math.sqrt(max(float((weights * squares).sum()), 0.0))
