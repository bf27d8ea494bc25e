"""Tables of four and more attributes that follow from the tables of their pairs: of all that have these
pairs, the one of most entropy, by iterative proportional fitting (Deming and Stephan 1940). For three
attributes see `maxent_triples`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

ROUNDS = 8
"""Of fitting, at most: twice as many as for three attributes, because each pair is disturbed by more
others."""
TOLERANCE = 1e-4
"""Fitting ends when a round scales no cell of a pair by more than this part."""


def fitted(
    pairs: Sequence[Floats],
    *,
    start: Floats | None = None,
    rounds: int = ROUNDS,
    tolerance: float = TOLERANCE,
) -> Floats:
    """Return the table that nearly has these pairs, in records: that of most entropy, or the one nearest to
    another table.

    pairs: the counts of all pairs of its attributes, in the order of `itertools.combinations`. start: the
    other table. Cells that a pair leaves empty are empty in the table. Errors: ValueError where the number of
    pairs is not that of all pairs of some attributes.
    """
    attributes = (1 + math.isqrt(1 + 8 * len(pairs))) // 2
    if math.comb(attributes, 2) != len(pairs) or attributes < 2:
        raise ValueError("a table follows from all pairs of its attributes")
    shape = (
        pairs[0].shape[0],
        *(pair.shape[1] for pair in pairs[: attributes - 1]),
    )
    table = np.ones(math.prod(shape)) if start is None else start.astype(np.float64).ravel()
    sides = np.array(list(itertools.combinations(range(attributes), 2)), dtype=np.int64)
    counts = np.concatenate([pair.ravel() for pair in pairs])
    _fit(table, np.array(shape, dtype=np.int64), sides, counts, rounds, tolerance)
    return table.reshape(shape)


# A compiled function takes plain arrays and numbers.
@compiled
def _fit(
    table: Floats, sizes: Places, sides: Places, counts: Floats, rounds: int, tolerance: float
) -> None:
    """Scales the table to each pair in turn, in place. sizes: of its attributes, whose last one varies
    fastest; sides: the two attributes of each pair, shape (pairs, 2); counts: the tables of the pairs one
    after another."""
    codes = _codes(table.size, sizes)
    # The cell of each pair that each cell of the table is in.
    places = np.empty((sides.shape[0], table.size), dtype=np.int64)
    for pair in range(sides.shape[0]):
        for cell in range(table.size):
            places[pair, cell] = (
                codes[sides[pair, 0], cell] * sizes[sides[pair, 1]]
                + codes[sides[pair, 1], cell]
            )
    for _ in range(rounds):
        start, largest = 0, 0.0
        for pair in range(sides.shape[0]):
            wanted = counts[start : start + sizes[sides[pair, 0]] * sizes[sides[pair, 1]]]
            start += wanted.size
            ratios = np.zeros(wanted.size)
            for cell in range(table.size):
                ratios[places[pair, cell]] += table[cell]
            for at in range(wanted.size):
                ratios[at] = wanted[at] / ratios[at] if ratios[at] > 0 else 0.0
                if wanted[at] > 0:
                    largest = max(largest, abs(ratios[at] - 1))
            for cell in range(table.size):
                table[cell] *= ratios[places[pair, cell]]
        if largest <= tolerance:
            break


@compiled
def _codes(cells: int, sizes: Places) -> Places:
    """The code of each cell along each attribute, shape (attributes, cells)."""
    codes = np.empty((sizes.size, cells), dtype=np.int64)
    stride = 1
    for axis in range(sizes.size - 1, -1, -1):
        for cell in range(cells):
            codes[axis, cell] = cell // stride % sizes[axis]
        stride *= sizes[axis]
    return codes
