"""Trees of dependent columns: what they predict of all pairs, and how much of all noisy scores they explain.

Columns often depend on each other through others. If every column is independent of all others given its
neighbours in a tree, the tables of neighbours give those of all pairs (Chow and Liu 1968), and nothing is
gained by measuring other pairs. Everything here is a function of public facts and of paid answers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.inference import decomposable, shrinkage
from synth_engine.mechanisms.auto.selection import Columns, Pair

Floats = npt.NDArray[np.float64]
Neighbours = Mapping[int, Sequence[int]]

_EXPLAINED, _NOT_EXPLAINED = 0.25, 0.5
"""The part of all scores that a tree leaves, up to which it is taken to explain all pairs, and from which on
none. A tree that is right leaves about 0.2, because strengths along a path multiply only nearly; survey
tables leave more than 0.5."""
_NEVER_EXPLAINED = 0.1
"""The least part of a pair's distance that a tree is taken to leave: scores say how far a pair is from
independence, not in which cells."""
_MIN_OTHERS = 3
"""Smallest number of pairs beside those of the tree that can tell whether it explains them."""
_LEAST_SCALE = 0.5
"""Least common factor of all strengths that the tree implies."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DependenceTree:
    """A maximum spanning forest of pairs whose tables are estimated.

    histograms: of all columns, in records; tables: of neighbours, shape (bins of the first, bins of the
    second), in records, each in both directions."""

    histograms: Sequence[Floats]
    tables: Mapping[Pair, Floats]
    neighbours: Neighbours

    @classmethod
    def of(
        cls, histograms: Sequence[Floats], rows: int, counts: Mapping[Pair, Floats]
    ) -> DependenceTree:
        """Choose the edges. counts: the estimated tables of pairs, whose sums are the histograms."""
        strengths = {
            (a, b): float(
                np.abs(table - np.multiply.outer(histograms[a], histograms[b]) / rows).sum()
            )
            for (a, b), table in counts.items()
        }
        edges = spanning_edges(strengths)
        tables = {edge: counts[edge] for edge in edges}
        tables |= {(b, a): counts[a, b].T for a, b in edges}
        return cls(histograms=histograms, tables=tables, neighbours=neighbours_of(edges))

    def predictions(self, wanted: Iterable[Pair]) -> dict[Pair, Floats]:
        """Predict the tables of those pairs, in records, that a path of two or more edges connects."""
        ends: dict[int, set[int]] = {}
        for a, b in wanted:
            ends.setdefault(a, set()).add(b)
        predicted = {}
        for start, targets in ends.items():
            reached = {at: self.tables[start, at] for at in self.neighbours.get(start, ())}
            for at, after in steps(self.neighbours, start):
                given = reached[at] / np.maximum(self.histograms[at], shrinkage.MIN_EXPECTED)
                # Independent of all columns before, given the one between.
                reached[after] = given @ self.tables[at, after]
                if after in targets:
                    predicted[start, after] = reached[after]
        return predicted


def spanning_edges(strengths: Mapping[Pair, float]) -> list[Pair]:
    """Return the edges of a maximum spanning forest."""
    names = {str(axis): axis for pair in strengths for axis in pair}
    edges = decomposable.spanning_tree(
        {(str(a), str(b)): strength for (a, b), strength in strengths.items()}, list(names)
    )
    return [(names[a], names[b]) for a, b in edges]


def neighbours_of(edges: Iterable[Pair]) -> Neighbours:
    """Return the neighbours of each column that has any."""
    neighbours: dict[int, list[int]] = {}
    for a, b in edges:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    return neighbours


def steps(neighbours: Neighbours, start: int) -> Iterator[Pair]:
    """Yield the edges beyond the neighbours of a column, away from it: every edge after the one that leads to
    it."""
    waiting = [(start, at) for at in neighbours.get(start, ())]
    while waiting:
        before, at = waiting.pop()
        for after in neighbours[at]:
            if after != before:
                waiting.append((at, after))
                yield at, after


def unexplained(
    columns: Columns,
    pairs: Sequence[Pair],
    distances: Floats,
    noisy: Floats,
    *,
    variance: float,
) -> Floats:
    """Return the part of each pair's distance that a tree of the strongest pairs does not explain: 1 for the
    pairs of the tree itself, and for all pairs unless the scores as a whole are nearly what the tree implies.
    Chance is never explained.

    distances: of pairs from independence, in L1, as shares of the records, as they are taken to be; noisy:
    the same by the scores alone, with noise of this variance."""
    limits = _largest_distances(columns, pairs)
    strengths = dict(zip(pairs, np.minimum(distances / limits, 1.0).tolist(), strict=True))
    edges = set(spanning_edges(dict(zip(pairs, distances.tolist(), strict=True))))
    others = np.array([pair not in edges for pair in pairs])
    everything: Floats = np.ones(len(pairs))
    number = int(others.sum())
    if number < _MIN_OTHERS:
        return everything
    implied = (_strengths_along(edges, pairs, strengths) * limits)[others]
    # A mean of squares of so many noisy scores varies by about this much.
    doubt = variance * math.sqrt(2 / number)
    seen = noisy[others]
    signal = float((seen**2).mean()) - variance
    if signal < 2 * doubt:
        return everything
    scale = float(seen @ implied) / max(float(implied @ implied), shrinkage.MIN_EXPECTED)
    off = seen - min(max(scale, _LEAST_SCALE), 1.0) * implied
    missed = max(float((off**2).mean()) - variance + doubt, 0.0)
    left = math.sqrt(missed / signal)
    part = (left - _EXPLAINED) / (_NOT_EXPLAINED - _EXPLAINED)
    part = min(max(part, _NEVER_EXPLAINED), 1.0)
    by_chance = columns.distances_by_chance(pairs) / distances
    parts: Floats = np.where(others, by_chance.clip(part, 1.0), 1.0)
    return parts


def _largest_distances(columns: Columns, pairs: Sequence[Pair]) -> Floats:
    """Return the largest L1 distance from independence of each pair: twice the chance that two records differ
    in the column in which they differ less often."""
    axes = sorted({axis for pair in pairs for axis in pair})
    differing = {axis: columns.largest_distance(axis) for axis in axes}
    return np.array([2 * min(differing[a], differing[b]) for a, b in pairs])


def _strengths_along(
    edges: Collection[Pair], pairs: Sequence[Pair], strengths: Mapping[Pair, float]
) -> Floats:
    """Return the product of the strengths of all edges between two columns; 0 where they are not
    connected."""
    neighbours = neighbours_of(sorted(edges))
    along: dict[Pair, float] = {}
    for start in neighbours:
        reached = {at: strengths[min(start, at), max(start, at)] for at in neighbours[start]}
        for at, after in steps(neighbours, start):
            reached[after] = reached[at] * strengths[min(at, after), max(at, after)]
        along |= {(start, end): strength for end, strength in reached.items()}
    return np.array([along.get(pair, 0.0) for pair in pairs])
