"""Distances between two tables of counts: how far apart two columns, or groups of columns, are.

Pure functions of arrays; nothing here depends on a column, a domain or a file. Logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import comb, floor, pi
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64] | NDArray[np.float64]

EXACT_COUNTS = 256  # records in a cell
MIN_ENTROPY = 1e-12  # below it a column is constant, and says nothing about another


def shares(counts: Counts) -> Array:
    """Counts of any shape as shares that add up to 1. Noisy counts below zero count as zero; of an empty
    table all shares are zero."""
    positive = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    total = positive.sum()
    return positive / total if total > 0 else positive


def total_variation(p: Array, q: Array) -> float:
    """Total variation distance, ½ Σ|p − q|: the share of records that would have to change for the two to
    agree. Between an empty table and one that is not, 1; between two empty ones, 0."""
    if p.any() != q.any():
        return 1.0
    return float(0.5 * np.abs(p - q).sum())


def chance_distance(first: Counts, second: Counts) -> float:
    """Returns the total variation distance of two tables of counts that chance alone would
    give.

    It is the mean over random divisions of the pooled records into two tables of these sizes.
    Of the c records in a cell, X fall to the first side, w being its share of all N records,
    and the cell adds ½ (1/n + 1/m) E|X − cw|: that of a Binomial(c, w), times √((N − c)/(N −
    1)) for dealing without replacement."""
    a, b = np.maximum(first, 0), np.maximum(second, 0)
    n, m = float(a.sum()), float(b.sum())
    if n == 0 or m == 0:
        return 0.0
    weight = n / (n + m)
    pooled = np.rint(a + b).astype(np.int64)
    pooled = pooled[pooled > 0]
    deviation = np.sqrt(2.0 / pi * weight * (1.0 - weight) * pooled)
    # Small cells carry most of the chance distance of a sparse table, and there the normal
    # approximation is worst: they have the exact value.
    few = pooled < len(_mean_deviations(weight))
    deviation[few] = _mean_deviations(weight)[pooled[few]]
    # Finite-population factor of the hypergeometric law; it is 0 where one cell holds all
    # records.
    deviation *= np.sqrt((n + m - pooled) / max(1.0, n + m - 1.0))
    return float(0.5 * (1.0 / n + 1.0 / m) * deviation.sum())


def k_marginal_score(distances: Iterable[float]) -> float:
    """NIST's k-marginal score of the total variation distances of tables of k columns: 1000 less a thousand
    times their mean, from 0 (disjoint) to 1000 (the same). SDNist; Sen and others 2023, *Diverse Community
    Data for Benchmarking Data Privacy Algorithms*."""
    return 1000.0 * (1.0 - fmean(distances))


def squared_error(p: Array, q: Array) -> float:
    """Sum over cells of the squared difference of two shares, Σ (p − q)²."""
    return float(np.square(p - q).sum())


def chance_squared_error(first: Counts, second: Counts) -> float:
    """The sum of squared errors to expect if the pooled records were divided at random into tables of these
    sizes: the share of a cell has variance π(1 − π)(1/n + 1/m), up to the factor N/(N − 1) for dealing
    without replacement."""
    a, b = np.maximum(first, 0), np.maximum(second, 0)
    n, m = float(a.sum()), float(b.sum())
    if n == 0 or m == 0:
        return 0.0
    pooled = (a + b) / (n + m)
    spread = 1.0 - float(np.square(pooled).sum())
    return spread * (1.0 / n + 1.0 / m) * (n + m) / max(1.0, n + m - 1.0)


def chance_distances(first: Counts, second: Counts) -> Array:
    """Approximates `chance_distance` of each row of two tables, shape (rows, cells): of a cell with c pooled
    records the mean deviation is the normal one, and that of a single record where this is smaller."""
    a, b = (np.asarray(counts, dtype=np.float64) for counts in (first, second))
    n, m = a.sum(axis=1, keepdims=True), b.sum(axis=1, keepdims=True)
    total = np.maximum(n + m, 1.0)
    odds = n * m / total**2
    pooled = a + b
    deviation = np.minimum(2.0 * odds * pooled, np.sqrt(2.0 / pi * odds * pooled))
    deviation *= np.sqrt((total - pooled) / np.maximum(1.0, total - 1.0))
    with np.errstate(divide="ignore"):
        either = np.where((n > 0) & (m > 0), 1.0 / n + 1.0 / m, 0.0)
    return np.asarray(0.5 * (either * deviation).sum(axis=1))


@lru_cache(maxsize=64)
def _mean_deviations(weight: float) -> Array:
    """E|X − cw| of X ~ Binomial(c, w) for small c, by de Moivre's formula 2k C(c, k) w^k (1−w)^(c−k+1) with
    k = ⌊cw⌋ + 1; for larger c the normal value is within a thousandth."""
    values = [0.0]
    for count in range(1, EXACT_COUNTS):
        k = floor(count * weight) + 1
        values.append(2 * k * comb(count, k) * weight**k * (1 - weight) ** (count - k + 1))
    return np.array(values)


def entropy(p: Array) -> float:
    """Shannon entropy of shares, in nats."""
    occupied = p[p > 0]
    return float(-(occupied * np.log(occupied)).sum())


def normalised_mutual_information(joint: Counts) -> float:
    """I(X; Y) / min(H(X), H(Y)) of a two-way table: 0 where neither column says anything about the other, 1
    where one of them determines the other. 0 by convention where a column is constant."""
    p = shares(joint)
    first, second = entropy(p.sum(axis=1)), entropy(p.sum(axis=0))
    smaller = min(first, second)
    # Rounding leaves a constant column an entropy that is not quite 0, and the quotient would
    # be noise.
    if smaller <= MIN_ENTROPY:
        return 0.0
    # I(X; Y) = H(X) + H(Y) - H(X, Y). Mutual information is never negative; the difference of
    # sums may be, by rounding.
    return max(0.0, first + second - entropy(p.ravel())) / smaller
