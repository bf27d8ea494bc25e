"""Which pairs are worth their noise: the selection and the joining of PrivSyn (DenseMarg), from noisy scores.

A pair that is not measured is wrong by its distance from independence, a measured one by the noise that is
left in it. More measured pairs leave less budget, and more noise, for each. All of it is post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synth_engine.inference import factors
from synth_engine.inference.factors import Floats, Sizes
from synth_engine.measurement import Clique
from synth_engine.mechanisms.pairwise.network_search import Expectation
from synth_engine.mechanisms.pairwise.pairs import MAX_TOTAL_CELLS

MIN_DEVIATIONS = 1.0
"""A dependence of fewer standard deviations of a score's noise is taken for noise."""
JOINED_NOISE = 0.5
"""A table of three columns may keep as much noise as this part of what its three pairs would."""
STEPS = 1.15
"""The numbers of pairs that are tried grow by this factor."""

Deviation = Callable[[int], float]
"""The mean deviation of the noise of one table, if the budget is cut into so many parts."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Cliques to be measured, and how many equal parts of the budget each of them gets."""

    cliques: dict[Clique, int]

    @property
    def parts(self) -> int:
        return sum(self.cliques.values())


def dependence(
    scores: Mapping[Clique, float], expected: Mapping[Clique, Expectation], *, spread: float
) -> dict[Clique, float]:
    """The L1 distance of every pair from independence, beyond what chance makes; 0 where noise may have made
    it."""
    beyond = {pair: score - expected[pair].by_chance for pair, score in scores.items()}
    return {
        pair: distance if distance > MIN_DEVIATIONS * spread else 0.0
        for pair, distance in beyond.items()
    }


def select_pairs(
    distances: Mapping[Clique, float],
    expected: Mapping[Clique, Expectation],
    *,
    deviation: Deviation,
) -> list[Clique]:
    """The pairs to be measured, the most worthwhile first: of all numbers of pairs tried, that of least total
    error. All of them together have `MOST_CELLS` at most."""
    whole, sizes = (
        sum(distances.values()),
        {pair: expectation.reference.size for pair, expectation in expected.items()},
    )
    best: tuple[float, list[Clique]] = (whole, [])
    number = 1
    # Each number of pairs means another noise, so each is tried with the noise that it
    # would have.
    while number <= len(distances):
        noise = deviation(number)
        gains = {
            pair: distance - expected[pair].kept_noise(noise)
            for pair, distance in distances.items()
            if distance
        }
        worthwhile = sorted(
            (pair for pair in gains if gains[pair] > 0), key=lambda pair: -gains[pair]
        )[:number]
        room = itertools.accumulate(sizes[pair] for pair in worthwhile)
        taken = [
            pair
            for pair, cells in zip(worthwhile, room, strict=True)
            if cells <= MAX_TOTAL_CELLS
        ]
        error = whole - sum(gains[pair] for pair in taken)
        if error < best[0]:
            best = error, taken
        number = max(number + 1, math.ceil(number * STEPS))
    return best[1]


def join_triples(
    pairs: Sequence[Clique],
    oneways: Mapping[str, Floats],
    expected: Mapping[Clique, Expectation],
    *,
    total: float,
    most_cells: int,
    deviation: Deviation,
) -> Chosen:
    """Three pairs of the same three columns are measured as one table, with the budget of the three, if that
    table is small and much less noise would be left in it than in the pairs together. oneways: of all
    columns, in their order."""
    remaining = dict.fromkeys(pairs, 1)
    sizes: Sizes = {name: table.size for name, table in oneways.items()}
    names = [name for name in sizes if any(name in pair for pair in pairs)]
    # Only triples whose three pairs were all selected can replace them.
    triples = [
        t
        for t in itertools.combinations(names, 3)
        if all(p in remaining for p in itertools.combinations(t, 2))
    ]
    for triple in sorted(triples, key=lambda clique: factors.cells(clique, sizes)):
        within = list(itertools.combinations(triple, 2))
        if factors.cells(triple, sizes) > most_cells or not all(
            pair in remaining for pair in within
        ):
            continue
        whole = Expectation(factors.product([oneways[name] for name in triple], total=total))
        separate = sum(expected[pair].kept_noise(deviation(len(pairs))) for pair in within)
        grown = sum(
            factors.cells(clique, sizes)
            for clique in (*remaining, triple)
            if clique not in within
        )
        if (
            whole.kept_noise(deviation(len(pairs)) / math.sqrt(3)) <= JOINED_NOISE * separate
            and grown <= MAX_TOTAL_CELLS
        ):
            remaining = {
                clique: parts for clique, parts in remaining.items() if clique not in within
            } | {triple: 3}
    return Chosen(cliques=remaining)
