"""A classifier that is trained on the synthetic table of a release, and what of the real table its figures
are counts of.

It is a table: each predictor has at most `MAX_BINS` bins, and each combination of bins has a score, the share
of the synthetic records in it that have the target. Bins and scores are functions of the synthetic table,
which is public, so that the real records that it is right about are cells of one marginal with merged codes
(docs/proofs/check.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from synth_engine.measurement import Counts
from synth_engine.measurement.question import Clique, Merged
from synth_engine.models.model import Codes

MAX_BINS = 8
"""Of a predictor."""
MAX_PREDICTORS = 3
OTHERS, TARGET = 0, 1
"""The bins of the column that is predicted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Classifier:
    """The measurements of a classifier, and how it judges.

    clique: its columns in the order of the description. merged: the bins of each column. target_axis: the
    place of the column that is predicted. order: the cells of the predictors, the last one fastest, from the
    lowest score to the highest. says: whether it expects the target in each cell of the predictors.
    """

    clique: Clique
    merged: Merged
    shape: tuple[int, ...]
    target_axis: int
    order: npt.NDArray[np.int64]
    says: npt.NDArray[np.bool_]

    def by_cell(self, values: Counts) -> Counts:
        """Counts of its marginal as two rows, others and target, with a column for each cell of the
        predictors."""
        return np.moveaxis(values, self.target_axis, 0).reshape(2, -1)


def trained(
    codes: Codes,
    *,
    sizes: Sequence[tuple[str, int]],
    target: str,
    positive: Sequence[int],
) -> Classifier:
    """The classifier of a public table.

    codes: of the table. sizes: name and number of codes of every column of the classifier, in the order of
    the description. target: the column that is predicted. positive: the codes of it that count as the target:
    some, and not all."""
    clique = tuple(name for name, _ in sizes)
    of_target = np.zeros(dict(sizes)[target], dtype=np.int64)
    of_target[list(positive)] = TARGET
    is_target = of_target[codes[target].astype(np.int64)]
    merged = {
        name: of_target
        if name == target
        else _bins(codes[name].astype(np.int64), is_target, size=size)
        for name, size in sizes
    }
    shape = tuple(int(merged[name].max()) + 1 for name in clique)
    index = np.ravel_multi_index(
        tuple(merged[name][codes[name].astype(np.int64)] for name in clique), shape
    )
    counts = np.bincount(index, minlength=int(np.prod(shape))).reshape(shape)
    axis = clique.index(target)
    others, hits = np.moveaxis(counts, axis, 0).reshape(2, -1).tolist()
    return Classifier(
        clique=clique,
        merged=merged,
        shape=shape,
        target_axis=axis,
        order=np.array(_by_share(hits, others), dtype=np.int64),
        says=np.array([hit > other for hit, other in zip(hits, others, strict=True)]),
    )


def _bins(
    column: npt.NDArray[np.int64], is_target: npt.NDArray[np.int64], *, size: int
) -> npt.NDArray[np.int64]:
    """Bins of codes with a similar share of the target, of about as many synthetic records each."""
    hits = np.bincount(column, weights=is_target, minlength=size).astype(np.int64).tolist()
    all_of = np.bincount(column, minlength=size).tolist()
    order = _by_share(hits, [each - hit for each, hit in zip(all_of, hits, strict=True)])
    bins = np.empty(size, dtype=np.int64)
    if size <= MAX_BINS:
        bins[order] = np.arange(size)
        return bins
    whole, before = max(1, sum(all_of)), 0
    for code in order:
        bins[code] = min(MAX_BINS - 1, MAX_BINS * before // whole)
        before += all_of[code]
    # Without a gap: a code of many records may fill several bins.
    return np.unique(bins, return_inverse=True)[1].astype(np.int64)


def _by_share(hits: Sequence[int], others: Sequence[int]) -> list[int]:
    """Places from the smallest share of hits to the largest; one of each is added, so that an empty one
    stands in the middle. Fractions are exact, so that the order is the same on every machine."""
    shares = [
        Fraction(hit + 1, hit + other + 2) for hit, other in zip(hits, others, strict=True)
    ]
    return sorted(range(len(shares)), key=lambda place: (shares[place], place))
