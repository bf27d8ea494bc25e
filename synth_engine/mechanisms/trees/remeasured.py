"""Trees of texts and other columns together, whose large parts are counted once more: the clean-up of their ends takes more
from rare texts than from frequent ones, so that classes with many rare texts would have too few records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synth_engine.domain import Domain
from synth_engine.hierarchy import NodeSet, frequent_prefixes
from synth_engine.hierarchy.estimate import Floats, LeafEstimates
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Answers, Leaves, Noise, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.trees import threshold_tree
from synth_engine.mechanisms.trees.delegation import DelegatingPlan
from synth_engine.models.model import Model
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Budget, Mechanism
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy.loss import Pure
from synth_engine.spec import Spec

SHARE = Fraction(1, 10)
"""Of the budget, for counting parts. Twice as much is a tenth better at epsilon 10 and a tenth worse at 1."""
MAX_PARTS = 4_096
_RECORDS_PER_NOISE = 32
"""A part is divided where it has so many times as many records as its count has noise; half of it makes no difference."""


def plan(
    config: Mechanism,
    spec: Spec,
    *,
    domain: Domain,
    settings: threshold_tree.Settings,
    within: Budget | None,
) -> RemeasuredPlan:
    """Errors: SpecError, DomainError."""
    cap = within or Pure(epsilon=spec.epsilon)
    part = cap.of(cap.amount * (1 - SHARE))
    tree = threshold_tree.plan(config, spec, domain=domain, settings=settings, within=part)
    remeasured = RemeasuredPlan(config=config, domain=domain, spec=spec, cap=cap, tree=tree)
    remeasured.noise()
    return remeasured


@dataclass(frozen=True, kw_only=True)
class RemeasuredPlan(DelegatingPlan):
    """A tree, most of the budget, and counts of the parts of it that hold many records."""

    tree: threshold_tree.ThresholdPlan

    def noise(self) -> Noise:
        return budget_allocation.noise(
            self.loss.of(self.loss.amount * SHARE), self.sensitivity, laplace=True
        )

    def ask(self, session: Session) -> None:
        where = self.tree.run(session)
        session.leaves(self._parts(self.tree.estimated(where)[1]), noise=self.noise())

    def _parts(self, leaves: LeafEstimates) -> NodeSet:
        """A function of the tree, which was paid for."""
        least = _RECORDS_PER_NOISE * math.sqrt(self.noise().variance)
        return frequent_prefixes(self.tree.hierarchy, leaves, least=least, most=MAX_PARTS)

    def fit(self, answers: Answers) -> Model:
        where = answers[:-1]
        rows, leaves = self.tree.estimated(where)
        parts, counted = self._parts(leaves), answers.leaves[-1]
        if (counted.partition.digest, counted.by, counted.threshold) != (
            parts.digest,
            (),
            None,
        ):
            raise not_of_this_plan()
        tree = self.tree.tree(replace(leaves, counts=self._consistent(leaves, counted)))
        return self.tree.model(tree, self.tree.diagnose(where, leaves, rows=rows), rows=rows)

    def _consistent(self, leaves: LeafEstimates, counted: Leaves) -> Floats:
        """Counts of the ends whose sums are what the parts were counted. Of a part that is an end itself both counts are
        taken, by their variances; the sum of several ends lacks what the clean-up took."""
        parts = counted.partition.places(self.tree.hierarchy, leaves.prefixes)
        sums = np.bincount(parts, weights=leaves.counts)
        alone = np.zeros(len(counted.partition), dtype=np.bool_)
        alone[parts] = leaves.levels == counted.partition.levels[parts]
        variances = self.tree.leaf_noise().variance, counted.noise.variance
        weight = np.where(alone, variances[0] / sum(variances), 1.0)
        whole = np.maximum(0.0, weight * counted.values + (1 - weight) * sums)
        counts: Floats = leaves.counts * (whole / sums)[parts]
        return counts if counts.any() else leaves.counts

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        return self.tree.needs(rows) + ResourceEstimate(
            memory_bytes=100 * MAX_PARTS, seconds=1e-5 * MAX_PARTS
        )

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        return self.tree.expected_error(rows=rows)
