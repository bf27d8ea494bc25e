"""Trees by any published rule: grown, counted again at their leaves, and cleaned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.errors import SpecError
from synth_engine.hierarchy import Growth, Rule, growth, leaf_nodes
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.inference import oneway
from synth_engine.measurement import Answers, Leaves, Noise
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.trees import resources
from synth_engine.mechanisms.trees.columns import resolve_domain
from synth_engine.mechanisms.trees.tree_plan import NodeCounts, TreePlan
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Budget
from synth_engine.privacy import filter as odometer
from synth_engine.privacy import noise_scale, trees
from synth_engine.privacy.events import ThresholdTree
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import levels_sensitivity

TOTAL_SHARE = Fraction(2, 100)
"""Of the budget, for the number of records."""
USUAL_DEPTHS = {"points": 8, "words": 20}
"""Of a tree whose every depth costs, by the kind of its hierarchy, where no depth is given: as in the
paper."""
BEARABLE_NODES = 2.0
"""With classes there is no usual depth, because columns alternate. The logarithm of how many nodes may be
opened above the last depth, over that of how many thresholds there are in the records: of several columns
together most nodes hold nobody. One depth too many costs a tenth of the accuracy, one too few a half and
more."""
_BISECTIONS = 24


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a tree is grown and cleaned.

    rule, spread, parts: as `Rule` has them.
    depth: 0 for as deep as is usual.
    threshold: in records; 0 for the least that empty nodes bear.
    discount: of the improved rule, in records; 0 for the least of the proof.
    growing: the share of epsilon that opens nodes.
    clean: counts under so many noise scales are zero.
    matched: whether as many more of the smallest counts become zero as it takes for the rest not to exceed
    all records.
    """

    rule: growth.Name
    depth: int = 0
    threshold: int = 0
    discount: int = 0
    spread: growth.Spread = "chance"
    parts: int = 1
    growing: float = 0.5
    clean: float = 2
    matched: bool = False


@dataclass(frozen=True, kw_only=True)
class ThresholdPlan(TreePlan):
    """A tree with its budget split in three: the total, the tree, its leaves."""

    total_share = TOTAL_SHARE

    settings: Settings

    def _part(self, share: Fraction) -> Budget:
        """A share of epsilon. Of rho or mu², which add up as squares, the squares of the shares in
        proportion, so that noise scales keep the ratios that they have under epsilon."""
        power = 1 if isinstance(self.loss, Pure) else 2
        shares = (TOTAL_SHARE, self._growing, 1 - TOTAL_SHARE - self._growing)
        whole = sum((part**power for part in shares), Fraction(0))
        return self.loss.of(self.loss.amount * share**power / whole)

    @property
    def _growing(self) -> Fraction:
        return Fraction(round(self.settings.growing * 1000), 1000)

    def _laplace(self, share: Fraction, *, levels: int = 1) -> Noise:
        sensitivity = levels_sensitivity(self.sensitivity, levels=levels)
        return budget_allocation.noise(self._part(share), sensitivity, laplace=True)

    def require_noise(self) -> None:
        rule, _ = self.growth_rule()
        if 0 < self.settings.discount * rule.parts < rule.discount:
            least = math.ceil(rule.discount / rule.parts)
            raise SpecError(
                f"an opened node sets fewer records aside than the proof asks for at this noise ({least:,})",
                repair=f"ask for {least:,} or more, or for 0",
            )
        self.leaf_noise()

    def _noise_of_total(self) -> Noise:
        return self._laplace(TOTAL_SHARE)

    def leaf_noise(self) -> Noise:
        return self._leaf_noise

    @cached_property
    def _leaf_noise(self) -> Noise:
        return self._laplace(1 - TOTAL_SHARE - self._growing)

    @property
    def count_threshold(self) -> int:
        """The least count that is not set to zero."""
        return max(1, math.ceil(self.settings.clean * float(self.leaf_noise().scale)))

    # ---- the rule ------------------------------------------------------------------------

    def growth_rule(self, records: float | None = None) -> tuple[Rule, Noise]:
        if self.settings.rule != "basic":
            return self._without_counts
        if self.settings.depth:
            return self._basic(self.settings.depth)
        return self._basic(self._usual_depth(self._guess(None) if records is None else records))

    def _usual_depth(self, records: float) -> int:
        """From the records only with classes: of other trees the rule is public."""
        hierarchy = self.hierarchy
        if hierarchy.is_uniform or self.reads_strings:
            # As deep as it takes for every component to reach its usual depth; classes, which are few levels,
            # their last.
            return max(
                int(
                    np.searchsorted(
                        hierarchy.component_levels(index),
                        min(USUAL_DEPTHS.get(part.kind, part.depth), part.depth),
                    )
                )
                for index, part in enumerate(hierarchy.components)
            )

        def fits(depth: int) -> bool:
            thresholds = max(records / self._basic(depth)[0].threshold, 1)
            opened = hierarchy.node_count(depth - 1)
            return math.log(opened) <= BEARABLE_NODES * math.log(thresholds)

        return self.deepest(fits)

    def _basic(self, depth: int) -> tuple[Rule, Noise]:
        noise = self._laplace(self._growing, levels=depth)
        threshold = self.settings.threshold or self._least_threshold(noise.scale)
        return Rule(name="basic", depth=depth, threshold=threshold), noise

    def _least_threshold(self, scale: Fraction) -> int:
        return trees.least_threshold(scale=scale, branching=self.hierarchy.max_branching)

    @cached_property
    def _without_counts(self) -> tuple[Rule, Noise]:
        noise = self._least_noise(self._part(self._growing))
        return self._rule(noise.scale), noise

    def _rule(self, scale: Fraction) -> Rule:
        """scale: of noise on parts of records."""
        settings = self.settings
        depth = settings.depth or self.hierarchy.depth
        if settings.rule == "privtree":
            return Rule(
                name="privtree",
                depth=depth,
                threshold=settings.threshold or 1,
                discount=trees.least_decay(scale=scale, branching=self.hierarchy.max_branching),
            )
        threshold = settings.parts * settings.threshold or self._least_threshold(scale)
        discount = trees.least_discount(scale=scale, threshold=threshold)
        least = math.ceil(trees.MIN_DISCOUNT_SHARE * scale)
        return Rule(
            name="improved",
            depth=depth,
            threshold=threshold,
            # Less than the proof asks for is refused, once the noise is known.
            discount=max(discount, least, settings.parts * settings.discount),
            spread=settings.spread,
            parts=settings.parts,
        )

    def _least_noise(self, part: Budget) -> Noise:
        """About the least noise for which opening nodes costs no more than the part. Bisection, because
        thresholds and discounts are whole numbers, so that a price does not fall smoothly."""
        parts = self.settings.parts  # one record more is so many parts more

        def within_budget(scale: Fraction) -> bool:
            rule = self._rule(scale)
            event = ThresholdTree(
                scale=scale,
                l1=self.sensitivity.l1 * parts,
                threshold=rule.least,
                discount=rule.discount,
            )
            return odometer.price(event, self.loss) <= part.amount

        # No tree costs less than one count.
        least = noise_scale.round_up(
            parts * budget_allocation.noise(part, self.sensitivity, laplace=True).scale
        )
        most = noise_scale.round_up(3 * least)
        while not within_budget(most):
            most = noise_scale.round_up(2 * most)
        for _ in range(_BISECTIONS):
            middle = noise_scale.round_up((least + most) / 2)
            least, most = (least, middle) if within_budget(middle) else (middle, most)
        return Noise(law="discrete-laplace", scale=most)

    @property
    def advice(self) -> str:
        rule, noise = self.growth_rule()
        if rule.name == "privtree" or rule.threshold >= self._least_threshold(noise.scale):
            return ""
        usual, _ = replace(self, settings=replace(self.settings, threshold=0)).growth_rule()
        return (
            f"A threshold of {self.settings.threshold:,} is below the noise: of the "
            f"{self.hierarchy.max_branching} parts of a node in which nobody is, noise alone opens about "
            "one or more, and the tree goes on where there is nothing. Take "
            f"{math.ceil(usual.threshold / rule.parts):,} or more, or 0."
        )

    def node_counts(self, grown: Growth, records: float) -> Sequence[NodeCounts]:  # noqa: ARG002
        return [
            NodeCounts(
                nodes=leaf_nodes(grown, self.hierarchy),
                noise=self.leaf_noise(),
                threshold=self.count_threshold,
            )
        ]

    # ---- the model -----------------------------------------------------------------------

    def estimated(self, answers: Answers) -> tuple[int, LeafEstimates]:
        given = Replay(answers)
        total = self.read_total(given)
        grown, _ = self.read_growth(given, total)
        with given.fitting_together():
            asked = leaf_nodes(grown, self.hierarchy).digest, self.count_threshold
        counted = given.next(Leaves, lambda one: (one.partition.digest, one.threshold) == asked)
        given.finish()
        rows = (self.domain.rows or 0) if total is None else oneway.clip_rows(int(total))
        nodes, counts = counted.partition, counted.values
        large = np.flatnonzero(counts >= self._least_kept(counts, rows))
        if not large.size:
            # Nothing stood out of the noise: all that is known is how many records there are.
            nodes, counts, large = self.root, np.ones(1, dtype=np.int64), np.arange(1)
        return rows, LeafEstimates(
            levels=nodes.levels[large],
            prefixes=nodes.prefixes[large],
            counts=counts[large].astype(np.float64),
        )

    def _least_kept(self, counts: npt.NDArray[np.int64], rows: int) -> int:
        """The least count that stays beyond the clean-up. Noise that passes it adds records that nobody has.
        Where the smallest counts go until the rest is at most all records, about as many are left out as were
        made up; twice what the clean-up asks for is no noise."""
        if not self.settings.matched or not (counts > 0).any():
            return 1
        values, times = np.unique(counts[counts > 0], return_counts=True)
        from_here_up = np.cumsum((values * times)[::-1])[::-1]
        return int(values[from_here_up <= rows].min(initial=2 * self.count_threshold))

    def diagnose(self, answers: Answers, ends: LeafEstimates, *, rows: int) -> TreeDiagnostics:
        counted = answers.leaves[-1]  # the clean-up left out nodes that may hold records
        ends = LeafEstimates(
            levels=counted.partition.levels,
            prefixes=counted.partition.prefixes,
            counts=counted.values.astype(np.float64),
        )
        return super().diagnose(answers, ends, rows=rows)

    # ---- forecasts -----------------------------------------------------------------------

    def counts_per_value(self, records: int) -> tuple[Noise, float]:
        nodes = resources.nodes(self.hierarchy, self.growth_rule(records)[0], records)
        sizes = resolve_domain(self.domain).sizes
        values = max(sizes[name] for name in self.hierarchy.columns)
        return self.leaf_noise(), min(nodes, records / self.count_threshold) / values

    def _min_visible_count(self, rows: int | None) -> int:
        return max(self.count_threshold, self.min_records_to_split(rows))
