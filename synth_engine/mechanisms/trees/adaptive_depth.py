"""A tree of points or classes as deep as records bear, whose counts at several depths are made to agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

from synth_engine.codec import prefixes
from synth_engine.hierarchy import (
    Hierarchy,
    Prefixes,
    ProductHierarchy,
    Rule,
    SpatialHierarchy,
    estimate,
)
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Answers, Noise, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.trees import node_selection, resources
from synth_engine.models.model import Model
from synth_engine.models.trees import factory
from synth_engine.models.trees.covariates import Covariates
from synth_engine.models.trees.diagnostics import (
    TreeDiagnostics,
    min_records_to_split,
    of_growth,
)
from synth_engine.models.trees.spatial import Placement, SpatialTree
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import levels_sensitivity

TOTAL_SHARE = Fraction(3, 100)
"""Of the budget for the number of records, where that is not public."""
STRAY = 2.0
"""Of the children of an empty node, branching^-STRAY / 2 are opened on average: the threshold is twice as many noise scales as
the least one. Below it a tree spends itself on noise."""
ABOVE_SHARE = Fraction(6, 100)
"""Of the budget for each depth that is counted above the parts at which a tree ends."""
_FEW = 2
_MUCH = 400_000
"""Records times epsilon, in the middle of the range in which the share for opening nodes grows."""
_DEEPER = 1.75
_TOP = 1.0
"""Depths that are counted, by how often the records can be halved before a node of equal shares falls below the threshold:
places are far from equally full, so that crowded ones bear nearly twice as many."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveDepthPlan(Plan):
    """A tree of points, or with classes, with its budget cut up. `depth`: 0, or what was asked for."""

    points: Hierarchy
    depth: int = 0
    placed: Placement = "density"

    def total_noise(self) -> Noise | None:
        if self.domain.rows is not None:
            return None
        return budget_allocation.noise(
            self.loss.of(self.loss.amount * TOTAL_SHARE), self.sensitivity
        )

    def asked(self, records: float) -> tuple[Rule, Noise]:
        """How the tree is grown where there are about so many records: a number that is public or was paid for."""
        if self.depth:
            return self._rule(self.depth)
        for depth in range(self.points.depth, 1, -1):
            rule, noise = self._rule(depth)
            if depth <= _TOP * self._cuts + _DEEPER * self._bearable(records, rule):
                return rule, noise
        return self._rule(1)

    def _bearable(self, records: float, rule: Rule) -> float:
        """How many depths of equally full nodes reach the threshold."""
        return math.log(max(records / rule.threshold, 1.0)) / math.log(self._branching)

    def _rule(self, depth: int) -> tuple[Rule, Noise]:
        share = 1 if self.domain.rows is not None else 1 - TOTAL_SHARE
        noise = budget_allocation.noise(
            self.loss.of(self.loss.amount * share),
            levels_sensitivity(self.sensitivity, levels=depth),
        )
        if noise.law == "discrete-laplace":
            scales = STRAY * math.log(self._branching)
        else:
            scales = NormalDist().inv_cdf(1 - self._branching**-STRAY / 2)
        threshold = max(1, math.ceil(scales * float(noise.scale)))
        return Rule(name="basic", depth=depth, threshold=threshold), noise

    @property
    def sizes(self) -> dict[str, int]:
        """Of the columns of points."""
        return {name: self.domain.sizes[name] for name in self.points.columns}

    @property
    def _cuts(self) -> int:
        """How many depths halve every side once."""
        return (
            self.points.dimensions
            if isinstance(self.points, SpatialHierarchy) and not self.points.together
            else 1
        )

    @property
    def _together(self) -> bool:
        return (
            self.points.together
            if isinstance(self.points, SpatialHierarchy | ProductHierarchy)
            else True
        )

    @property
    def _branching(self) -> int:
        """Of points everywhere; else the most children that a node may have, most of which nobody need be in."""
        return max(
            self.points.branching(1 if isinstance(self.points, SpatialHierarchy) else None)
        )

    @property
    def measures_after_selection(self) -> bool:
        """Whether nodes are opened first and counted afterwards, which takes discrete Laplace noise and pays from the third
        depth on; else the counts by which nodes are opened are used again."""
        return isinstance(self.loss, Pure) and (self.depth or self.points.depth) > _FEW

    def opening(self, records: float) -> tuple[Rule, Noise]:
        """How the tree is opened where there are about so many records, and nothing of it counted."""
        part = self.loss.amount * self._opening_share(records)
        depth = self.depth or self.points.depth
        return node_selection.improved(
            part, l1=self.sensitivity.l1, branching=self._branching, depth=depth, scales=STRAY
        )

    def counting(self, number: int, records: float) -> tuple[Noise, ...]:
        """Of so many tables of counts of a tree that was opened, the parts at which it ends last."""
        left = (
            1
            - (0 if self.domain.rows is not None else TOTAL_SHARE)
            - self._opening_share(records)
        )
        parts = [*[ABOVE_SHARE] * (number - 1), left - (number - 1) * ABOVE_SHARE]
        return tuple(
            budget_allocation.noise(self.loss.of(self.loss.amount * part), self.sensitivity)
            for part in parts
        )

    def _opening_share(self, records: float) -> Fraction:
        """A public rule of what was paid for. Few parts say little each, so that they are worth more than their shapes."""
        much = math.log10(max(records * float(self.loss.amount), 1.0) / _MUCH)
        return Fraction(round(100 * min(max(0.225 + 0.075 * much, 0.15), 0.3)), 100)

    def run(self, session: Session) -> Answers:
        noise = self.total_noise()
        totals = () if noise is None else (session.measure((), noise=noise),)
        records = float(totals[0].values) if totals else float(self.domain.rows or 0)
        rule, of_counts = self._grown_by(records)
        grown = session.grow(
            self.points.columns, rule=rule, noise=of_counts, together=self._together
        )
        counted = []
        if self.measures_after_selection:
            parts = node_selection.parts(
                node_selection.cut_off(grown, self.points), self.points
            )
            noises = self.counting(len(parts), records)
            counted = [
                session.leaves(part, noise=one, together=self._together)
                for part, one in zip(parts, noises, strict=True)
            ]
        return Answers(
            measurements=totals, growths=(grown,), leaves=tuple(counted), calls=session.calls
        )

    def fit(self, answers: Answers) -> Model:
        rows, leaves = self.estimated(answers)
        tree, notes = self.tree(leaves), self.notes(answers, leaves, rows=rows)
        return Model(
            mechanism=self.mechanism,
            domain=self.domain,
            rows=rows,
            tables=(),
            tree=tree,
            notes=notes,
        )

    def notes(
        self, answers: Answers, leaves: estimate.LeafEstimates, *, rows: int
    ) -> TreeDiagnostics:
        """What there is to say of the tree. leaves, rows: as `estimated` has them."""
        (grown,), (_, noise) = answers.growths, self._grown_by(self._records(answers))
        counted = [(each.values, each.noise) for each in answers.leaves]
        cells = leaves.levels, leaves.prefixes, leaves.counts
        return of_growth(
            grown, self.points, noise=noise, counted=counted, ends=cells, rows=rows
        )

    def _records(self, answers: Answers) -> float:
        """The public number of records, or a noisy one."""
        return float(
            answers.measurements[0].values if answers.measurements else self.domain.rows or 0
        )

    def _grown_by(self, records: float) -> tuple[Rule, Noise]:
        return self.opening(records) if self.measures_after_selection else self.asked(records)

    def estimated(self, answers: Answers) -> tuple[int, estimate.LeafEstimates]:
        """The number of records, and counts of the unopened nodes that add up to it. Errors: InputError where these are not
        answers of this plan."""
        noise = self.total_noise()
        if len(answers.growths) != 1 or [m.clique for m in answers.measurements] != (
            [] if noise is None else [()]
        ):
            raise not_of_this_plan()
        (grown,) = answers.growths
        own = None if noise is None else (float(answers.measurements[0].values), noise.variance)
        rule, of_counts = self._grown_by(self._records(answers))
        counted = bool(answers.leaves)
        if (grown.columns, grown.rule, counted) != (
            self.points.columns,
            rule,
            self.measures_after_selection,
        ):
            raise not_of_this_plan()
        try:
            grown = node_selection.cut_off(grown, self.points) if counted else grown
            variance, tables = of_counts.variance, answers.leaves
            # Records that lie nowhere are in the number of all, and in no cell.
            somewhere = None if prefixes.partial(self.domain, self.points.columns) else own
            total = estimate.total(
                grown, self.points, own=somewhere, variance=variance, counted=tables
            )
            rows = (
                self.domain.rows
                if self.domain.rows is not None
                else oneway.clip_rows(round(total))
            )
            leaves = estimate.leaves(
                grown, self.points, total=float(rows), variance=variance, counted=tables
            )
        except ValueError as error:
            raise not_of_this_plan() from error
        return rows, leaves

    def tree(
        self,
        leaves: estimate.LeafEstimates,
        *,
        attached: Callable[[Prefixes], Covariates] | None = None,
    ) -> factory.AnyTree:
        """What is kept of it. attached: of the cells, the columns beside them."""
        kept = leaves.counts > 0
        if not kept.any():
            kept[:] = True
        cells, levels, counts = leaves.prefixes[kept], leaves.levels[kept], leaves.counts[kept]
        found = factory.tree(self.points, levels, cells, counts, placed=self.placed)
        if attached is None:
            return found
        assert isinstance(found, SpatialTree)  # noqa: S101 - columns are attached to points alone
        return replace(found, attached=attached(cells))

    @property
    def tree_hierarchy(self) -> Hierarchy:
        return self.points

    def min_records_to_split(self, rows: int | None = None) -> int:
        return min_records_to_split(self._grown_by(float(self._guess(rows)))[0])

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Sorted codes, and noise for each child of a node that can be opened."""
        found = self._guess(rows)
        rule, _ = self._grown_by(float(found))
        return super().needs(rows) + resources.of_tree(self.points, rule, found)

    def _cells(self, depth: int) -> float:
        return float(min(self.points.cells(depth), 2**64))

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """As of tables of single columns, each value of which is the sum of all nodes along the other coordinates: as many as
        the tree can have there. A rough upper end: counts that agree are more accurate than single ones."""
        found = self._guess(rows)
        rule, noise = self.asked(float(found))
        if isinstance(self.points, SpatialHierarchy):
            halved = [
                self.points.halvings(rule.depth, axis)
                for axis in range(1, self.points.dimensions)
            ]
            across = 2.0 ** sum(halved)
        else:
            across = max(1.0, self._cells(rule.depth) / max(self.sizes.values()))
        nodes = min(across, max(1.0, found / rule.threshold) * self._branching)
        spread = Noise(
            law="discrete-laplace", scale=Fraction(math.sqrt(noise.variance / 2 * nodes))
        )
        return error_forecast.independent(
            dict.fromkeys(self.points.columns, spread), sizes=self.sizes, rows=found
        )
