"""PrivTree: counts that decay with depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from synth_engine.hierarchy import growth
from synth_engine.mechanisms.trees.literature import LiteratureTree


@dataclass(frozen=True, kw_only=True)
class PrivTree(LiteratureTree):
    """A node is opened by its count less a constant for each depth above it.

    Asks: the number of records, one `grow`, one `leaves` of the nodes at which the tree ends (adaptive).
    Privacy: discrete Laplace noise throughout, epsilon adds up; the tree at its exact loss. Proofs:
    docs/proofs/published-trees.md,
        docs/proofs/grow.md, docs/proofs/leaves.md.
    Public assumptions: the box and its bins, or the alphabet and the lengths; the unit, the relation; of
    points the number
        of records only where it is a public invariant.
    """

    id: ClassVar[str] = "privtree"
    title: ClassVar[str] = "PrivTree"
    summary: ClassVar[str] = (
        "For points or for one column of texts: a count is lowered by a constant at each depth before "
        "noise decides, so that the tree costs the same however deep it is. As published, for comparison."
    )
    paper: ClassVar[str] = "Zhang, Xiao and Xie 2016 (PrivTree)"
    rule: ClassVar[growth.Name] = "privtree"
