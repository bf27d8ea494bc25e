"""Coarser views of an attribute, from its noisy histogram alone: codes merged into bins, at several
resolutions.

Each resolution is nested in the one before, so that a table at one of them is a sum of cells of a finer one.
All arithmetic that decides is on whole numbers, so that the same histogram gives the same bins wherever it is
looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.inference import table_kernels

Floats = npt.NDArray[np.float64]
Bins = npt.NDArray[np.int64]
"""The bin of each code, from 0 on without a gap."""

LEVELS = (512, 64, 32, 16, 8, 4)
"""About how many bins each resolution has; the first is every code by itself unless there are more."""
_MIN_BINS = 4
"""No bin of several codes holds more than one in so many records."""
_COUNT_GRAIN = 256
"""Counts are kept to that part of one before they are compared."""


def dependence_weights(counts: Floats) -> Floats:
    """How much each code has to do with a dependence, adding up to 1: p (1 - p) of a code of share p. Of a
    code that nearly every record has, that is as little as of all the rare ones together, which is what sums
    of a table force."""
    shares = np.maximum(counts, 0.0) / max(float(np.maximum(counts, 0.0).sum()), 1.0)
    weights = shares * (1 - shares)
    whole = float(weights.sum())
    return weights / whole if whole > 0 else np.full(counts.size, 1 / counts.size)


def nested_bins(
    histogram: Floats, *, ordered: bool, rare: bool = False, levels: Sequence[int] = LEVELS
) -> list[Bins]:
    """The bins of every resolution. ordered: whether neighbouring codes mean neighbouring values; else common
    codes stay by themselves and rare ones are merged. rare: whether bins hold equal parts of what rare codes
    may tell, and not of the records: where one code is very common, the others then have more bins (see
    `spread`)."""
    # Whole numbers compare exactly, so that a run and a later fit always form the same
    # bins.
    counts = np.rint(np.maximum(histogram, 0.0) * _COUNT_GRAIN).astype(np.int64)
    resolutions, bins = [], np.arange(counts.size)
    for level in levels:
        coarser = _merge_codes(
            _dependence_counts(counts) if rare else counts.tolist(), level, ordered=ordered
        )
        counts = _add_counts(counts, coarser)
        bins = coarser[bins]
        resolutions.append(bins)
    return resolutions


def _add_counts(counts: Bins, bins: Bins) -> Bins:
    sums = np.zeros(int(bins.max()) + 1, dtype=np.int64)
    np.add.at(sums, bins, counts)
    return sums


def _dependence_counts(counts: Bins) -> list[int]:
    """`spread` in whole numbers: c (n - c), not divided by anything."""
    total = int(counts.sum())
    return [count * (total - count) for count in counts.tolist()]


def _merge_codes(counts: Sequence[int], max_bins: int, *, ordered: bool) -> Bins:
    """Codes in turn until a bin holds its part, one in `most`. A code that holds as much by itself is never
    merged."""
    if len(counts) <= max_bins:
        return np.arange(len(counts))
    total = max(sum(counts), 1)
    order = (
        range(len(counts))
        if ordered
        else sorted(range(len(counts)), key=lambda code: -counts[code])
    )
    bins = np.zeros(len(counts), dtype=np.int64)
    current, filled, codes = 0, 0, 0
    for code in order:
        count = counts[code]
        # A frequent code stays alone, and a merged bin never holds a large part of all
        # records.
        if codes and (count * max_bins >= total or (filled + count) * _MIN_BINS > total):
            current, filled, codes = current + 1, 0, 0
        bins[code], filled, codes = current, filled + count, codes + 1
        if filled * max_bins >= total:
            current, filled, codes = current + 1, 0, 0
    return _renumber(bins)


def _renumber(bins: Bins) -> Bins:
    """The same bins, in the order of their first codes. So if nothing is merged every code has its own
    number, and a table by these bins is the one by codes."""
    _, first, of = np.unique(bins, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[of].astype(np.int64)


def coarse_of_fine(fine: Bins, coarse: Bins) -> Bins:
    """The coarse bin of each fine one, where the fine bins are nested in the coarse ones."""
    coarse_of_fine = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    coarse_of_fine[fine] = coarse
    return coarse_of_fine


def sum_into_bins(table: Floats, bins: Sequence[Bins]) -> Floats:
    """The table with bins in place of codes along every axis."""
    if len(bins) == table.ndim == 2 and table.dtype == np.float64:
        return _sum_pair(table, bins[0], bins[1])
    for axis, along in enumerate(bins):
        size = int(along.max()) + 1
        if size == along.size == table.shape[axis]:  # every code by itself, in order
            continue
        order = np.argsort(along, kind="stable")
        starts = np.searchsorted(along[order], np.arange(size))
        table = np.add.reduceat(np.take(table, order, axis=axis), starts, axis=axis)
    return table


def _sum_pair(table: Floats, of_rows: Bins, of_columns: Bins) -> Floats:
    shape = int(of_rows.max()) + 1, int(of_columns.max()) + 1
    if shape == table.shape:  # every code by itself, in order
        return table
    sums = np.zeros(shape)
    table_kernels.sum_into_bins(np.ascontiguousarray(table), of_rows, of_columns, sums)
    return sums


def merging_loss(histogram: Floats, bins: Bins, *, ordered: bool, rare: bool = False) -> float:
    """What merging may hide, between 0 and 1: of neighbouring codes the squared shares of the bins, of others
    their shares. Bins of one code hide nothing."""
    totals = np.bincount(bins, weights=np.maximum(histogram, 0.0)).astype(np.float64)
    shares = dependence_weights(totals) if rare else totals / max(float(histogram.sum()), 1.0)
    merged = shares[np.bincount(bins) > 1]
    return float((merged**2).sum() if ordered else merged.sum())
