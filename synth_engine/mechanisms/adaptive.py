"""Adaptive histograms of points: a tree that is as deep as counts bear, whose deciding counts are used again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, Literal

from synth_engine.codec import prefixes
from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.hierarchy import Points, Rule, estimate
from synth_engine.marginals import expected, oneway
from synth_engine.measurement import Answers, Noise, Session
from synth_engine.mechanisms import shares
from synth_engine.mechanisms.model import Model, whole_weights
from synth_engine.mechanisms.needs import MEGABYTE, Needs
from synth_engine.mechanisms.plan import Budget, Mechanism, Plan
from synth_engine.mechanisms.tree import Tree
from synth_engine.privacy import conversion
from synth_engine.privacy.unit import Relation, levels_sensitivity
from synth_engine.spec import Spec

TOTAL_SHARE = Fraction(3, 100)
"""Of the budget for the number of records, where that is not public."""
STRAY = 2.0
"""Of the children of an empty node, branching^-STRAY / 2 are opened on average: the threshold is twice as many noise scales as
the least one. Below it a tree spends itself on noise (docs/methods.md)."""
_DEEPER = 1.75
_TOP = 1.0
"""Depths that are counted, by how often the records can be halved before a node of equal shares falls below the threshold:
places are far from equally full, so that crowded ones bear nearly twice as many."""


@dataclass(frozen=True, kw_only=True)
class Adaptive(Mechanism):
    """A tree of cells of all columns together, cut in halves along each, opened where a noisy count reaches a threshold.

    Asks: one `measure` of the number of records, unless it is public; then one `grow` by the basic rule over all columns, as
        deep and with a threshold as noise and that number bear (adaptive, under a cap).
    Privacy: discrete Laplace noise for delta 0, else rounded Gaussian noise, under a cap on epsilon or mu².
        Proofs: docs/proofs/adaptive.md, docs/proofs/grow.md.
    Public assumptions: the box, its bins, the unit, the relation; the number of records only where it is a public
        invariant.
    """

    id: ClassVar[str] = "adaptive"
    title: ClassVar[str] = "Adaptive histogram of places"
    summary: ClassVar[str] = (
        "For tables of points, such as homes and places of work: cuts the box into ever smaller cells where there are "
        "records enough, makes all counts agree, and places records in the cells."
    )
    paper: ClassVar[str] = "Synthetic Data via Differential Privacy (adaptive histograms); Hay et al. 2010"
    keeps: ClassVar[tuple[str, ...]] = ("where points lie, all coordinates together", "distances between places")
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "depth": {
                "type": "integer",
                "minimum": 0,
                "maximum": 64,
                "default": 0,
                "title": "Depth of the tree",
                "description": "How often each side of the box is halved at most. 0: as epsilon and the number of records bear.",
            },
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    depth: int = 0

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        placed = {column for place in domain.places for column in place.columns}
        return not domain.open and set(domain.names) <= placed

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        points = prefixes.hierarchy(domain, domain.names)
        if not isinstance(points, Points):
            raise SpecError("adaptive needs columns of points", repair="describe them as numbers")
        if self.depth > points.depth:
            raise SpecError(
                f"depth is more than the {points.depth} times that the bins of all columns can be halved",
                repair="declare more bins, or a smaller depth",
            )
        if domain.constraints:
            raise SpecError("adaptive keeps no constraints", repair="take them away, or choose another method")
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        plan = AdaptivePlan(config=self, domain=domain, spec=spec, cap=cap, points=points)
        plan.total_noise()
        plan.asked(0.0)
        return plan


@dataclass(frozen=True, kw_only=True)
class AdaptivePlan(Plan):
    """`adaptive` with its budget cut up."""

    config: Adaptive
    points: Points

    def total_noise(self) -> Noise | None:
        if self.domain.rows is not None:
            return None
        return shares.noise(self.loss.of(self.loss.amount * TOTAL_SHARE), self.sensitivity)

    def asked(self, records: float) -> tuple[Rule, Noise]:
        """How the tree is grown where there are about so many records: a number that is public or was paid for."""
        if self.config.depth:
            return self._rule(self.config.depth)
        for depth in range(self.points.depth, 1, -1):
            rule, noise = self._rule(depth)
            if depth <= _TOP + _DEEPER * self._bearable(records, rule):
                return rule, noise
        return self._rule(1)

    def _bearable(self, records: float, rule: Rule) -> float:
        """How many depths of equally full nodes reach the threshold."""
        return math.log(max(records / rule.threshold, 1.0)) / math.log(self._branching)

    def _rule(self, depth: int) -> tuple[Rule, Noise]:
        share = 1 if self.domain.rows is not None else 1 - TOTAL_SHARE
        noise = shares.noise(self.loss.of(self.loss.amount * share), levels_sensitivity(self.sensitivity, levels=depth))
        if noise.law == "discrete-laplace":
            scales = STRAY * math.log(self._branching)
        else:
            scales = NormalDist().inv_cdf(1 - self._branching**-STRAY / 2)
        threshold = max(1, math.ceil(scales * float(noise.scale)))
        return Rule(name="basic", depth=depth, threshold=threshold), noise

    @property
    def _branching(self) -> int:
        return self.points.branching(1)[0]

    def run(self, session: Session) -> Answers:
        noise = self.total_noise()
        totals = () if noise is None else (session.measure((), noise=noise),)
        rule, of_counts = self.asked(float(totals[0].values) if totals else float(self.domain.rows or 0))
        grown = session.grow(self.points.columns, rule=rule, noise=of_counts)
        return Answers(measurements=totals, growths=(grown,), calls=session.calls)

    def fit(self, answers: Answers) -> Model:
        noise = self.total_noise()
        if len(answers.growths) != 1 or [m.clique for m in answers.measurements] != ([] if noise is None else [()]):
            raise InputError("these answers are not of this plan", repair="use the answers of this release")
        (grown,) = answers.growths
        own = None if noise is None else (float(answers.measurements[0].values), noise.variance)
        rule, of_counts = self.asked(own[0] if own else float(self.domain.rows or 0))
        if (grown.columns, grown.rule) != (self.points.columns, rule):
            raise InputError("these answers are not of this plan", repair="use the answers of this release")
        try:
            total = estimate.total(grown, self.points, variance=of_counts.variance, own=own)
            rows = self.domain.rows if self.domain.rows is not None else oneway.plausible(round(total))
            leaves = estimate.leaves(grown, self.points, variance=of_counts.variance, total=float(rows))
        except ValueError as error:
            raise InputError("these answers are not of this plan", repair="use the answers of this release") from error
        kept = leaves.counts > 0
        if not kept.any():
            kept[:] = True
        weights = whole_weights(leaves.counts[kept])
        tree = Tree(hierarchy=self.points, levels=leaves.levels[kept], cells=leaves.prefixes[kept], weights=weights)
        return Model(mechanism=self.mechanism, domain=self.domain, rows=rows, tables=(), tree=tree)

    def needs(self, rows: int | None = None) -> Needs:
        """Sorted codes, and a cell of noise for each child of a node that can be opened."""
        found = self._guess(rows)
        rule, _ = self.asked(float(found))
        nodes = min(found / rule.threshold * self._branching, float(self.points.cells(rule.depth))) * rule.depth
        seconds = 3e-7 * found * len(self.points.columns) + 2e-5 * nodes
        return super().needs(rows) + Needs(memory_bytes=int(32 * found + 100 * nodes) + MEGABYTE, seconds=seconds)

    def expected_error(self, *, rows: int | None = None) -> dict[str, Any]:
        """As of tables of single columns, each value of which is the sum of all nodes along the other coordinates: as many as
        the tree can have there. A rough upper end: counts that agree are more accurate than single ones."""
        found = self._guess(rows)
        rule, noise = self.asked(float(found))
        across = 2.0 ** (rule.depth * (self.points.dimensions - 1))
        nodes = min(across, max(1.0, found / rule.threshold) * self._branching)
        spread = Noise(law="discrete-laplace", scale=Fraction(math.sqrt(noise.variance / 2 * nodes)))
        return expected.independent(dict.fromkeys(self.domain.names, spread), sizes=self.domain.sizes, rows=found)
