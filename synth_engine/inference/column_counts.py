"""The last step from tables to rows: every code of every column is as frequent as its histogram says, to
rounding.

Refinement trades tables of two and three columns against each other, and leaves each column some dozens of
records from its own histogram, which was paid for and is far more exact than any pair. Records are moved here
from codes that too many have to codes that too few have, one column after the other. Of all such moves the
one is made first that costs least in the tables of pairs; so no more records are moved than have to be. Moves
into forbidden cells are never made; where nothing else is left, the column stays off by those.

All of it is post-processing. The same rows, targets and generator give the same rows on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.inference import cost_tables, swap_kernels
from synth_engine.inference.cost_tables import (
    SOFTNESS,
    AttributeFacts,
    Axes,
    Codes,
    Floats,
    RowRepeats,
)

Counts = npt.NDArray[np.int64]
LOOKED_AT = 64
"""Number of records whose moves are compared for each record that has to leave a code: the cheapest of so
many are about as cheap as those of all."""
LEAST_LOOKED_AT = 512
"""Number of records of a code whose moves are compared, at least."""
_TINY = 1e-6
"""Largest difference, in records, between a part of a histogram and a whole number that count as equal."""


def wanted(histogram: Floats, counts: Counts) -> Counts:
    """Whole numbers with the sum of the counts, each one of the two around its part of the histogram: the one
    that is nearer to its count, so that as few records as possible have to move.

    histogram: not negative, with a positive sum; counts: of the same codes.
    """
    exact = histogram * (int(counts.sum()) / float(histogram.sum()))
    # Sums of floats may miss a whole number by little.
    below = np.floor(exact + _TINY).astype(np.int64)
    above = np.maximum(below, np.ceil(exact - _TINY).astype(np.int64))
    nearest = np.clip(counts, below, above)
    missing = int(counts.sum()) - int(nearest.sum())
    rest = exact - below
    # Equal parts go by position: another order would give other records for the same seed.
    if missing > 0:
        free = np.flatnonzero(nearest < above)
        nearest[free[np.argsort(-rest[free], kind="stable")][:missing]] += 1
    else:
        free = np.flatnonzero(nearest > below)
        nearest[free[np.argsort(rest[free], kind="stable")][:-missing]] -= 1
    return nearest


def match(
    codes: Codes,
    *,
    fixed: int,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    facts: AttributeFacts,
    times: int = 1,
) -> Codes:
    """Return the rows after the first `fixed` ones, changed so that all rows together have the histograms of
    the targets to rounding, shape (attributes, rows - fixed), uint16.

    codes: shape (attributes, rows). targets, facts: as in `record_refinement.refine`; of each attribute the
    first target with it gives the histogram. Attributes in no target stay, and tied ones. times: how often
    the fixed rows count.
    """
    counted = RowRepeats(first=fixed, times=times)
    later = codes[:, fixed:]
    histograms = _histograms(targets)
    tied = {axis for group in facts.tied for axis in group}
    excess = {
        axis: _excess(codes, axis, histogram, counted)
        for axis, histogram in histograms.items()
        if axis not in tied
    }
    if not later.size or not any(each.any() for each in excess.values()):
        return later.copy()
    tables = cost_tables.build(
        codes,
        targets,
        allowed=facts.allowed,
        weights=[1.0] * len(targets),
        softness=SOFTNESS,
        times=counted,
    )
    views = tables.views()
    records = np.array(later.T, order="C")
    for axis, surplus in excess.items():
        order = rng.permutation(len(records))
        some = _some(records[order, axis], surplus)
        # The other records follow only if these were not enough, because of forbidden cells.
        for chosen in (order[some], order[~some]):
            if (surplus > 0).any() and (surplus < 0).any():
                swap_kernels.move_to_counts(records, chosen, axis, surplus, views)
    return np.ascontiguousarray(records.T)


def _histograms(targets: Sequence[tuple[Axes, Floats]]) -> dict[int, Floats]:
    """The histogram of each attribute, of the first target with it that has anything in it."""
    histograms: dict[int, Floats] = {}
    for axes, table in targets:
        for position, axis in enumerate(axes):
            if axis not in histograms and table.sum() > 0:
                others = tuple(k for k in range(table.ndim) if k != position)
                histograms[axis] = table.sum(axis=others)
    return dict(sorted(histograms.items()))


def _excess(codes: Codes, axis: int, histogram: Floats, times: RowRepeats) -> Counts:
    """How many records of each code of an attribute there are too many."""
    counts = times.table(codes, (axis,), histogram.shape)
    return counts - wanted(histogram, counts)


def _some(codes: npt.NDArray[np.uint16], excess: Counts) -> npt.NDArray[np.bool_]:
    """Return which records, given in random order, are compared first: so many of each code that too many
    records have."""
    most = np.where(excess > 0, LOOKED_AT * excess + LEAST_LOOKED_AT, 0)
    order = np.argsort(codes, kind="stable")
    ranked = codes[order]
    turn = np.arange(codes.size) - np.searchsorted(ranked, ranked)
    chosen = np.zeros(codes.size, dtype=np.bool_)
    chosen[order] = turn < most[ranked]
    return chosen
