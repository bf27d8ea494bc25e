"""Hierarchies of prefix codes: a record is a sequence of symbols, and every prefix of it is a node of a
public tree.

Points are cut in halves along every coordinate (`SpatialHierarchy`), strings are read character by character
(`StringHierarchy`), codes of a classification class by class (`TaxonomyHierarchy`), several of them by turns
(`ProductHierarchy`). A node is a depth and the smallest code below it; so the records of a node stand side by
side in the order of their codes. Everything here is public: no budget, no rows.
"""

from __future__ import annotations

from synth_engine.hierarchy.areas import divide_into_areas, frequent_prefixes
from synth_engine.hierarchy.base import MAX_CELLS, Codes, Hierarchy, Prefixes
from synth_engine.hierarchy.boxes import UNDIVIDED, Boxes, Choices, ClassTree
from synth_engine.hierarchy.discount import discount_cells, public_order
from synth_engine.hierarchy.growth import Growth, Level, Rule, child_level, draw_distinct
from synth_engine.hierarchy.partition import NodeSet, leaf_nodes, sort_nodes
from synth_engine.hierarchy.points import SpatialHierarchy
from synth_engine.hierarchy.product import ProductHierarchy
from synth_engine.hierarchy.search import ParentRanges, ranges
from synth_engine.hierarchy.supported import GazetteerHierarchy, Support
from synth_engine.hierarchy.taxonomy import TaxonomyHierarchy
from synth_engine.hierarchy.words import StringHierarchy

__all__ = [
    "MAX_CELLS",
    "UNDIVIDED",
    "Boxes",
    "Choices",
    "ClassTree",
    "Codes",
    "GazetteerHierarchy",
    "Growth",
    "Hierarchy",
    "Level",
    "NodeSet",
    "ParentRanges",
    "Prefixes",
    "ProductHierarchy",
    "Rule",
    "SpatialHierarchy",
    "StringHierarchy",
    "Support",
    "TaxonomyHierarchy",
    "child_level",
    "discount_cells",
    "divide_into_areas",
    "draw_distinct",
    "frequent_prefixes",
    "leaf_nodes",
    "public_order",
    "ranges",
    "sort_nodes",
]
