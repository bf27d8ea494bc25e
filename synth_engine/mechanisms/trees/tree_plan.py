"""The trunk of all plans that grow a tree.

A plan asks for the number of records, opens nodes by a rule, and has counts of the nodes at which the tree ends. The
subclasses say which nodes open (`growth_rule`), what is counted (`run`) and how counts are read (`estimated`). The
model, its diagnostics and the forecasts are the same for all of them, and `covariates` puts further columns beside any.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from synth_engine.hierarchy import Hierarchy, NodeSet, Rule, StringHierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.inference import error_forecast
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Answers, Leaves, Measurement, Noise, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.trees import resources
from synth_engine.mechanisms.trees.columns import resolve_domain, texts_of
from synth_engine.models.model import Model
from synth_engine.models.trees import diagnostics, factory
from synth_engine.models.trees.covariates import Covariates
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Plan
from synth_engine.plans.resources import ResourceEstimate


@dataclass(frozen=True, kw_only=True)
class TreePlan(Plan):
    """A tree over the columns of `hierarchy`, with its budget allocated."""

    total_share: ClassVar[Fraction]
    """Of the budget, for the number of records."""

    hierarchy: Hierarchy

    # ---- strategies ----------------------------------------------------------------------

    @abstractmethod
    def growth_rule(self, records: float | None = None) -> tuple[Rule, Noise]:
        """Rule and noise by which nodes open. records: about how many there are, a number that is public or was
        paid for; None: that of a forecast."""

    @abstractmethod
    def estimated(self, answers: Answers) -> tuple[int, LeafEstimates]:
        """The number of records, and estimated counts of nodes, none inside another. Errors: InputError where
        these are not answers of this plan."""

    @abstractmethod
    def counts_per_value(self, records: int) -> tuple[Noise, float]:
        """The noise of a count, and how many counts add up to one value of a column, at most."""

    @abstractmethod
    def tree(
        self, leaves: LeafEstimates, *, attached: Covariates | None = None
    ) -> factory.ModelTree:
        """The part of a model that is made of leaves. attached: columns beside them."""

    def kept_leaves(self, leaves: LeafEstimates) -> LeafEstimates:
        """The leaves of which a model consists."""
        return leaves

    # ---- the number of records -----------------------------------------------------------

    @property
    def reads_strings(self) -> bool:
        return self.hierarchy.component(StringHierarchy) is not None

    @property
    def root(self) -> NodeSet:
        """All records that are in the tree."""
        return NodeSet(
            columns=self.hierarchy.columns,
            levels=np.zeros(1, dtype=np.int64),
            prefixes=self.hierarchy.root(),
        )

    def total_noise(self) -> Noise | None:
        """None where the number of records is public."""
        if self.domain.rows is not None and not self.reads_strings:
            return None
        return self._noise_of_total()

    def _noise_of_total(self) -> Noise:
        return budget_allocation.noise(
            self.loss.of(self.loss.amount * self.total_share), self.sensitivity
        )

    def ask_total(self, session: Session) -> Answers:
        noise, before = self.total_noise(), len(session.answers)
        if noise is not None:
            # Records whose string has another character than the alphabet's are in no node: only the root leaves them out.
            if self.reads_strings:
                session.leaves(self.root, noise=noise)
            else:
                session.measure((), noise=noise)
        return session.answers[before:]

    def noisy_total(self, answers: Answers) -> float | None:
        """The answer to `ask_total`. Errors: InputError where there is another one."""
        noise = self.total_noise()
        cliques = [measurement.clique for measurement in answers.measurements]
        if cliques != [()] * (noise is not None and not self.reads_strings):
            raise not_of_this_plan()
        if noise is None:
            return None
        asked: Sequence[Measurement | Leaves] = answers.measurements
        if self.reads_strings:
            asked = [
                one
                for one in answers.leaves[:1]
                if (one.partition.digest, one.noise) == (self.root.digest, noise)
            ]
        if not asked:
            raise not_of_this_plan()
        return float(asked[0].values.sum())

    def records(self, answers: Answers) -> float:
        """The public number of records, or a noisy one."""
        total = self.noisy_total(answers)
        return float(self.domain.rows or 0) if total is None else total

    # ---- the model -----------------------------------------------------------------------

    def fit(self, answers: Answers) -> Model:
        rows, leaves = self.estimated(answers)
        tree = self.tree(self.kept_leaves(leaves))
        return self.model(tree, self.diagnose(answers, leaves, rows=rows), rows=rows)

    def model(self, tree: factory.ModelTree, notes: TreeDiagnostics, *, rows: int) -> Model:
        return Model(
            mechanism=self.mechanism,
            domain=resolve_domain(self.domain),
            rows=rows,
            tables=(),
            tree=tree,
            notes=notes,
        )

    def diagnose(self, answers: Answers, ends: LeafEstimates, *, rows: int) -> TreeDiagnostics:
        """ends: the nodes at which the tree ends, or those of them that have records."""
        (grown,) = answers.growths
        _, noise = self.growth_rule(self.records(answers))
        return diagnostics.of_growth(
            grown,
            self.hierarchy,
            noise=noise,
            counted=self.counted(answers),
            ends=ends,
            rows=rows,
        )

    def counted(self, answers: Answers) -> list[tuple[diagnostics.Counts, Noise]]:
        """Tables of counts of nodes; the root of strings is no part of the tree that noise could give."""
        return [(table.values, table.noise) for table in answers.leaves[self.reads_strings :]]

    # ---- forecasts -----------------------------------------------------------------------

    @property
    def tree_hierarchy(self) -> Hierarchy:
        return self.hierarchy

    def min_records_to_split(self, rows: int | None = None) -> int:
        return diagnostics.min_records_to_split(self._forecast_rule(rows))

    def _forecast_rule(self, rows: int | None) -> Rule:
        return self.growth_rule(float(self._guess(rows)))[0]

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Sorted codes, and noise for each child of a node that can be opened."""
        tree = resources.of_tree(self.hierarchy, self._forecast_rule(rows), self._guess(rows))
        return super().needs(rows) + tree

    def _min_visible_count(self, rows: int | None) -> int:
        """About how many records a string needs to be in the release."""
        return self.min_records_to_split(rows)

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """As of tables of single columns, each value of which is the sum of all nodes with it: a rough upper end,
        since counts that agree, or that are cleaned, are more accurate than single ones."""
        records = self._guess(rows)
        domain = resolve_domain(self.domain)
        sizes = {
            name: domain.sizes[name] for name in domain.names if name in self.hierarchy.columns
        }
        noise, counts = self.counts_per_value(records)
        # A sum of counts has the sum of their variances; a discrete Laplace variance is about twice its squared scale.
        scale = Fraction(math.sqrt(noise.variance / 2 * max(1.0, counts)))
        spread = Noise(law="discrete-laplace", scale=scale)
        forecast = error_forecast.independent(
            dict.fromkeys(sizes, spread), sizes=sizes, rows=records
        )
        if (texts := texts_of(self.domain)) is not None:
            least = self._min_visible_count(rows)
            forecast = error_forecast.with_string_column(
                forecast, texts.name, least=least, kinds=texts.values.size
            )
        return replace(forecast, assumes=f"{self.advice} {forecast.assumes}".strip())
