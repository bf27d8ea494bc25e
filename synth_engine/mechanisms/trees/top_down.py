"""Trees down which records are handed depth by depth, exactly as many as there are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synth_engine.hierarchy import NodeSet, Rule, SpatialHierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.inference import oneway
from synth_engine.inference.topdown_allocation import Allocation
from synth_engine.measurement import Answers, Leaves, Noise, Session
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.trees import columns, parameters, resources
from synth_engine.mechanisms.trees.tree_plan import TreePlan
from synth_engine.models.model import generator
from synth_engine.models.trees import diagnostics
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synth_engine.plans.plan import Plan
from synth_engine.plans.resources import MEGABYTE, ResourceEstimate

DEPTHS_PER_DIVISION = {"points": 1.7, "words": 3.4}
"""Depths, by how often records can be divided among all children until so few are left: places are far from
equally full, and of the signs that may follow few do."""


@dataclass(frozen=True, kw_only=True)
class TopDownPlan(TreePlan):
    """A tree whose nodes hand their records on. depth: 0 for as deep as records bear. stop: noise scales up
    to which a count is not handed on."""

    total_share = Fraction(3, 100)

    depth: int = 0
    stop: int = parameters.STOP

    def require_noise(self) -> None:
        self.total_noise()
        self.counted_depths(0.0)

    # ---- the rule ------------------------------------------------------------------------

    def counted_depths(self, records: float) -> tuple[int, Noise]:
        """How many depths are counted where there are about so many records, and the noise of each: a number
        that is public or was paid for."""
        branching = max(self.hierarchy.branching(1)[0], 2)
        per_division = DEPTHS_PER_DIVISION[self.hierarchy.kind]

        def fits(depth: int) -> bool:
            # So often can records be divided among all children of a node until few noise scales are left.
            few = parameters.STOP * float(self._noise(depth).scale)
            divisions = math.log(max(records / few, 1.0)) / math.log(branching)
            return depth <= per_division * divisions

        depth = self.depth or self.deepest(fits, most=parameters.MAX_DEPTH)
        return depth, self._noise(depth)

    def _noise(self, depth: int) -> Noise:
        return self.share_noise(self.share_of_counts / depth)

    def _stop(self, noise: Noise) -> int:
        """The largest count that is not handed on."""
        return math.floor(self.stop * noise.scale)

    def growth_rule(self, records: float | None = None) -> tuple[Rule, Noise]:
        """As of a tree that is grown: what is above the count at which nothing is handed on is divided."""
        depth, noise = self.counted_depths(
            float(self._guess(None)) if records is None else records
        )
        return Rule(name="basic", depth=depth, threshold=max(1, self._stop(noise)) + 1), noise

    # ---- the run -------------------------------------------------------------------------

    def ask(self, session: Session) -> None:
        total = self.read_total(Replay(self.ask_total(session)))
        self._hand_down(total, lambda nodes, noise: session.leaves(nodes, noise=noise))

    def _hand_down(
        self, own: float | None, ask: Callable[[NodeSet, Noise], Leaves]
    ) -> Allocation:
        """Records handed down as noisy counts say; a function of these alone. own: a noisy number of all
        records; ask: noisy counts of nodes, from the room or from its earlier answers."""
        depth, noise = self.counted_depths(float(self.domain.rows or 0) if own is None else own)
        allocation = Allocation(self.hierarchy, depth=depth, stop=self._stop(noise))
        while len(allocation.requested):
            level = allocation.requested
            nodes = NodeSet(
                columns=self.hierarchy.columns,
                levels=np.full(len(level), level.level, dtype=np.int64),
                prefixes=level.prefixes,
            )
            answer = ask(nodes, noise)
            if level.level == 1:
                allocation.begin(self._total(own, answer))
            # The turns of a depth begin where its own noisy counts say, so that answers give one model.
            counts = np.ascontiguousarray(answer.values, dtype="<i8")
            seed = hashlib.sha256(counts.tobytes()).hexdigest()
            rng = generator(seed, purpose=("direct-synthesis", str(level.level)))
            allocation.divide(answer.values, rng=rng)
        return allocation

    def _total(self, own: float | None, first: Leaves) -> int:
        """The public number of records, else the mean of what was counted at once and of the sum of the first
        depth, weighted by their precision."""
        noise = self.total_noise()
        if own is None or noise is None:
            return self.domain.rows or 0
        variance = first.values.size * first.noise.variance
        weight = variance / (variance + noise.variance)
        return oneway.clip_rows(round(weight * own + (1 - weight) * float(first.values.sum())))

    # ---- the model -----------------------------------------------------------------------

    def estimated(self, answers: Answers) -> tuple[int, LeafEstimates]:
        given = Replay(answers)

        def repeat(nodes: NodeSet, noise: Noise) -> Leaves:
            asked = nodes.digest, noise
            return given.next(Leaves, lambda one: (one.partition.digest, one.noise) == asked)

        allocation = self._hand_down(self.read_total(given), repeat)
        given.finish()
        levels, leaves, counts = allocation.leaves()
        return allocation.total, LeafEstimates(
            levels=levels, prefixes=leaves, counts=counts.astype(np.float64)
        )

    def diagnose(self, answers: Answers, ends: LeafEstimates, *, rows: int) -> TreeDiagnostics:
        rule, _ = self.growth_rule(self.records(answers))
        return TreeDiagnostics(  # that a node was divided says no more than its count does
            noise=not diagnostics.stands_out(self.counted(answers)),
            min_records_to_split=diagnostics.min_records_to_split(rule),
            stop_reason=diagnostics.stop_reason(
                self.hierarchy, rule, ends, looked=int(ends.levels.max()), rows=rows
            ),
        )

    # ---- forecasts -----------------------------------------------------------------------

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Codes, sorted again for each depth, and the children of nodes that have records enough."""
        records, rule = self._guess(rows), self._forecast_rule(rows)
        nodes = resources.nodes(self.hierarchy, rule, records)
        seconds = rule.depth * 6e-8 * records * len(self.hierarchy.columns) + 1.5e-6 * nodes
        memory = int(40 * records + 100 * nodes) + MEGABYTE
        return Plan.needs(self, rows) + ResourceEstimate(memory_bytes=memory, seconds=seconds)

    def counts_per_value(self, records: int) -> tuple[Noise, float]:
        depth, noise = self.counted_depths(float(records))
        few = max(1.0, self.stop * float(noise.scale))
        divided = max(1.0, records / few) * self.hierarchy.branching(1)[0]
        nodes = min(float(self.hierarchy.cells(depth)), divided)
        points = self.hierarchy.component(SpatialHierarchy)
        if points is not None:
            return noise, nodes ** (1 - 1 / points.dimensions)
        return noise, nodes / max(columns.resolve_domain(self.domain).sizes.values())
