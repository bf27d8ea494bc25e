"""About how many nodes a tree has and what it takes to grow it, from public facts: the rule, the hierarchy and a number of records.

Where counts of nodes of one depth are at least the threshold, they are at most as many as thresholds in the number of records.
Trees of points that are far from equally full have about as many opened nodes at all depths together (`bench/needs.py`).
"""

from __future__ import annotations

import itertools
from math import prod

import numpy as np

from synth_engine.hierarchy import (
    GazetteerHierarchy,
    Hierarchy,
    ProductHierarchy,
    Rule,
    TaxonomyHierarchy,
)
from synth_engine.plans.resources import MEGABYTE, ResourceEstimate

_RECORD = 1.5e-7  # seconds for each record and column: its code, sorted
_NODE, _NODE_OF_CLASSES = 9e-7, 3.2e-6  # for each node that is looked at
_ENOUGH = 1e18
"""Nodes of one depth, far more than there are records."""
_BYTES_OF_A_RECORD, _BYTES_OF_A_NODE = 40, 150


def of_tree(hierarchy: Hierarchy, rule: Rule, rows: int) -> ResourceEstimate:
    """To sort codes of that many records, grow a tree of them by that rule, count its ends and make its counts agree."""
    looked = nodes(hierarchy, rule, rows)
    each = (
        _NODE_OF_CLASSES
        if isinstance(hierarchy, ProductHierarchy | TaxonomyHierarchy)
        else _NODE
    )
    seconds = _RECORD * rows * len(hierarchy.columns) + each * looked
    return ResourceEstimate(
        memory_bytes=int(_BYTES_OF_A_RECORD * rows + _BYTES_OF_A_NODE * looked) + MEGABYTE,
        seconds=seconds,
    )


def nodes(hierarchy: Hierarchy, rule: Rule, rows: int) -> float:
    """About how many nodes are looked at: the children of all that are opened."""
    rooms = [1.0]
    while len(rooms) <= rule.depth and rooms[-1] < _ENOUGH:
        rooms.append(room(hierarchy, len(rooms)))
    opened = min(rows * rule.parts / _least(rule), sum(rooms[:-1]))
    children = sum(below / above for above, below in itertools.pairwise(rooms)) / (
        len(rooms) - 1
    )
    return min(children * (1 + opened), sum(rooms[1:]))


def room(hierarchy: Hierarchy, depth: int) -> float:
    """How many nodes of that depth there are, whoever is in them."""
    match hierarchy:
        case ProductHierarchy():
            return prod(
                room(each, int(hierarchy.own_levels(at)[depth]))
                for at, each in enumerate(hierarchy.components)
            )
        case TaxonomyHierarchy():
            return float(np.unique(hierarchy.prefix(hierarchy.codes, depth)).size)
        case GazetteerHierarchy():
            return _with_points(hierarchy, depth)
    return float(min(hierarchy.cells(depth), 2**1000))


def _with_points(points: GazetteerHierarchy, depth: int) -> float:
    supported = {axis for support in points.supports for axis in support.axes}
    free = sum(
        points.halvings(depth, axis)
        for axis in range(points.dimensions)
        if axis not in supported
    )
    found = 2.0**free
    for support in points.supports:
        cut = sum(points.resolution - points.halvings(depth, axis) for axis in support.axes)
        shift = np.uint64(min(cut, 63))
        found *= np.unique(support.codes >> shift).size if cut < 64 else 1
    return found


def _least(rule: Rule) -> float:
    """How many records open a node about in the middle of the tree."""
    return rule.threshold + (rule.depth / 2 * rule.discount if rule.name == "privtree" else 0)
