"""The number of records of each person of a generated table: from noisy group sizes to groups
of consecutive rows.

All of it is post-processing. Groups preserve their sizes alone; which records are in one is
chance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.inference import oneway
from synth_engine.measurement import GroupSizes

Whole = npt.NDArray[np.int64]


def frequencies(sizes: GroupSizes) -> npt.NDArray[np.float64]:
    """Estimates how frequent each size is, from 1 record up: denoised, not negative, and cut
    after the largest size that is left. Where noise leaves nobody, everybody has one record."""
    total = int(sizes.values.sum())
    counts = oneway.denoise(
        sizes.values, noise=sizes.noise, total=total, along=sizes.values.size
    )
    if not counts.any():
        return np.ones(1)
    last = int(np.flatnonzero(counts)[-1])
    return counts[: last + 1]


def ends(sizes: Whole, rows: int, *, rng: np.random.Generator) -> Whole:
    """Deals group sizes out over a table of so many rows and returns the number of rows up to
    the end of each group.

    Sizes come in random order, and again if they are too few; the last group is cut to fit."""
    dealt = [np.zeros(0, dtype=np.int64)]
    short = rows
    while short > 0:
        dealt.append(rng.permutation(sizes))
        short -= int(sizes.sum())
    places: Whole = np.concatenate(dealt).cumsum()
    # The last group may be too long for the table: it is cut, so that every row belongs to one
    # group.
    places = places[: int(np.searchsorted(places, rows)) + 1]
    return np.minimum(places, rows)


def members(ends: Whole, *, start: int, rows: int) -> npt.NDArray[np.uint64]:
    """The number of the group of each of so many rows, from a row on."""
    return np.searchsorted(ends, np.arange(start, start + rows), side="right").astype(np.uint64)


def counted(ends: Whole, *, most: int) -> Whole:
    """Returns how many groups have 1, 2, … rows."""
    return np.bincount(np.diff(ends, prepend=0), minlength=most + 1)[1:]
