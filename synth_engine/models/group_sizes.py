"""How many records each person of a drawn table has: from noisy group sizes to groups of consecutive rows.

All of it is post-processing. What groups keep is how large they are; which records are in one is chance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.inference import oneway
from synth_engine.measurement import GroupSizes

Whole = npt.NDArray[np.int64]


def frequencies(sizes: GroupSizes) -> npt.NDArray[np.float64]:
    """How frequent each size is, from 1 record up: nothing negative, less noise, no further than the largest that is
    left. Where noise leaves nobody, everybody has one record."""
    total = int(sizes.values.sum())
    counts = oneway.denoise(
        sizes.values, noise=sizes.noise, total=total, along=sizes.values.size
    )
    if not counts.any():
        return np.ones(1)
    last = int(np.flatnonzero(counts)[-1])
    return counts[: last + 1]


def ends(sizes: Whole, rows: int, *, rng: np.random.Generator) -> Whole:
    """Where each group ends in a table of so many rows, that is the number of rows up to its last one, given the sizes
    to deal out. They are dealt out in random order, and again if they are too few; the last group is cut to fit."""
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
    """How many groups have 1, 2, … rows."""
    return np.bincount(np.diff(ends, prepend=0), minlength=most + 1)[1:]
