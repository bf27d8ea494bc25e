"""What methods that grow trees as they are published share: parameters in plain words, and for which tables they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from synth_engine.codec import classes
from synth_engine.domain import Domain, Undeclared
from synth_engine.hierarchy import growth
from synth_engine.mechanisms.trees import columns, threshold_tree
from synth_engine.models.trees.strings import IncompletePrefixes
from synth_engine.plans.parameters import ParameterRule, ParameterSchema
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec

PARAMETERS: Mapping[str, ParameterRule] = {
    "threshold": {
        "type": "integer",
        "minimum": 0,
        "maximum": 10**9,
        "default": 0,
        "title": "Threshold",
        "description": "A node is opened from so many noisy records on. 0: as many as let noise alone open less than one child of "
        "an empty node; less than that is allowed, with a warning.",
    },
    "growing": {
        "type": "number",
        "minimum": 0.05,
        "maximum": 0.9,
        "default": 0.5,
        "title": "Share for growing",
        "description": "Part of epsilon by which nodes are opened. 0.02 goes to the number of records, the rest to the counts "
        "where the tree ends.",
    },
    "clean": {
        "type": "number",
        "minimum": 0,
        "maximum": 20,
        "default": 2,
        "title": "Clean-up",
        "description": "Counts under so many noise scales become zero; the others are scaled to the noisy number of records.",
    },
    "partial": {
        "type": "string",
        "enum": ["completed", "whole", "marked"],
        "default": "completed",
        "title": "Beginnings of texts",
        "x-labels": {
            "completed": "Completed by public texts",
            "whole": "As if they were whole",
            "marked": "With the mark … behind them",
        },
        "description": "How a text is written of which only the beginning was found. Public texts are the completions of the "
        "description; where it has none, or none that begins so, the beginning is taken as whole.",
    },
}
DEPTH: ParameterRule = {
    "type": "integer",
    "minimum": 0,
    "maximum": 1000,
    "default": 0,
    "title": "Depth of the tree",
    "description": "Every depth costs the same. 0: 8 for points, 20 for texts, or as deep as the description goes; with classes as "
    "deep as epsilon and the number of records bear.",
}


def schema(**own: ParameterRule) -> ParameterSchema:
    """Of parameters: a rule's own ones before those that all share."""
    return {
        "type": "object",
        "properties": {**own, **PARAMETERS},
        "additionalProperties": False,
    }


class TreeMechanism(Mechanism):
    """What all methods that grow trees are stated for."""

    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"
    has_columns: ClassVar[bool] = False

    @classmethod
    def learns(cls, attribute: Undeclared) -> bool:
        return columns.over_alphabet(attribute)


@dataclass(frozen=True, kw_only=True)
class LiteratureTree(TreeMechanism):
    """A tree over all columns, grown by one rule; then every node at which it ends is counted anew."""

    rule: ClassVar[growth.Name]
    paper: ClassVar[str] = "Synthetic Data via Differential Privacy (adaptive histograms)"
    keeps: ClassVar[tuple[str, ...]] = (
        "where points lie, all coordinates together",
        "texts that are frequent",
    )
    parameters: ClassVar[ParameterSchema] = schema()

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
    def settings(self) -> threshold_tree.Settings:
        """The parameters, as a plan of trees takes them."""
        return threshold_tree.Settings(
            rule=self.rule,
            depth=self.deepest,
            threshold=self.threshold,
            growing=self.growing,
            clean=self.clean,
            partial=self.partial,
        )

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        return threshold_tree.plan(
            self, spec, domain=domain, settings=self.settings, within=within
        )
