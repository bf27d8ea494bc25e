"""Direct synthesis: records are handed down a public tree depth by depth, exactly as many as there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from synth_engine.domain import Domain
from synth_engine.hierarchy import SpatialHierarchy, StringHierarchy
from synth_engine.mechanisms.trees import columns
from synth_engine.mechanisms.trees.parameters import (
    DEPTH_OF_COUNTS,
    PARTIAL,
    STOP,
    STOP_SCALES,
    schema,
)
from synth_engine.mechanisms.trees.top_down import TopDownPlan
from synth_engine.mechanisms.trees.tree_plan import TreeMechanism
from synth_engine.models.trees.strings import IncompletePrefixes
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Plan
from synth_engine.privacy import conversion
from synth_engine.spec import Spec


@dataclass(frozen=True, kw_only=True)
class DirectSynthesis(TreeMechanism):
    """Every node of a tree has a number of records, and hands all of them on to its children, by noisy counts
    of these.

    Asks: one `measure` of the number of records, unless it is public, or of texts one `leaves` of the root;
    then depth by depth one `leaves` of the children of
        all nodes that have records enough (adaptive, under a cap).
    Privacy: discrete Laplace noise for delta 0, else rounded Gaussian noise, under a cap on epsilon or mu², a
    depth as dear
        as another. Proofs: docs/proofs/direct-synthesis.md, docs/proofs/leaves.md.
    Public assumptions: the box and its bins, or the alphabet and the lengths; the unit, the relation; of
    points the number
        of records only where it is a public invariant.
    """

    id: ClassVar[str] = "direct-synthesis"
    title: ClassVar[str] = "Direct synthesis"
    summary: ClassVar[str] = (
        "For points or for one column of texts: hands a fixed number of records down from the whole to "
        "ever smaller cells, or sign by sign. What is large is kept with great accuracy, often better than "
        "by a sample of the table itself."
    )
    paper: ClassVar[str] = "Synthetic Data via Differential Privacy (direct data synthesis)"
    keeps: ClassVar[tuple[str, ...]] = (
        "how many records are in large regions",
        "the number of records",
    )
    parameters: ClassVar[ParameterSchema] = schema(
        depth=DEPTH_OF_COUNTS, stop=STOP_SCALES, partial=PARTIAL
    )
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    depth: int = 0
    stop: int = STOP
    partial: IncompletePrefixes = "completed"

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        return columns.text_column(domain) is not None or (
            not domain.undeclared and columns.placed(domain) == domain.names
        )

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        hierarchy = self.hierarchy(domain, depth=self.depth)
        for part in () if hierarchy.is_uniform else hierarchy.components:
            if not isinstance(part, SpatialHierarchy):
                kind = "texts beside others" if isinstance(part, StringHierarchy) else "classes"
                raise domain.attribute(part.columns[0]).error(
                    f"a column of {kind}, which direct-synthesis does not divide",
                    repair="take adaptive-improved, or leave it out",
                )
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        return TopDownPlan(
            config=self,
            domain=domain,
            spec=spec,
            cap=cap,
            hierarchy=hierarchy,
            partial=self.partial,
            depth=self.depth,
            stop=self.stop,
        ).checked()
