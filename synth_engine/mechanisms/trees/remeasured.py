"""Trees of texts and other columns together, whose large parts are counted once more: the clean-up of their
ends takes more from rare texts than from frequent ones, so that classes with many rare texts would have too
few records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synth_engine.hierarchy import NodeSet, frequent_prefixes
from synth_engine.hierarchy.estimate import Floats, LeafEstimates
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Answers, Leaves, Noise, Session
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.trees.further_counts import FurtherCountsPlan
from synth_engine.mechanisms.trees.threshold_tree import ThresholdPlan
from synth_engine.models.model import Model
from synth_engine.plans import budget_allocation
from synth_engine.plans.resources import ResourceEstimate

MAX_PARTS = 4_096
_RECORDS_PER_NOISE = 32
"""A part is divided where it has so many times as many records as its count has noise; half of it makes no
difference."""


@dataclass(frozen=True, kw_only=True)
class RemeasuredPlan(FurtherCountsPlan):
    """A tree, most of the budget, and counts of the parts of it that hold many records."""

    tree_share = Fraction(
        9, 10
    )  # a tenth less is a tenth better at epsilon 10 and a tenth worse at 1

    tree: ThresholdPlan

    def require_countable(self) -> None:
        self.noise()

    def noise(self) -> Noise:
        budget = self.loss.of(self.loss.amount * (1 - self.tree_share))
        return budget_allocation.noise(budget, self.sensitivity, laplace=True)

    def ask(self, session: Session) -> None:
        where = self.tree.run(session)
        parts = self.parts(where, self.tree.estimated(where)[1])
        session.leaves(parts, noise=self.noise())

    def parts(self, where: Answers, leaves: LeafEstimates) -> NodeSet:  # noqa: ARG002
        least = _RECORDS_PER_NOISE * math.sqrt(self.noise().variance)
        return frequent_prefixes(self.tree.hierarchy, leaves, least=least, most=MAX_PARTS)

    def fit_replay(self, given: Replay) -> Model:
        answers = given.rest()
        where, last = answers[:-1], Replay(answers[-1:])
        rows, leaves = self.tree.estimated(where)
        asked = self.parts(where, leaves).digest, (), None
        counted = last.next(
            Leaves, lambda one: (one.partition.digest, one.by, one.threshold) == asked
        )
        tree = self.tree.tree(replace(leaves, counts=self._consistent(leaves, counted)))
        return self.tree.model(tree, self.tree.diagnose(where, leaves, rows=rows), rows=rows)

    def _consistent(self, leaves: LeafEstimates, counted: Leaves) -> Floats:
        """Counts of the ends whose sums are what the parts were counted. Of a part that is an end itself both
        counts are taken, by their variances; the sum of several ends lacks what the clean-up took."""
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
