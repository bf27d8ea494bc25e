"""Direct synthesis: records are handed down a public tree depth by depth, exactly as many as there are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from synth_engine.codec import prefixes
from synth_engine.domain import Domain
from synth_engine.hierarchy import Hierarchy, NodeSet, Rule, SpatialHierarchy, StringHierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.inference import oneway
from synth_engine.inference.topdown_allocation import Allocation
from synth_engine.measurement import Answers, Leaves, Noise, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.trees import columns, resources, threshold_tree
from synth_engine.mechanisms.trees.literature import PARAMETERS, TreeMechanism
from synth_engine.mechanisms.trees.tree_plan import TreePlan
from synth_engine.models.model import generator
from synth_engine.models.trees import diagnostics, factory
from synth_engine.models.trees.covariates import Covariates
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synth_engine.models.trees.strings import IncompletePrefixes
from synth_engine.plans import budget_allocation
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Plan
from synth_engine.plans.resources import MEGABYTE, ResourceEstimate
from synth_engine.privacy import conversion
from synth_engine.spec import Spec

STOP = 4
"""Noise scales up to which a count is not handed on."""
DEPTHS_PER_DIVISION = {"points": 1.7, "words": 3.4}
"""Depths, by how often records can be divided among all children until so few are left: places are far from equally full, and
of the signs that may follow few do."""
MAX_DEPTH = 64


@dataclass(frozen=True, kw_only=True)
class DirectSynthesis(TreeMechanism):
    """Every node of a tree has a number of records, and hands all of them on to its children, by noisy counts of these.

    Asks: one `measure` of the number of records, unless it is public, or of texts one `leaves` of the root; then depth by depth one `leaves` of the children of
        all nodes that have records enough (adaptive, under a cap).
    Privacy: discrete Laplace noise for delta 0, else rounded Gaussian noise, under a cap on epsilon or mu², a depth as dear
        as another. Proofs: docs/proofs/direct-synthesis.md, docs/proofs/leaves.md.
    Public assumptions: the box and its bins, or the alphabet and the lengths; the unit, the relation; of points the number
        of records only where it is a public invariant.
    """

    id: ClassVar[str] = "direct-synthesis"
    title: ClassVar[str] = "Direct synthesis"
    summary: ClassVar[str] = (
        "For points or for one column of texts: hands a fixed number of records down from the whole to ever smaller cells, or "
        "sign by sign. What is large is kept with great accuracy, often better than by a sample of the table itself."
    )
    paper: ClassVar[str] = "Synthetic Data via Differential Privacy (direct data synthesis)"
    keeps: ClassVar[tuple[str, ...]] = (
        "how many records are in large regions",
        "the number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "depth": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_DEPTH,
                "default": 0,
                "title": "Depth of the tree",
                "description": "Every depth costs the same part of epsilon. 0: as epsilon and the number of records bear.",
            },
            "stop": {
                "type": "integer",
                "minimum": 0,
                "maximum": 1000,
                "default": STOP,
                "title": "Where to stop",
                "description": "Counts of so many noise scales or fewer are not divided further. 0: down to single records.",
            },
            "partial": PARAMETERS["partial"],
        },
        "additionalProperties": False,
    }
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    depth: int = 0
    stop: int = STOP
    partial: IncompletePrefixes = "whole"

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        return columns.text_column(domain) is not None or (
            not domain.undeclared and columns.placed(domain) == domain.names
        )

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        hierarchy = prefixes.hierarchy(domain, domain.names)
        if not hierarchy.is_uniform:
            other = _undivided(hierarchy)
            kind = "texts beside others" if isinstance(other, StringHierarchy) else "classes"
            raise domain.attribute(other.columns[0]).error(
                f"a column of {kind}, which direct-synthesis does not divide",
                repair="take adaptive-improved, or leave it out",
            )
        threshold_tree.require_depth(self.depth, hierarchy)
        threshold_tree.require_no_constraints(domain, self)
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        plan = DirectPlan(config=self, domain=domain, spec=spec, cap=cap, hierarchy=hierarchy)
        # Noise that no budget gives is refused here, before anything is charged.
        plan.total_noise()
        plan.counted_depths(0.0)
        return plan


def _undivided(hierarchy: Hierarchy) -> Hierarchy:
    """The first component that is no points."""
    return next(part for part in hierarchy.components if not isinstance(part, SpatialHierarchy))


@dataclass(frozen=True, kw_only=True)
class DirectPlan(TreePlan):
    """`direct-synthesis` with its budget allocated."""

    total_share = Fraction(3, 100)

    config: DirectSynthesis

    # ---- the rule ------------------------------------------------------------------------

    def counted_depths(self, records: float) -> tuple[int, Noise]:
        """How many depths are counted where there are about so many records, and the noise of each: a number that is public
        or was paid for."""
        if self.config.depth:
            return self.config.depth, self._noise(self.config.depth)
        branching = max(self.hierarchy.branching(1)[0], 2)
        per_division = DEPTHS_PER_DIVISION[self.hierarchy.kind]
        for depth in range(min(self.hierarchy.depth, MAX_DEPTH), 1, -1):
            noise = self._noise(depth)
            # So often can records be divided among all children of a node until few noise scales are left.
            few = STOP * float(noise.scale)
            divisions = math.log(max(records / few, 1.0)) / math.log(branching)
            if depth <= per_division * divisions:
                return depth, noise
        return 1, self._noise(1)

    def _noise(self, depth: int) -> Noise:
        left = 1 if self.total_noise() is None else 1 - self.total_share
        return budget_allocation.noise(
            self.loss.of(self.loss.amount * left / depth), self.sensitivity
        )

    def _stop(self, noise: Noise) -> int:
        """The largest count that is not handed on."""
        return math.floor(self.config.stop * noise.scale)

    def growth_rule(self, records: float | None = None) -> tuple[Rule, Noise]:
        """As of a tree that is grown: what is above the count at which nothing is handed on is divided."""
        depth, noise = self.counted_depths(
            float(self._guess(None)) if records is None else records
        )
        return Rule(name="basic", depth=depth, threshold=max(1, self._stop(noise)) + 1), noise

    # ---- the run -------------------------------------------------------------------------

    def ask(self, session: Session) -> None:
        total = self.noisy_total(self.ask_total(session))
        self._hand_down(total, lambda nodes, noise: session.leaves(nodes, noise=noise))

    def _hand_down(
        self, own: float | None, ask: Callable[[NodeSet, Noise], Leaves]
    ) -> Allocation:
        """Records handed down as noisy counts say; a function of these alone. own: a noisy number of all records; ask: noisy
        counts of nodes, from the room or from its earlier answers."""
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
        """The public number of records, else the mean of what was counted at once and of the sum of the first depth,
        weighted by their precision."""
        noise = self.total_noise()
        if own is None or noise is None:
            return self.domain.rows or 0
        variance = first.values.size * first.noise.variance
        weight = variance / (variance + noise.variance)
        return oneway.clip_rows(round(weight * own + (1 - weight) * float(first.values.sum())))

    # ---- the model -----------------------------------------------------------------------

    def estimated(self, answers: Answers) -> tuple[int, LeafEstimates]:
        total = self.noisy_total(answers)
        left = list(answers.leaves[self.reads_strings :])

        def repeat(nodes: NodeSet, noise: Noise) -> Leaves:
            if not left or left[0].partition.digest != nodes.digest or left[0].noise != noise:
                raise not_of_this_plan()
            return left.pop(0)

        allocation = self._hand_down(total, repeat)
        if left:
            raise not_of_this_plan()
        levels, leaves, counts = allocation.leaves()
        return allocation.total, LeafEstimates(
            levels=levels, prefixes=leaves, counts=counts.astype(np.float64)
        )

    def tree(
        self, leaves: LeafEstimates, *, attached: Covariates | None = None
    ) -> factory.ModelTree:
        return factory.tree(
            self.hierarchy,
            leaves,
            incomplete_prefixes=self.config.partial,
            attached=attached,
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
        few = max(1.0, self.config.stop * float(noise.scale))
        divided = max(1.0, records / few) * self.hierarchy.branching(1)[0]
        nodes = min(float(self.hierarchy.cells(depth)), divided)
        points = self.hierarchy.component(SpatialHierarchy)
        if points is not None:
            return noise, nodes ** (1 - 1 / points.dimensions)
        return noise, nodes / max(columns.resolve_domain(self.domain).sizes.values())
