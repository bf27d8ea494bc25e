"""The basic adaptive histogram: every depth has its part of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from synth_engine.hierarchy import growth
from synth_engine.mechanisms.trees.literature import LiteratureTree
from synth_engine.mechanisms.trees.parameters import DEPTH_OF_BUDGET, published
from synth_engine.plans.parameters import ParameterSchema


@dataclass(frozen=True, kw_only=True)
class AdaptiveBasic(LiteratureTree):
    """A node is opened where its noisy count reaches the threshold, down to a fixed depth.

    Asks: the number of records, one `grow`, one `leaves` of the nodes at which the tree ends (adaptive).
    Privacy: discrete Laplace noise throughout, epsilon adds up; every depth of the tree costs the same.
    Proofs: docs/proofs/published-trees.md,
        docs/proofs/grow.md, docs/proofs/leaves.md.
    Public assumptions: the box and its bins, or the alphabet and the lengths; the unit, the relation; of
    points the number
        of records only where it is a public invariant.
    """

    id: ClassVar[str] = "adaptive-basic"
    title: ClassVar[str] = "Basic adaptive histogram"
    summary: ClassVar[str] = (
        "For points or for one column of texts: opens cells, or beginnings, whose noisy count reaches a "
        "threshold, down to a fixed depth, and counts the ends anew. As published, for comparison."
    )
    rule: ClassVar[growth.Name] = "basic"
    parameters: ClassVar[ParameterSchema] = published(depth=DEPTH_OF_BUDGET)

    depth: int = 0

    @property
    def deepest(self) -> int:
        return self.depth
