"""Where among sorted codes each node begins, if where the node above begins and ends is known."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import Codes, Prefixes

Places = npt.NDArray[np.int64]


def firsts(codes: Codes, prefixes: Prefixes, *, level: int, parents: Places, starts: Places, ends: Places) -> Places:
    """The place of the first code that is not below each prefix: `np.searchsorted`, faster. prefixes: of nodes of that depth,
    increasing; parents: which range of codes, from starts to ends, each belongs to; what is above them they share."""
    if codes.dtype != np.uint64:  # of a sequence of symbols the next one tells
        codes, prefixes = (
            one.view(np.uint8).reshape(one.size, one.dtype.itemsize)[:, level - 1] for one in (codes, prefixes)
        )
    found: Places = _firsts(codes, prefixes, parents, starts, ends)
    return found


@numba.njit(cache=True)
def _firsts(codes: Codes, prefixes: Prefixes, parents: Places, starts: Places, ends: Places) -> Places:
    found = np.empty(prefixes.size, dtype=np.int64)
    parent, low, end = -1, 0, 0
    for child in range(prefixes.size):
        if parents[child] != parent:
            parent = parents[child]
            low, end = starts[parent], ends[parent]
        prefix, left = prefixes[child], 4
        while low + left <= end and codes[low + left - 1] < prefix:  # the next one is seldom far
            low += left
            left *= 4
        left = min(left, end - low)
        while left > 0:  # without a branch that a processor would guess wrong half of the time
            half = (left + 1) >> 1
            low += half * (codes[low + half - 1] < prefix)
            left -= half
        found[child] = low
    return found
