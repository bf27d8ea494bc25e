"""Hierarchies of prefix codes: a record is a sequence of symbols, and every prefix of it is a node of a public tree.

Points are cut in halves along every coordinate (`Points`), texts read sign by sign (`Words`), codes of a classification
class by class (`Taxonomy`), several of them by turns (`Product`). A node is a depth and the smallest code below it; so the records of a node stand side by side
in the order of their codes. Everything here is public: no budget, no rows.
"""

from __future__ import annotations

from synth_engine.hierarchy.areas import areas, beginnings
from synth_engine.hierarchy.base import Codes, Hierarchy, Prefixes
from synth_engine.hierarchy.discount import discounted, order
from synth_engine.hierarchy.growth import Growth, Level, Rule, children, parts
from synth_engine.hierarchy.partition import Partition, ordered, unopened
from synth_engine.hierarchy.points import Points
from synth_engine.hierarchy.product import Product, words_of
from synth_engine.hierarchy.search import ranges
from synth_engine.hierarchy.supported import Support, Supported
from synth_engine.hierarchy.taxonomy import Taxonomy
from synth_engine.hierarchy.words import Words

__all__ = [
    "Codes",
    "Growth",
    "Hierarchy",
    "Level",
    "Partition",
    "Points",
    "Prefixes",
    "Product",
    "Rule",
    "Support",
    "Supported",
    "Taxonomy",
    "Words",
    "areas",
    "beginnings",
    "children",
    "discounted",
    "order",
    "ordered",
    "parts",
    "ranges",
    "unopened",
    "words_of",
]
