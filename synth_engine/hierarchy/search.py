"""Search for the range of sorted codes of each node within the known range of its parent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import Codes, Prefixes
from synth_engine.jit import compiled

Places = npt.NDArray[np.int64]
_MAX_CHILDREN = 256
_FEW = 32
"""Codes per child of a node: with so many, one pass that counts them is as fast as a search."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ParentRanges:
    """The range of sorted codes of each parent. All codes of a range agree in the symbols above its nodes.

    of: the index of the parent of each node; shape (nodes,). starts, ends: the first position of each range
    and the one beyond its last; shape (parents,)."""

    of: Places
    starts: Places
    ends: Places


def ranges(
    codes: Codes,
    prefixes: Prefixes,
    *,
    level: int,
    parents: ParentRanges,
    reached: Places | None = None,
) -> tuple[Places, Places, Places]:
    """Returns three arrays of shape (nodes,): the position of the first code of each node, the position
    beyond its last code, and the number of records between them. The positions equal those of
    `np.searchsorted`, but are computed faster.

    codes: sorted. prefixes: of the nodes of one level, increasing. reached: how many records lie before each
    position; without it every code is one record."""
    # Codes that are sequences of symbols agree above this level, so its symbol alone decides.
    if codes.dtype != np.uint64:
        codes, prefixes = (
            one.view(np.uint8).reshape(one.size, one.dtype.itemsize)[:, level - 1]
            for one in (codes, prefixes)
        )
    places: tuple[Places, Places, Places] = _ranges(
        codes,
        prefixes,
        parents.of,
        parents.starts,
        parents.ends,
        np.empty(0, dtype=np.int64) if reached is None else reached,
    )
    return places


@compiled
def _ranges(
    codes: Codes,
    prefixes: Prefixes,
    parents: Places,
    starts: Places,
    ends: Places,
    reached: Places,
) -> tuple[Places, Places, Places]:
    first = np.empty(prefixes.size, dtype=np.int64)
    last, tally = np.empty_like(first), np.empty_like(first)
    numbers = np.empty(_MAX_CHILDREN + 1, dtype=np.int64)
    child = 0
    while child < prefixes.size:
        parent, beyond = parents[child], child + 1
        while beyond < prefixes.size and parents[beyond] == parent:
            beyond += 1
        low, end = starts[parent], ends[parent]
        shift = (
            _spacing(prefixes, child, beyond) if end - low <= _FEW * (beyond - child) else -1
        )
        if shift >= 0:
            _tallied(codes, prefixes[child], shift, low, end, first[child:beyond], numbers)
        else:
            _searched(codes, prefixes[child:beyond], low, end, first[child:beyond])
        for at in range(child, beyond):
            # Siblings are adjacent and fill the range of their parent, so each ends where the
            # next begins.
            last[at] = first[at + 1] if at + 1 < beyond else end
            tally[at] = (
                reached[last[at]] - reached[first[at]] if reached.size else last[at] - first[at]
            )
        child = beyond
    return first, last, tally


@compiled
def _spacing(prefixes: Prefixes, first: int, last: int) -> int:
    """The s for which each prefix is 2^s beyond the one before it, or -1."""
    if not 1 < last - first <= _MAX_CHILDREN:
        return -1
    step, shift = np.uint64(prefixes[first + 1]) - np.uint64(prefixes[first]), 0
    while shift < 63 and step >> np.uint64(shift + 1):
        shift += 1
    # Only a power of two lets a shift of the code give the child's number.
    if step != np.uint64(1) << np.uint64(shift):
        return -1
    for at in range(first + 1, last):
        if np.uint64(prefixes[at]) - np.uint64(prefixes[at - 1]) != step:
            return -1
    return shift


# A compiled function takes plain arrays and numbers: numba knows no frozen dataclass.
@compiled
def _tallied(
    codes: Codes, first: Any, shift: int, low: int, end: int, places: Places, tally: Places
) -> None:
    """Finds the ranges in one pass over few codes, without a branch that depends on a code."""
    while low < end and codes[low] < first:
        low += 1
    tally[: places.size] = 0
    beyond, last = np.uint64(first), np.uint64(places.size - 1)
    for at in range(low, end):
        tally[min(np.uint64(codes[at]) - beyond >> np.uint64(shift), last)] += 1
    for at in range(places.size):
        places[at] = low
        low += tally[at]


@compiled
def _searched(codes: Codes, prefixes: Prefixes, low: int, end: int, places: Places) -> None:
    for at in range(prefixes.size):
        prefix, left = prefixes[at], 4
        while (
            low + left <= end and codes[low + left - 1] < prefix
        ):  # the next one is seldom far
            low += left
            left *= 4
        left = min(left, end - low)
        while left > 0:  # without a branch that a processor would guess wrong half of the time
            half = (left + 1) >> 1
            low += half * (codes[low + half - 1] < prefix)
            left -= half
        places[at] = low
