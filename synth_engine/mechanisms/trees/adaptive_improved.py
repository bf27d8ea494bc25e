"""The improved adaptive histogram: the price of a tree does not depend on its depth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from synth_engine.hierarchy import growth
from synth_engine.mechanisms.trees import threshold_tree
from synth_engine.mechanisms.trees.literature import LiteratureTree
from synth_engine.mechanisms.trees.parameters import (
    DISCOUNT,
    DISCOUNT_RECORDS,
    PARTS,
    published,
)
from synth_engine.plans.parameters import ParameterSchema


@dataclass(frozen=True, kw_only=True)
class AdaptiveImproved(LiteratureTree):
    """An opened node sets some of its records aside before its children are looked at, so that one record
    counts in few decisions.

    Asks: the number of records, one `grow`, one `leaves` of the nodes at which the tree ends (adaptive).
    Privacy: discrete Laplace noise throughout, epsilon adds up; the tree at its exact loss. Proofs:
    docs/proofs/published-trees.md,
        docs/proofs/grow.md, docs/proofs/leaves.md.
    Public assumptions: the box and its bins, or the alphabet and the lengths; the unit, the relation; of
    points the number
        of records only where it is a public invariant.
    """

    id: ClassVar[str] = "adaptive-improved"
    title: ClassVar[str] = "Improved adaptive histogram"
    summary: ClassVar[str] = (
        "For points or for one column of texts: as the basic one, but every opened node sets some records "
        "aside, so that the tree costs the same however deep it is."
    )
    rule: ClassVar[growth.Name] = "improved"
    parameters: ClassVar[ParameterSchema] = published(
        discount=DISCOUNT, discount_records=DISCOUNT_RECORDS, parts=PARTS
    )

    discount: growth.Spread = "chance"
    discount_records: int = 0
    parts: int = 1

    @property
    def settings(self) -> threshold_tree.Settings:
        return replace(
            super().settings,
            spread=self.discount,
            discount=self.discount_records,
            parts=self.parts,
        )
