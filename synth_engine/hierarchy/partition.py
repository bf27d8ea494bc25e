"""Parts of a hierarchy: nodes of any depth, none inside another. What is counted in them is a table of
counts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.errors import PrivacyError
from synth_engine.hierarchy.base import Codes, Hierarchy, Prefixes
from synth_engine.hierarchy.growth import MAX_NODES, Growth


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeSet:
    """Nodes of the hierarchy over `columns`: depth and smallest code of each, in the order of their codes.
    They need not cover it: a record in no part is counted nowhere. Public, or a function of answers that were
    paid for."""

    columns: tuple[str, ...]
    levels: npt.NDArray[np.int64]
    prefixes: Prefixes

    def __post_init__(self) -> None:
        if (
            self.levels.dtype != np.int64
            or self.levels.ndim != 1
            or self.levels.shape != self.prefixes.shape
        ):
            raise TypeError("a partition has a depth, int64, and a prefix for each part")

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def digest(self) -> str:
        """SHA-256 over depths and codes."""
        sha = hashlib.sha256(np.ascontiguousarray(self.levels, dtype="<i8").tobytes())
        plain = (
            self.prefixes.astype("<u8") if self.prefixes.dtype.kind == "u" else self.prefixes
        )
        sha.update(np.ascontiguousarray(plain).tobytes())
        return sha.hexdigest()

    def check(self, hierarchy: Hierarchy) -> None:
        """Errors: PrivacyError where these are not nodes of the hierarchy, or a record could fall into two of
        them."""
        fits = (
            self.columns == hierarchy.columns
            and self.prefixes.dtype == hierarchy.root().dtype
            and len(self) > 0
        )
        if not fits or self.levels.min() < 0 or self.levels.max() > hierarchy.depth:
            raise PrivacyError("a partition has nodes of its own hierarchy, one at least")
        for level, mine in self._by_level(np.arange(len(self))):
            if not np.all(hierarchy.prefix(self.prefixes[mine], level) == self.prefixes[mine]):
                raise PrivacyError("a part is no node of its depth")
        # Codes of a node stand side by side, so that what lies inside a part follows it at once.
        first = np.arange(len(self) - 1)
        for level, mine in self._by_level(first):
            if np.any(hierarchy.prefix(self.prefixes[mine + 1], level) == self.prefixes[mine]):
                raise PrivacyError("a part lies inside another")
        if not np.all(self.prefixes[:-1] < self.prefixes[1:]):
            raise PrivacyError("parts stand in the order of their codes")

    def places(self, hierarchy: Hierarchy, codes: Codes) -> npt.NDArray[np.intp]:
        """Finds the part in which each code lies; in none, the number of parts."""
        nodes = np.searchsorted(self.prefixes, codes, side="right") - 1
        inside = np.zeros(nodes.size, dtype=np.bool_)
        for level, mine in self._by_level(nodes):
            inside[mine] = hierarchy.prefix(codes[mine], level) == self.prefixes[nodes[mine]]
        nodes[~inside] = len(self)
        return nodes

    def _by_level(
        self, parts: npt.NDArray[np.intp]
    ) -> Sequence[tuple[int, npt.NDArray[np.intp]]]:
        """The places in a list of parts, of which -1 is none, by the depth of the part."""
        levels = np.where(parts >= 0, self.levels[parts], -1)
        return [
            (int(level), np.flatnonzero(levels == level)) for level in np.unique(self.levels)
        ]


def sort_nodes(
    columns: Sequence[str], levels: npt.NDArray[np.int64], prefixes: Prefixes
) -> NodeSet:
    """The partition of these nodes, in whatever order they come."""
    order = np.argsort(prefixes, kind="stable")
    return NodeSet(
        columns=tuple(columns), levels=levels[order].astype(np.int64), prefixes=prefixes[order]
    )


def leaf_nodes(growth: Growth, hierarchy: Hierarchy, *, most: int = MAX_NODES) -> NodeSet:
    """The nodes at which a tree ends, at most so many: where there were more, it ends at a smaller depth.
    Errors: ValueError where the tree is not of this hierarchy."""
    levels, opened = list(growth.levels(hierarchy)), list(growth.opened)
    more = [
        len(level) - (opened[place - 1].size if place else 0)
        for place, level in enumerate(levels)
    ]
    # Opening a node adds its children and takes itself off: `more` is the growth of the number
    # of ends.
    depth = max(1, int((np.cumsum(more) <= most).sum()))
    levels, opened = levels[:depth], [*opened[: depth - 1], np.empty(0, dtype=np.int64)]
    below = [
        np.ones(len(level), dtype=np.int64) for level in levels
    ]  # ends, for a start its own
    for place in range(depth - 2, -1, -1):
        parents = levels[place + 1].parents
        below[place][opened[place]] = np.bincount(
            parents, weights=below[place + 1], minlength=opened[place].size
        )
    size = int(below[0].sum())
    laid_out = np.empty(size, dtype=np.int64), np.empty(size, dtype=hierarchy.root().dtype)
    start = np.zeros(
        1, dtype=np.int64
    )  # of the opened nodes above, the place of their first end
    for level, one, ends in zip(levels, opened, below, strict=True):
        before = np.cumsum(ends) - ends
        family = np.searchsorted(level.parents, np.arange(start.size))
        places = before - before[family][level.parents] + start[level.parents]
        mine = np.ones(len(level), dtype=np.bool_)
        mine[one] = False
        laid_out[0][places[mine]], laid_out[1][places[mine]] = level.level, level.prefixes[mine]
        start = places[one]
    return NodeSet(columns=growth.columns, levels=laid_out[0], prefixes=laid_out[1])
