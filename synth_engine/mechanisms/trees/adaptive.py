"""Adaptive histograms of points and classes: a tree that is as deep as records bear, whose counts at several depths are made to agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from synth_engine.codec import classes, prefixes
from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.hierarchy import Hierarchy, TaxonomyHierarchy
from synth_engine.mechanisms.trees import (
    columns,
    covariates,
    remeasured,
    spatial_covariates,
    string_covariates,
    threshold_tree,
)
from synth_engine.mechanisms.trees.adaptive_depth import AdaptiveDepthPlan
from synth_engine.mechanisms.trees.literature import PARAMETERS, TreeMechanism
from synth_engine.models.trees.spatial import Placement
from synth_engine.models.trees.strings import IncompletePrefixes
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Family, Plan
from synth_engine.privacy import conversion
from synth_engine.spec import Spec

OF_TEXTS = threshold_tree.Settings(rule="improved", growing=0.5, clean=4, matched=True)
"""Of texts the improved rule is better than own counts: budget that depends on no depth is worth more than counts that are used
again. The least threshold is the best, a smaller one opens ever more empty nodes."""


@dataclass(frozen=True, kw_only=True)
class Adaptive(TreeMechanism):
    """A tree of cells of all columns together, cut in halves along each, opened where a noisy count reaches a threshold.

    Asks: one `measure` of the number of records, unless it is public. Then, for delta 0, one `grow` by the improved rule over
        all columns, and `leaves` of the parts at which the tree ends and of up to two depths above; else, or to a depth of two,
        one `grow` by the basic rule, as deep as noise and that number bear. Of further columns a `measure` of each, one by
        areas of the tree (`leaves`), and pairs by `select` and `measure` (adaptive, under a cap). Beside texts all tables are `leaves`, so
        that records without a text of the set count nowhere. With texts and columns in one tree its large parts are counted once
        more by `leaves`.
    Privacy: discrete Laplace noise for delta 0, else rounded Gaussian noise, under a cap on epsilon or mu².
        Proofs: docs/proofs/adaptive.md, docs/proofs/grow.md.
    Public assumptions: the box, its bins, partitions of columns of classes, public points if there are some (no record is assumed to be elsewhere, and none is
        drawn there), the unit, the relation; the number of records only where it is a public invariant.
    """

    id: ClassVar[str] = "adaptive"
    title: ClassVar[str] = "Adaptive histogram of places or texts"
    summary: ClassVar[str] = (
        "For tables of points, such as homes and places of work, or of one column of texts, such as searches: cuts the box "
        "into ever smaller cells, or reads on sign by sign, where there are records enough, and makes all counts agree. Further "
        "columns are drawn by where a record lies, or by its text."
    )
    paper: ClassVar[str] = (
        "Synthetic Data via Differential Privacy (adaptive histograms); Hay et al. 2010"
    )
    keeps: ClassVar[tuple[str, ...]] = (
        "where points lie, all coordinates together",
        "distances between places",
        "texts that are frequent",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "depth": {
                "type": "integer",
                "minimum": 0,
                "maximum": 64,
                "default": 0,
                "title": "Depth of the tree",
                "description": "How often cells are cut at most. 0: as epsilon and the number of records bear.",
            },
            "halving": {
                "type": "string",
                "enum": ["all", "one"],
                "default": "all",
                "title": "Halving",
                "x-labels": {
                    "all": "Along all coordinates at once",
                    "one": "Along one coordinate after another",
                },
                "description": "How a cell is cut: homes and places of work along all four at once give 16 parts, along one 2.",
            },
            "placed": {
                "type": "string",
                "enum": ["density", "points", "anywhere"],
                "default": "density",
                "title": "Records within a cell",
                "x-labels": {
                    "density": "On public points, by their weights",
                    "points": "On public points, each as likely as another",
                    "anywhere": "Anywhere in the cell",
                },
                "description": "Where the description has public points. Columns of codes are always on them.",
            },
            "together": {
                "type": "string",
                "enum": ["attached", "product"],
                "default": "attached",
                "title": "Further columns",
                "x-labels": {
                    "attached": "By areas of the tree",
                    "product": "In the tree itself, all columns together",
                },
                "description": "Columns beside places or texts are counted by parts of the tree, which serves many of them; or they "
                "divide the tree as places and signs do, class by class of their partitions, which keeps two or three columns far "
                "closer together.",
            },
            "partial": PARAMETERS["partial"],
        },
        "additionalProperties": False,
    }
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
        texts = columns.texts_of(domain)
        if texts is not None and self.together == "product" and len(domain.names) > 1:
            return remeasured.plan(
                self, spec, domain=domain, settings=self._of_texts, within=within
            )
        if texts is not None and len(domain.names) == 1:
            return threshold_tree.plan(
                self, spec, domain=domain, settings=self._of_texts, within=within
            )
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        part = cap.of(cap.amount * covariates.TREE_SHARE)
        if texts is not None:
            tree = threshold_tree.plan(
                self,
                spec,
                domain=domain,
                settings=self._of_texts,
                within=part,
                columns=(texts.name,),
            )
            return string_covariates.StringCovariatePlan.of(tree, cap=cap)
        threshold_tree.require_no_constraints(domain, self)
        hierarchy = self._hierarchy(domain)
        has_covariates = len(hierarchy.columns) < len(domain.names)
        if has_covariates and self.halving == "one":
            raise SpecError(
                "cells halved one coordinate at a time bear no further columns",
                repair="leave the other columns out, or halve along all coordinates at once",
            )
        plan = AdaptiveDepthPlan(
            config=self,
            domain=domain,
            spec=spec,
            cap=part if has_covariates else cap,
            hierarchy=hierarchy,
            depth=self.depth,
            placed=self.placed,
        )
        # Noise that no budget gives is refused here, before anything is charged.
        plan.total_noise()
        plan.basic_rule(0.0)
        if plan.measures_after_selection:
            plan.counting(1, 0.0)
        return (
            spatial_covariates.SpatialCovariatePlan.of(plan, cap=cap)
            if has_covariates
            else plan
        )

    @property
    def _of_texts(self) -> threshold_tree.Settings:
        return replace(OF_TEXTS, depth=self.depth, partial=self.partial)

    def _hierarchy(self, domain: Domain) -> Hierarchy:
        """Of a table without texts. Errors: SpecError, DomainError."""
        placed = domain.names
        if self.together == "attached":
            placed = columns.placed(domain) or domain.names
        hierarchy = prefixes.hierarchy(domain, placed, together=self.halving == "all")
        if len(hierarchy.components) > 1 and self.together == "attached":
            other = hierarchy.component(TaxonomyHierarchy) or hierarchy
            raise domain.attribute(other.columns[0]).error(
                "a column that is no coordinate, in a description that says of no column where records lie",
                repair='name the places, or take all columns together (together: "product")',
            )
        if self.depth > hierarchy.depth:
            raise SpecError(
                f"depth is more than the {hierarchy.depth} times that a cell of this description can be cut",
                repair="declare more bins, or a smaller depth",
            )
        return hierarchy
