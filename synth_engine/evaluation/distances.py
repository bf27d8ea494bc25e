"""Distances between two tables of counts: how far apart two columns, or groups of columns, are.

Pure functions of arrays; nothing here knows a column, a domain or a file. Logarithms are natural.
"""

from __future__ import annotations

from math import pi

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64] | NDArray[np.float64]

SMALLEST_ENTROPY = 1e-12  # below it a column is constant, and says nothing about another


def shares(counts: Counts) -> Array:
    """Counts of any shape as shares that add up to 1. Noisy counts below zero count as zero; of an empty table all
    shares are zero."""
    positive = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    total = positive.sum()
    return positive / total if total > 0 else positive


def total_variation(p: Array, q: Array) -> float:
    """Total variation distance, ½ Σ|p − q|: the share of records that would have to change for the two to agree.
    Between an empty table and one that is not, 1; between two empty ones, 0."""
    if p.any() != q.any():
        return 1.0
    return float(0.5 * np.abs(p - q).sum())


def chance_distance(p: Array, q: Array, *, n: int, m: int) -> float:
    """About what the total variation distance would be by chance alone, were p and q the shares in two independent
    samples of n and m records of one population.

    Cell by cell the mean absolute difference of a normal with variance s(1 − s)(1/n + 1/m), s being the pooled share,
    and never more than the 2s it can reach: in tables with many nearly empty cells it is a rough guide."""
    if n < 1 or m < 1:
        return 0.0
    pooled = (n * p + m * q) / (n + m)
    normal = np.sqrt(2.0 / pi * pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m))
    return float(0.5 * np.minimum(normal, 2.0 * pooled).sum())


def entropy(p: Array) -> float:
    """Shannon entropy of shares, in nats."""
    occupied = p[p > 0]
    return float(-(occupied * np.log(occupied)).sum())


def normalised_mutual_information(joint: Counts) -> float:
    """I(X; Y) / min(H(X), H(Y)) of a two-way table: 0 where neither column says anything about the other, 1 where one
    of them determines the other. 0 by convention where a column is constant."""
    p = shares(joint)
    first, second = entropy(p.sum(axis=1)), entropy(p.sum(axis=0))
    smaller = min(first, second)
    if smaller <= SMALLEST_ENTROPY:
        return 0.0
    return max(0.0, first + second - entropy(p.ravel())) / smaller
