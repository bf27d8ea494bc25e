"""Plans that give a share of their budget to a tree, and the rest to counts of parts of it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from synth_engine.hierarchy import Hierarchy, NodeSet
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.measurement import Answers
from synth_engine.mechanisms.trees.tree_plan import TreePlan
from synth_engine.plans.plan import Budget, Plan


@dataclass(frozen=True, kw_only=True)
class FurtherCountsPlan(Plan):
    """What its tree decides, the plan of the tree answers."""

    tree_share: ClassVar[Fraction]
    """Of the budget, for the tree."""

    tree: TreePlan

    @classmethod
    def of(cls, tree: TreePlan, *, cap: Budget) -> Self:
        """cap: of which the tree has its share. Errors: SpecError where parts of the tree cannot be
        counted."""
        plan = cls(config=tree.config, domain=tree.domain, spec=tree.spec, cap=cap, tree=tree)
        plan.require_countable()
        return plan

    @abstractmethod
    def require_countable(self) -> None:
        """Errors: SpecError where counts would be too many, or the budget gives no noise for them."""

    @abstractmethod
    def parts(self, where: Answers, leaves: LeafEstimates) -> NodeSet:
        """The parts of the tree that are counted: a function of the tree, which was paid for."""

    @property
    def tree_hierarchy(self) -> Hierarchy:
        return self.tree.tree_hierarchy

    def min_records_to_split(self, rows: int | None = None) -> int:
        return self.tree.min_records_to_split(rows)

    @property
    def advice(self) -> str:
        return self.tree.advice
