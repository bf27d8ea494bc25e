"""Drawing one attribute given others, with as little sampling error as whole records allow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.kinds.reading import Codes, code_dtype

Weights = npt.NDArray[np.int64]
_GOLDEN = (5**0.5 - 1) / 2


def draw(weights: Weights, given: list[Codes], *, rows: int, rng: np.random.Generator) -> Codes:
    """Codes of the last attribute of a table of weights, given the codes of the others; shape (rows,).

    Within a group of records that agree on the others, in random order, quantiles are evenly spaced from one
    random start (systematic sampling), so that counts are within one of their expectation; starts of the
    groups are spread by the golden ratio, so that the errors of many small groups cancel. Groups without
    weight follow the table's sums.
    """
    size = weights.shape[-1]
    table = with_sums(weights).reshape(-1, size)
    groups = np.zeros(rows, dtype=np.int64)
    for axis, codes in enumerate(given):
        groups = groups * weights.shape[axis] + codes
    # The stable sort keeps the random order within a group, so the evenly spaced quantiles
    # below meet its records in random order.
    order = rng.permutation(rows)
    order = order[np.argsort(groups[order], kind="stable")]
    present, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    # With one start for all, groups of one record would all get the same quantile; multiples of
    # the golden ratio fill the unit interval evenly.
    offsets = (rng.random() + np.arange(present.size) * _GOLDEN) % 1
    place = (
        np.arange(rows) - np.repeat(starts, sizes) + np.repeat(offsets, sizes)
    ) / np.repeat(sizes, sizes)
    # The cumulated weights of all groups follow one another, so one binary search serves all
    # records.
    cumulated = np.cumsum(table[present], axis=1)
    ends = np.cumsum(cumulated[:, -1]) if present.size else np.zeros(0, dtype=np.int64)
    before = np.repeat(ends - cumulated[:, -1], sizes)
    target = before + np.minimum(
        np.floor(place * np.repeat(cumulated[:, -1], sizes)),
        np.repeat(cumulated[:, -1], sizes) - 1,
    ).astype(np.int64)
    steps = (cumulated + (ends - cumulated[:, -1])[:, None]).ravel()
    sampled = (
        np.searchsorted(steps, target, side="right")
        - np.repeat(np.arange(present.size), sizes) * size
    )
    codes = np.empty(rows, dtype=code_dtype(size))
    codes[order] = sampled
    return codes


def shares(weights: Weights) -> npt.NDArray[np.float64]:
    """The distribution of the last attribute given the others, as `draw` follows it."""
    table = with_sums(weights).astype(np.float64)
    rows: npt.NDArray[np.float64] = table / table.sum(axis=-1, keepdims=True)
    return rows


def with_sums(weights: Weights) -> Weights:
    """The table with its sums in the place of groups without weight."""
    others = tuple(range(weights.ndim - 1))
    return np.where(weights.sum(axis=-1, keepdims=True) > 0, weights, weights.sum(axis=others))
