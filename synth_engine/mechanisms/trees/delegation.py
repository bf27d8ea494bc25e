"""Plans that give part of their budget to a tree, which has a plan of its own, and ask more than it does."""

from __future__ import annotations

from dataclasses import dataclass

from synth_engine.hierarchy import Hierarchy
from synth_engine.mechanisms.trees.tree_plan import TreePlan
from synth_engine.plans.plan import Plan


@dataclass(frozen=True, kw_only=True)
class DelegatingPlan(Plan):
    """What its tree decides, the plan of the tree answers."""

    tree: TreePlan

    @property
    def tree_hierarchy(self) -> Hierarchy:
        return self.tree.tree_hierarchy

    def min_records_to_split(self, rows: int | None = None) -> int:
        return self.tree.min_records_to_split(rows)

    @property
    def advice(self) -> str:
        return self.tree.advice
