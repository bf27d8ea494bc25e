"""A tree of points or classes as deep as records bear, whose counts at several depths are made to agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from synth_engine.hierarchy import Growth, Rule, estimate
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.indexing import prefixes
from synth_engine.inference import oneway
from synth_engine.measurement import Answers, Leaves, Noise
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.trees import node_selection
from synth_engine.mechanisms.trees.tree_plan import NodeCounts, TreePlan
from synth_engine.plans import budget_allocation
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import levels_sensitivity

STRAY = 2.0
"""Of the children of an empty node, branching^-STRAY / 2 are opened on average: the threshold is twice as
many noise scales as the least one. Below it a tree spends itself on noise."""
ABOVE_SHARE = Fraction(6, 100)
"""Of the budget, for each depth that is counted above the leaves."""
_MIN_DEPTH_OF_SELECTION = 3
_MANY_RECORDS = 400_000
"""Records times epsilon, in the middle of the range in which the share for opening nodes grows."""
_DEPTHS_PER_DIVISION = 1.75
_EXTRA_HALVINGS = 1.0
"""Depths that are counted, by how often the records can be divided before a node of equal shares falls below
the threshold: places are far from equally full, so that crowded ones bear nearly twice as many."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveDepthPlan(TreePlan):
    """A tree of points, or with classes. depth: of the parameters; 0 for as deep as records bear."""

    total_share = Fraction(3, 100)

    depth: int = 0

    @property
    def measures_after_selection(self) -> bool:
        """Whether nodes are opened first and counted afterwards, which takes discrete Laplace noise and pays
        from the third depth on; else the counts by which nodes are opened are used again."""
        deepest = self.depth or self.hierarchy.depth
        return isinstance(self.loss, Pure) and deepest >= _MIN_DEPTH_OF_SELECTION

    def require_noise(self) -> None:
        self.total_noise()
        self.basic_rule(0.0)
        if self.measures_after_selection:
            self.counting(1, 0.0)

    # ---- the rule ------------------------------------------------------------------------

    def growth_rule(self, records: float | None = None) -> tuple[Rule, Noise]:
        records = float(self._guess(None)) if records is None else records
        if not self.measures_after_selection:
            return self.basic_rule(records)
        return node_selection.improved(
            self.loss.amount * self._opening_share(records),
            l1=self.sensitivity.l1,
            branching=self.hierarchy.max_branching,
            depth=self.depth or self.hierarchy.depth,
            scales=STRAY,
        )

    def basic_rule(self, records: float) -> tuple[Rule, Noise]:
        """Of a tree whose counts are used again, where there are about so many records."""
        halvings = _EXTRA_HALVINGS * self.hierarchy.levels_per_halving

        def fits(depth: int) -> bool:
            rule, _ = self._basic(depth)
            # So often can records be divided among all children of a node until they fall below the
            # threshold.
            divisions = math.log(max(records / rule.threshold, 1.0)) / math.log(
                self.hierarchy.max_branching
            )
            return depth <= halvings + _DEPTHS_PER_DIVISION * divisions

        return self._basic(self.depth or self.deepest(fits))

    def _basic(self, depth: int) -> tuple[Rule, Noise]:
        noise = budget_allocation.noise(
            self.loss.of(self.loss.amount * self.share_of_counts),
            levels_sensitivity(self.sensitivity, levels=depth),
        )
        branching = self.hierarchy.max_branching
        if noise.law == "discrete-laplace":
            scales = STRAY * math.log(branching)
        else:
            scales = NormalDist().inv_cdf(1 - branching**-STRAY / 2)
        threshold = max(1, math.ceil(scales * float(noise.scale)))
        return Rule(name="basic", depth=depth, threshold=threshold), noise

    def counting(self, tables: int, records: float) -> tuple[Noise, ...]:
        """The noise of so many tables of counts of a tree that was opened, that of its leaves last."""
        left = self.share_of_counts - self._opening_share(records)
        # What depths above are not counted goes to the leaves, so that the shares add up to the cap for any
        # tree.
        shares = [*[ABOVE_SHARE] * (tables - 1), left - (tables - 1) * ABOVE_SHARE]
        return tuple(map(self.share_noise, shares))

    def _opening_share(self, records: float) -> Fraction:
        """A public function of what was paid for. Few leaves say little each, so that they are worth more
        than their shapes."""
        decades = math.log10(max(records * float(self.loss.amount), 1.0) / _MANY_RECORDS)
        return Fraction(round(100 * min(max(0.225 + 0.075 * decades, 0.15), 0.3)), 100)

    def node_counts(self, grown: Growth, records: float) -> Sequence[NodeCounts]:
        if not self.measures_after_selection:
            return []
        top = node_selection.cut_off(grown, self.hierarchy)
        parts = node_selection.parts(top, self.hierarchy)
        noises = self.counting(len(parts), records)
        return [
            NodeCounts(nodes=part, noise=noise)
            for part, noise in zip(parts, noises, strict=True)
        ]

    # ---- the model -----------------------------------------------------------------------

    def estimated(self, answers: Answers) -> tuple[int, LeafEstimates]:
        """Counts of the unopened nodes add up to the number of records."""
        given = Replay(answers)
        total, total_noise = self.read_total(given), self.total_noise()
        grown, noise = self.read_growth(given, total)
        tables = given.all_of(Leaves)
        given.require(bool(tables) == self.measures_after_selection)
        with given.fitting_together():
            grown = node_selection.cut_off(grown, self.hierarchy) if tables else grown
            # Records that lie nowhere are in the number of all, and in no cell.
            everywhere = not prefixes.partial(self.domain, self.hierarchy.columns)
            own = None
            if total is not None and total_noise is not None and everywhere:
                own = (total, total_noise.variance)
            rows = self.domain.rows
            if rows is None:
                rows = oneway.clip_rows(
                    round(
                        estimate.total(
                            grown,
                            self.hierarchy,
                            own=own,
                            variance=noise.variance,
                            counted=tables,
                        )
                    )
                )
            leaves = estimate.leaves(
                grown,
                self.hierarchy,
                total=float(rows),
                variance=noise.variance,
                counted=tables,
            )
        return rows, leaves

    def kept_leaves(self, leaves: LeafEstimates) -> LeafEstimates:
        occupied = leaves.counts > 0
        return leaves.take(occupied) if occupied.any() else leaves

    # ---- forecasts -----------------------------------------------------------------------

    def counts_per_value(self, records: int) -> tuple[Noise, float]:
        rule, noise = self.basic_rule(float(records))
        largest = max(self.domain.sizes[name] for name in self.hierarchy.columns)
        across = self.hierarchy.nodes_per_value(rule.depth, values=largest)
        opened = max(1.0, records / rule.threshold)
        return noise, min(across, opened * self.hierarchy.max_branching)
