"""Counts that are committed from above: every node hands on exactly what it was given, by noisy counts of its
children.

The direct synthesis of *Synthetic Data via Differential Privacy* (section 4): noisy counts are clipped to
what their parent has, and then moved by one in turn, from a random child on, until they add up to it. Only
noisy counts are looked at, so all of it is post-processing. A node whose count is small is not divided, as
its children would be noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy import Hierarchy, Level, Prefixes, child_level
from synth_engine.jit import compiled

Counts = npt.NDArray[np.int64]


def centre_counts(counts: Counts, *, parents: Counts, sums: Counts, starts: Counts) -> Counts:
    """Whole numbers from 0 to what each parent has that add up to it. parents: of each child, increasing,
    every number of a parent at least once; sums: of each parent, not negative; starts: at which child of its
    own each parent begins."""
    first = np.searchsorted(parents, np.arange(sums.size + 1))
    return _centre(np.clip(counts, 0, sums[parents]), first, sums, starts)


@compiled
def _centre(counts: Counts, first: Counts, sums: Counts, starts: Counts) -> Counts:
    allocated = counts.copy()
    for parent in range(sums.size):
        low, size, parent_count = first[parent], first[parent + 1] - first[parent], sums[parent]
        total = allocated[low : low + size].sum()
        step = 1 if total < parent_count else -1
        short = (parent_count - total) * step
        while short > 0:
            able, least = 0, short
            for child in range(low, low + size):
                room = parent_count - allocated[child] if step > 0 else allocated[child]
                if room > 0:
                    able += 1
                    least = min(least, room)
            rounds = min(least, short // able)  # whole ones, in which each that can be moved is
            for turn in range(size):
                child = low + (starts[parent] + turn) % size
                room = parent_count - allocated[child] if step > 0 else allocated[child]
                if room > 0 and short > 0:
                    moved = max(rounds, 1)
                    allocated[child] += step * moved
                    short -= moved
    return allocated


class Allocation:
    """A number of records that is handed down a public tree, depth by depth.

    The root is divided whatever it has; other nodes if they have more than `stop` records, and 2 at least.
    """

    def __init__(self, hierarchy: Hierarchy, *, depth: int, stop: int) -> None:
        self._hierarchy, self._depth, self._stop = hierarchy, depth, max(stop, 1)
        self._leaves: list[tuple[int, Prefixes, Counts]] = []
        self._level, self._prefixes, self._counts = (
            0,
            hierarchy.root(),
            np.zeros(1, dtype=np.int64),
        )
        self._opens = np.ones(1, dtype=np.bool_)
        self.total = 0
        self.requested = self._below()

    def _below(self) -> Level:
        """The children of the nodes that are to be divided, as far as these have any."""
        whole = np.flatnonzero(self._opens)
        none = np.empty(0, dtype=np.int64)
        empty = Level(level=0, prefixes=self._prefixes[:0], parents=none, opens=none > 0)
        if not whole.size:
            return empty
        level = child_level(
            self._hierarchy, self._prefixes[whole], self._level, depth=self._depth
        )
        some, parents = np.unique(level.parents, return_inverse=True)
        self._opens[np.delete(whole, some)] = False
        return replace(level, parents=parents.astype(np.int64)) if len(level) else empty

    def begin(self, total: int) -> None:
        """With so many records in all; before anything is divided."""
        self.total = total
        self._counts = np.array([total], dtype=np.int64)

    def divide(self, counts: Counts, *, rng: np.random.Generator) -> None:
        """By noisy counts of the nodes that are asked for, in their order. rng: with which child each node
        begins its turns; of the post-processing."""
        level = self.requested
        if counts.shape != (len(level),):
            raise ValueError("there are other counts than nodes")
        sums = self._counts[self._opens]
        sizes = np.bincount(level.parents)
        # A random first child, so that rounding does not always favour the same ones.
        starts = rng.integers(sizes)
        given = centre_counts(counts, parents=level.parents, sums=sums, starts=starts)
        self._keep(~self._opens)
        self._level, self._prefixes, self._counts = level.level, level.prefixes, given
        self._opens = level.opens & (given > self._stop)
        self.requested = self._below()

    def _keep(self, closed: npt.NDArray[np.bool_]) -> None:
        self._leaves.append((self._level, self._prefixes[closed], self._counts[closed]))

    def leaves(self) -> tuple[Counts, Prefixes, Counts]:
        """Depths, smallest codes and counts of the nodes that were not divided, as far as they have
        records; the root where there is none."""
        closed = [*self._leaves, (self._level, self._prefixes, self._counts)]
        levels = np.concatenate([np.full(counts.size, level) for level, _, counts in closed])
        prefixes, counts = (
            np.concatenate([level_part[part] for level_part in closed]) for part in (1, 2)
        )
        some = counts > 0
        if not some.any():
            return (
                np.zeros(1, dtype=np.int64),
                self._hierarchy.root(),
                np.zeros(1, dtype=np.int64),
            )
        return levels[some], prefixes[some], counts[some]
