"""Whole-number weights, and the randomness by which rows are drawn from them: exact, and the same on every
machine."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

WHOLE = 10**9
"""The weights of a table add up to this."""

Weights = npt.NDArray[np.int64]


def generator(seed: str, *, purpose: tuple[str, ...]) -> np.random.Generator:
    """Randomness of the post-processing: public, replayable, and separate for each purpose. Never noise."""
    parts = ["synth_engine/post-processing/1", *purpose, seed]
    sha = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        # The length before each part keeps ("ab", "c") and ("a", "bc") apart.
        sha.update(len(raw).to_bytes(8, "big") + raw)
    return np.random.Generator(np.random.PCG64(int.from_bytes(sha.digest(), "big")))


def round_to_total(weights: Weights, total: int) -> Weights:
    """Whole numbers in proportion to the weights (which add up to `WHOLE`) with the given sum, by largest
    remainder."""
    # At most 10^9 * 10^9, which int64 holds.
    scaled = weights * np.int64(total)
    counts: Weights = scaled // WHOLE
    remainders = scaled - counts * WHOLE
    short = total - int(counts.sum())
    # Equal remainders go by position: another order would give other records for the same seed.
    largest = np.argsort(-remainders, kind="stable")[:short]
    counts[largest] += 1
    return counts


def round_in_order(weights: Weights, total: int, *, start: int) -> Weights:
    """Whole numbers with the given sum, such that of any weights side by side their sum is off by less than
    one: each weight (they add up to `WHOLE`) gets the whole numbers that the scale passes on its way. start:
    below `WHOLE`."""
    reached = np.cumsum(np.append(0, weights)) * np.int64(total) + start
    counts: Weights = np.diff(reached // WHOLE)
    return counts


def dealt(
    weights: Weights,
    rows: int,
    *,
    order: npt.NDArray[np.intp],
    population: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.intp]:
    """Draws `rows` records, a random part of a `population` in random order, and returns the
    positions of their cells.

    Weights become whole numbers in the order of cells, so that every node above them is off by
    less than one record: were each rounded by itself, those that hold a third of a record would
    all be empty, and what they held together would be elsewhere."""
    chosen = np.repeat(
        order, round_in_order(weights[order], population, start=int(rng.integers(WHOLE)))
    )
    rng.shuffle(chosen)
    return chosen[:rows]


def whole_weights(shares: npt.NDArray[np.float64]) -> Weights:
    """Whole-number weights of non-negative shares; an all-zero table becomes uniform."""
    shares = np.where(np.isfinite(shares) & (shares > 0), shares, 0.0)
    if shares.sum() <= 0:
        shares = np.ones_like(shares)
    exact = shares.ravel() / shares.sum() * WHOLE
    weights: Weights = np.floor(exact).astype(np.int64)
    order = np.argsort(weights - exact, kind="stable")
    short = min(max(WHOLE - int(weights.sum()), 0), order.size)
    weights[order[:short]] += 1
    weights[np.argmax(weights)] += WHOLE - int(
        weights.sum()
    )  # what floats lost, at most a few units
    return weights.reshape(shares.shape)
