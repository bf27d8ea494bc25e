"""Parts of a hierarchy that hold records enough for something to be said of each: the top of a grown tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import Codes, Hierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.hierarchy.growth import Growth
from synth_engine.hierarchy.partition import NodeSet, sort_nodes

Floats = npt.NDArray[np.float64]


def divide_into_areas(
    grown: Growth, hierarchy: Hierarchy, leaves: LeafEstimates, *, least: float, most: int
) -> NodeSet:
    """Parts that cover the hierarchy: opened nodes of at least so many records, by their estimated counts,
    are divided, the fullest first, as long as there are at most `most` parts. A function of the tree, which
    was paid for."""
    root = hierarchy.root()
    levels, prefixes = np.zeros(1, dtype=np.int64), root
    divided = root if leaves.counts.sum() >= least else root[:0]
    for index, (level, opened) in enumerate(
        zip(grown.levels(hierarchy), grown.opened, strict=True)
    ):
        inside = np.isin(hierarchy.prefix(level.prefixes, index), divided)
        children = level.prefixes[inside]
        if not children.size:
            break
        # A divided node is replaced by all of its children, so the parts still cover the
        # hierarchy.
        undivided = ~((levels == index) & np.isin(prefixes, divided))
        levels = np.concatenate([levels[undivided], np.full(children.size, index + 1)])
        prefixes = np.concatenate([prefixes[undivided], children])
        able = np.intersect1d(level.prefixes[opened], children)
        counts = opened_node_counts(hierarchy, leaves, able, level=index + 1)
        fullest = able[np.argsort(-counts, kind="stable")][: int((counts >= least).sum())]
        children_each = hierarchy.branching(index + 2)[-1] if index + 1 < hierarchy.depth else 1
        divided = fullest[: max(0, (most - levels.size) // max(1, children_each - 1))]
    return sort_nodes(hierarchy.columns, levels, prefixes)


def frequent_prefixes(
    hierarchy: Hierarchy, leaves: LeafEstimates, *, least: float, most: int
) -> NodeSet:
    """Parts that hold all records of the leaves: nodes of at least so many are divided, into those of their
    children that have leaves, down to leaves themselves; of more than `most` parts, the emptiest nodes are
    left whole. What is in no leaf is in no part, or in one by chance."""
    while True:
        levels, prefixes = (
            np.zeros(leaves.counts.size, dtype=np.int64),
            np.repeat(hierarchy.root(), leaves.counts.size),
        )
        open_ = leaves.levels > 0
        for level in range(hierarchy.depth):
            _, own = np.unique(prefixes, return_inverse=True)
            open_ = (
                open_
                & (np.bincount(own, weights=leaves.counts)[own] >= least)
                & (leaves.levels > level)
            )
            if not open_.any():
                break
            levels[open_], prefixes[open_] = (
                level + 1,
                hierarchy.prefix(leaves.prefixes[open_], level + 1),
            )
        _, first = np.unique(prefixes, return_index=True)
        if first.size <= most:
            return sort_nodes(hierarchy.columns, levels[first], prefixes[first])
        # A larger bound divides fewer nodes, so this ends.
        least *= 1.5


def opened_node_counts(
    hierarchy: Hierarchy, leaves: LeafEstimates, nodes: Codes, *, level: int
) -> Floats:
    """The estimated counts of nodes of one depth, each of them opened."""
    above = hierarchy.prefix(leaves.prefixes, level)
    order = np.argsort(nodes, kind="stable")
    at = np.clip(np.searchsorted(nodes[order], above), 0, max(0, nodes.size - 1))
    mine = (
        (leaves.levels > level) & (nodes[order][at] == above)
        if nodes.size
        else np.zeros(above.size, dtype=np.bool_)
    )
    node_counts = np.zeros(nodes.size)
    np.add.at(node_counts, order[at[mine]], leaves.counts[mine])
    return node_counts
