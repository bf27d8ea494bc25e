"""About how many nodes a tree has and what it takes to grow it, from public facts: the rule, the hierarchy
and a number of records.

Where counts of nodes of one depth are at least the threshold, they are at most as many as thresholds in the
number of records. Trees of points that are far from equally full have about as many opened nodes at all
depths together (`bench/needs.py`).
"""

from __future__ import annotations

import itertools

from synth_engine.hierarchy import Hierarchy, Rule
from synth_engine.plans.resources import MEGABYTE, ResourceEstimate

_RECORD = 1.5e-7  # seconds for each record and column: its code, sorted
_NODE, _NODE_OF_CLASSES = 9e-7, 3.2e-6  # for each node that is looked at
_ENOUGH = 1e18
"""Nodes of one depth, far more than there are records."""
_BYTES_OF_A_RECORD, _BYTES_OF_A_NODE = 40, 150


def of_tree(hierarchy: Hierarchy, rule: Rule, rows: int) -> ResourceEstimate:
    """To sort codes of that many records, grow a tree of them by that rule, count its ends and make its
    counts agree."""
    looked = nodes(hierarchy, rule, rows)
    per_node = _NODE if hierarchy.is_uniform else _NODE_OF_CLASSES
    seconds = _RECORD * rows * len(hierarchy.columns) + per_node * looked
    return ResourceEstimate(
        memory_bytes=int(_BYTES_OF_A_RECORD * rows + _BYTES_OF_A_NODE * looked) + MEGABYTE,
        seconds=seconds,
    )


def nodes(hierarchy: Hierarchy, rule: Rule, rows: int) -> float:
    """About how many nodes are looked at: the children of all that are opened."""
    counts = [1.0]
    while len(counts) <= rule.depth and counts[-1] < _ENOUGH:
        counts.append(hierarchy.node_count(len(counts)))
    opened = min(rows * rule.parts / _least(rule), sum(counts[:-1]))
    children = sum(below / above for above, below in itertools.pairwise(counts)) / (
        len(counts) - 1
    )
    return min(children * (1 + opened), sum(counts[1:]))


def _least(rule: Rule) -> float:
    """How many records open a node about in the middle of the tree."""
    return rule.threshold + (rule.depth / 2 * rule.discount if rule.name == "privtree" else 0)
