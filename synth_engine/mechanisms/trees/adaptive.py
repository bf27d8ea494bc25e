"""Adaptive histograms of points and classes: a tree that is as deep as records bear, whose counts at several
depths are made to agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from synth_engine.domain import Domain
from synth_engine.hierarchy import TaxonomyHierarchy
from synth_engine.indexing import classes
from synth_engine.mechanisms.trees import columns, parameters
from synth_engine.mechanisms.trees.adaptive_depth import AdaptiveDepthPlan
from synth_engine.mechanisms.trees.further_counts import FurtherCountsPlan
from synth_engine.mechanisms.trees.remeasured import RemeasuredPlan
from synth_engine.mechanisms.trees.spatial_covariates import SpatialCovariatePlan
from synth_engine.mechanisms.trees.string_covariates import StringCovariatePlan
from synth_engine.mechanisms.trees.threshold_tree import Settings, ThresholdPlan
from synth_engine.mechanisms.trees.tree_plan import TreeMechanism, TreePlan
from synth_engine.models.trees.spatial import Placement
from synth_engine.models.trees.strings import IncompletePrefixes
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Family, Plan
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import Pure
from synth_engine.spec import Spec

TEXT_SETTINGS = Settings(rule="improved", growing=0.5, clean=4, matched=True)
"""Of texts the improved rule is better than own counts: budget that depends on no depth is worth more than
counts that are used again. The least threshold is the best, a smaller one opens ever more empty nodes."""


@dataclass(frozen=True, kw_only=True)
class Adaptive(TreeMechanism):
    """A tree of cells of all columns together, cut in halves along each, opened where a noisy count reaches a
    threshold.

    Asks: one `measure` of the number of records, unless it is public. Then, for delta 0, one `grow` by the
    improved rule over
        all columns, and `leaves` of the parts at which the tree ends and of up to two depths above; else, or
            to a depth of two,
        one `grow` by the basic rule, as deep as noise and that number bear. Of further columns a `measure` of
            each, one by
        areas of the tree (`leaves`), and pairs by `select` and `measure` (adaptive, under a cap). Beside
            texts all tables are `leaves`, so
        that records without a text of the set count nowhere. With texts and columns in one tree its large
            parts are counted once
        more by `leaves`.
    Privacy: discrete Laplace noise for delta 0, else rounded Gaussian noise, under a cap on epsilon or mu².
        Proofs: docs/proofs/adaptive.md, docs/proofs/grow.md.
    Public assumptions: the box, its bins, partitions of columns of classes, public points if there are some
    (no record is assumed to be elsewhere, and none is
        drawn there), the unit, the relation; the number of records only where it is a public invariant.
    """

    id: ClassVar[str] = "adaptive"
    title: ClassVar[str] = "Adaptive histogram of places or texts"
    summary: ClassVar[str] = (
        "For tables of points, such as homes and places of work, or of one column of texts, such as "
        "searches: cuts the box into ever smaller cells, or reads on sign by sign, where there are records "
        "enough, and makes all counts agree. Further columns are drawn by where a record lies, or by its "
        "text."
    )
    paper: ClassVar[str] = (
        "Synthetic Data via Differential Privacy (adaptive histograms); Hay et al. 2010"
    )
    keeps: ClassVar[tuple[str, ...]] = (
        "where points lie, all coordinates together",
        "distances between places",
        "texts that are frequent",
    )
    parameters: ClassVar[ParameterSchema] = parameters.schema(
        depth=parameters.DEPTH_OF_CELLS,
        halving=parameters.HALVING,
        placed=parameters.PLACED,
        together=parameters.TOGETHER,
        partial=parameters.PARTIAL,
    )
    family: ClassVar[Family] = "recommended"
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    depth: int = 0
    halving: Literal["all", "one"] = "all"
    placed: Placement = "density"
    together: Literal["attached", "product"] = "attached"
    partial: IncompletePrefixes = "completed"

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        if domain.undeclared or columns.placed(domain):
            return columns.texts_of(domain) is not None or not domain.undeclared
        return len(domain.names) == 1 and classes.suits(domain, placed=())

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        counting = self._further_counts(domain)
        texts = columns.texts_of(domain) is not None
        pure = texts and counting is not StringCovariatePlan
        cap = within or (
            Pure(epsilon=spec.epsilon)
            if pure
            else conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        )
        share = cap if counting is None else cap.of(cap.amount * counting.tree_share)
        tree = (self._tree_of_texts if texts else self._tree_of_points)(domain, spec, share)
        return tree if counting is None else counting.of(tree, cap=cap)

    def _tree_columns(self, domain: Domain) -> tuple[str, ...]:
        texts = columns.texts_of(domain)
        if self.together == "product":
            return domain.names
        return (texts.name,) if texts else columns.placed(domain) or domain.names

    def _further_counts(self, domain: Domain) -> type[FurtherCountsPlan] | None:
        """The counts by parts of the tree: columns that it does not divide, or its large parts once more."""
        texts, inside = columns.texts_of(domain), self._tree_columns(domain)
        if len(inside) < len(domain.names):
            return StringCovariatePlan if texts else SpatialCovariatePlan
        return RemeasuredPlan if texts and len(inside) > 1 else None

    def _tree_of_texts(self, domain: Domain, spec: Spec, cap: Budget) -> TreePlan:
        return ThresholdPlan(
            config=self,
            domain=domain,
            spec=spec,
            cap=cap,
            hierarchy=self.hierarchy(domain, self._tree_columns(domain), depth=self.depth),
            partial=self.partial,
            settings=replace(TEXT_SETTINGS, depth=self.depth),
        ).checked()

    def _tree_of_points(self, domain: Domain, spec: Spec, cap: Budget) -> TreePlan:
        hierarchy = self.hierarchy(
            domain,
            self._tree_columns(domain),
            depth=self.depth,
            together=self.halving == "all",
        )
        if len(hierarchy.components) > 1 and self.together == "attached":
            other = hierarchy.component(TaxonomyHierarchy) or hierarchy
            raise domain.attribute(other.columns[0]).error(
                "a column that is no coordinate, in a description that says of no column where records lie",
                repair='name the places, or take all columns together (together: "product")',
            )
        return AdaptiveDepthPlan(
            config=self,
            domain=domain,
            spec=spec,
            cap=cap,
            hierarchy=hierarchy,
            placed=self.placed,
            depth=self.depth,
        ).checked()
