"""What methods that grow trees as they are published share: their parameters, and for which tables they
are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from synth_engine.domain import Domain
from synth_engine.hierarchy import growth
from synth_engine.indexing import classes
from synth_engine.mechanisms.trees import columns
from synth_engine.mechanisms.trees.parameters import published
from synth_engine.mechanisms.trees.threshold_tree import Settings, ThresholdPlan
from synth_engine.mechanisms.trees.tree_plan import TreeMechanism
from synth_engine.models.trees.strings import IncompletePrefixes
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Plan
from synth_engine.privacy.loss import Pure
from synth_engine.spec import Spec


@dataclass(frozen=True, kw_only=True)
class LiteratureTree(TreeMechanism):
    """A tree over all columns, grown by one rule; then every node at which it ends is counted anew."""

    rule: ClassVar[growth.Name]
    paper: ClassVar[str] = "Synthetic Data via Differential Privacy (adaptive histograms)"
    keeps: ClassVar[tuple[str, ...]] = (
        "where points lie, all coordinates together",
        "texts that are frequent",
    )
    parameters: ClassVar[ParameterSchema] = published()

    threshold: int = 0
    growing: float = 0.5
    clean: float = 2
    partial: IncompletePrefixes = "completed"

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        placed = columns.placed(domain)
        everywhere = not domain.undeclared and set(domain.names) <= set(placed)
        if (texts := columns.texts_of(domain)) is not None:
            return all(
                classes.divisible(domain, name)
                for name in domain.names
                if name not in (texts.name, *placed)
            )
        return everywhere or classes.suits(domain, placed=placed)

    @property
    def deepest(self) -> int:
        """How deep the tree may be by these parameters; 0 where they do not say."""
        return 0

    @property
    def settings(self) -> Settings:
        """The parameters, as a plan of trees takes them."""
        return Settings(
            rule=self.rule,
            depth=self.deepest,
            threshold=self.threshold,
            growing=self.growing,
            clean=self.clean,
        )

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        return ThresholdPlan(
            config=self,
            domain=domain,
            spec=spec,
            cap=within or Pure(epsilon=spec.epsilon),
            hierarchy=self.hierarchy(domain, depth=self.deepest),
            partial=self.partial,
            settings=self.settings,
        ).checked()
