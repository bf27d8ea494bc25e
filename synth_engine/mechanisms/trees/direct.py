"""Direct synthesis: records are handed down a public tree depth by depth, exactly as many as there are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from synth_engine.codec import prefixes
from synth_engine.domain import Domain, Undeclared
from synth_engine.errors import SpecError
from synth_engine.hierarchy import (
    Hierarchy,
    NodeSet,
    ProductHierarchy,
    Rule,
    SpatialHierarchy,
    StringHierarchy,
)
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.inference.topdown_allocation import Allocation
from synth_engine.measurement import Answers, Leaves, Measurement, Noise, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.trees import resources, spatial_covariates, threshold_tree
from synth_engine.mechanisms.trees.literature import PARAMETERS
from synth_engine.models.model import Model, generator
from synth_engine.models.trees import diagnostics, factory
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synth_engine.models.trees.strings import IncompletePrefixes
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.plans.resources import MEGABYTE, ResourceEstimate
from synth_engine.privacy import conversion
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec

TOTAL_SHARE = Fraction(3, 100)
"""Of the budget for the number of records, where that is not public."""
STOP = 4
"""Noise scales up to which a count is not handed on."""
BEARABLE = {"points": 1.7, "texts": 3.4}
"""Depths, by how often records can be divided among all children until so few are left: places are far from equally full, and
of the signs that may follow few do."""
MAX_DEPTH = 64


@dataclass(frozen=True, kw_only=True)
class DirectSynthesis(Mechanism):
    """Every node of a tree has a number of records, and hands all of them on to its children, by noisy counts of these.

    Asks: one `measure` of the number of records, unless it is public, or of texts one `leaves` of the root; then depth by depth one `leaves` of the children of
        all nodes that have records enough (adaptive, under a cap).
    Privacy: discrete Laplace noise for delta 0, else rounded Gaussian noise, under a cap on epsilon or mu², a depth as dear
        as another. Proofs: docs/proofs/direct-synthesis.md, docs/proofs/leaves.md.
    Public assumptions: the box and its bins, or the alphabet and the lengths; the unit, the relation; of points the number
        of records only where it is a public invariant.
    """

    id: ClassVar[str] = "direct-synthesis"
    has_columns: ClassVar[bool] = False
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
    parameters: ClassVar[dict[str, Any]] = {
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
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    depth: int = 0
    stop: int = STOP
    partial: IncompletePrefixes = "whole"

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        return threshold_tree.text_column(domain) is not None or (
            not domain.undeclared and spatial_covariates.placed(domain) == domain.names
        )

    @classmethod
    def learns(cls, attribute: Undeclared) -> bool:
        return threshold_tree.over_alphabet(attribute)

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        hierarchy = prefixes.hierarchy(domain, domain.names)
        if not isinstance(hierarchy, SpatialHierarchy | StringHierarchy):
            what = _undivided(hierarchy)
            raise domain.attribute(what.columns[0]).error(
                f"a column of {'texts beside others' if isinstance(what, StringHierarchy) else 'classes'}, which direct-synthesis does not "
                "divide",
                repair="take adaptive-improved, or leave it out",
            )
        if self.depth > hierarchy.depth:
            raise SpecError(
                f"depth is more than the {hierarchy.depth} that the description goes",
                repair="describe more bins or longer texts, or take a smaller depth",
            )
        if domain.constraints:
            raise SpecError(
                "direct-synthesis keeps no constraints",
                repair="take them away, or choose another method",
            )
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        plan = DirectPlan(config=self, domain=domain, spec=spec, cap=cap, hierarchy=hierarchy)
        plan.total_noise()
        plan.asked(0.0)
        return plan


def _undivided(hierarchy: Hierarchy) -> Hierarchy:
    """The first part that is no points."""
    parts = hierarchy.components if isinstance(hierarchy, ProductHierarchy) else (hierarchy,)
    return next(each for each in parts if not isinstance(each, SpatialHierarchy))


@dataclass(frozen=True, kw_only=True)
class DirectPlan(Plan):
    """`direct-synthesis` with its budget cut up."""

    config: DirectSynthesis
    hierarchy: SpatialHierarchy | StringHierarchy

    def total_noise(self) -> Noise | None:
        if self._known:
            return None
        return budget_allocation.noise(
            self.loss.of(self.loss.amount * TOTAL_SHARE), self.sensitivity
        )

    @property
    def _known(self) -> bool:
        """Whether it is public how many records there are to be handed down."""
        return self.domain.rows is not None and not self._texts

    def asked(self, records: float) -> tuple[int, Noise]:
        """How many depths are counted where there are about so many records, and the noise of each: a number that is public
        or was paid for."""
        if self.config.depth:
            return self.config.depth, self._noise(self.config.depth)
        for depth in range(min(self.hierarchy.depth, MAX_DEPTH), 1, -1):
            noise = self._noise(depth)
            if depth <= BEARABLE["texts" if self._texts else "points"] * self._divisions(
                records, noise
            ):
                return depth, noise
        return 1, self._noise(1)

    def _noise(self, depth: int) -> Noise:
        left = 1 if self._known else 1 - TOTAL_SHARE
        return budget_allocation.noise(
            self.loss.of(self.loss.amount * left / depth), self.sensitivity
        )

    def _divisions(self, records: float, noise: Noise) -> float:
        """How often so many records can be divided among all children of a node until few noise scales are left."""
        few = STOP * float(noise.scale)
        return math.log(max(records / few, 1.0)) / math.log(
            max(self.hierarchy.branching(1)[0], 2)
        )

    def run(self, session: Session) -> Answers:
        noise = self.total_noise()
        totals: tuple[Measurement, ...] = ()
        found: list[Leaves] = []

        def ask(parts: NodeSet, noise: Noise) -> Leaves:
            found.append(session.leaves(parts, noise=noise))
            return found[-1]

        own = None
        if noise is not None and self._texts:
            own = float(ask(self._root(), noise).values.sum())
        elif noise is not None:
            totals = (session.measure((), noise=noise),)
            own = float(totals[0].values)
        self._handed_down(own, ask)
        return Answers(measurements=totals, leaves=tuple(found), calls=session.calls)

    @property
    def _texts(self) -> bool:
        """Texts with other signs than the alphabet's are in no node, so that the root is counted and not all records."""
        return isinstance(self.hierarchy, StringHierarchy)

    def _root(self) -> NodeSet:
        none = np.zeros(1, dtype=np.int64)
        return NodeSet(
            columns=self.hierarchy.columns, levels=none, prefixes=self.hierarchy.root()
        )

    def _handed_down(
        self, own: float | None, ask: Callable[[NodeSet, Noise], Leaves]
    ) -> Allocation:
        """Records handed down as noisy counts say; a function of these alone. own: a noisy number of all records; ask: noisy
        counts of parts, from the room or from what it said before."""
        depth, noise, stop = self._asked(own)
        allocation = Allocation(self.hierarchy, depth=depth, stop=stop)
        while len(allocation.requested):
            level = allocation.requested
            levels = np.full(len(level), level.level, dtype=np.int64)
            found = ask(
                NodeSet(columns=self.hierarchy.columns, levels=levels, prefixes=level.prefixes),
                noise,
            )
            if level.level == 1:
                allocation.begin(self._total(own, found))
            seed = hashlib.sha256(
                np.ascontiguousarray(found.values, dtype="<i8").tobytes()
            ).hexdigest()
            allocation.divide(
                found.values,
                rng=generator(seed, purpose=("direct-synthesis", str(level.level))),
            )
        return allocation

    def _asked(self, own: float | None) -> tuple[int, Noise, int]:
        """As `asked`, and up to which count nothing is handed on."""
        depth, noise = self.asked(float(self.domain.rows or 0) if own is None else own)
        return depth, noise, math.floor(self.config.stop * noise.scale)

    def _total(self, own: float | None, first: Leaves) -> int:
        """The public number of records, else the mean of what was counted at once and of the sum of the first depth,
        weighted by their precision."""
        noise = self.total_noise()
        if own is None or noise is None:
            return self.domain.rows or 0
        spread = first.values.size * first.noise.variance
        weight = spread / (spread + noise.variance)
        return oneway.clip_rows(round(weight * own + (1 - weight) * float(first.values.sum())))

    def fit(self, answers: Answers) -> Model:
        noise, left = self.total_noise(), list(answers.leaves)

        def known(parts: NodeSet, noise: Noise) -> Leaves:
            if not left or left[0].partition.digest != parts.digest or left[0].noise != noise:
                raise not_of_this_plan()
            return left.pop(0)

        measured = noise is not None and not self._texts
        if [m.clique for m in answers.measurements] != [()] * measured:
            raise not_of_this_plan()
        own = None
        if noise is not None:
            own = float(
                (
                    answers.measurements[0] if measured else known(self._root(), noise)
                ).values.sum()
            )
        allocation = self._handed_down(own, known)
        if left:
            raise not_of_this_plan()
        levels, prefixes, counts = allocation.leaves()
        tree = factory.tree(
            self.hierarchy,
            levels,
            prefixes,
            counts.astype(np.float64),
            incomplete_prefixes=self.config.partial,
        )
        domain, rows = threshold_tree.resolve_domain(self.domain), allocation.total
        rule = self._rule(own)
        counted = [(each.values, each.noise) for each in answers.leaves[int(self._texts) :]]
        cells = levels, prefixes, counts
        told = TreeDiagnostics(  # that a node was divided says no more than its count does
            noise=not diagnostics.stands_out(counted),
            min_records_to_split=diagnostics.min_records_to_split(rule),
            stop_reason=diagnostics.stop_reason(
                self.hierarchy, rule, cells, looked=int(levels.max()), rows=rows
            ),
        )
        return Model(
            mechanism=self.mechanism, domain=domain, rows=rows, tables=(), tree=tree, notes=told
        )

    @property
    def tree_hierarchy(self) -> SpatialHierarchy | StringHierarchy:
        return self.hierarchy

    def min_records_to_split(self, rows: int | None = None) -> int:
        return diagnostics.min_records_to_split(self._rule(float(self._guess(rows))))

    def _rule(self, own: float | None) -> Rule:
        """As of a tree that is grown: what is above the number at which nothing is handed on is divided. own: as `_asked`."""
        depth, _, stop = self._asked(own)
        return Rule(name="basic", depth=depth, threshold=max(1, stop) + 1)

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Codes, sorted again for each depth, and the children of nodes that have records enough."""
        found = self._guess(rows)
        rule = self._rule(float(found))
        depth, nodes = rule.depth, resources.nodes(self.hierarchy, rule, found)
        seconds = depth * 6e-8 * found * len(self.hierarchy.columns) + 1.5e-6 * nodes
        return super().needs(rows) + ResourceEstimate(
            memory_bytes=int(40 * found + 100 * nodes) + MEGABYTE, seconds=seconds
        )

    def _nodes(self, records: float, level: int) -> float:
        """At most so many nodes of that depth are counted."""
        _, noise = self.asked(records)
        few = max(1.0, self.config.stop * float(noise.scale))
        return min(
            float(self.hierarchy.cells(level)),
            max(1.0, records / few) * self.hierarchy.branching(1)[0],
        )

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """As of tables of single columns, each value of which is the sum of all cells along the other coordinates, or of all
        texts with it: as many as the tree can have there. A rough upper end: what a node hands on adds up to what it was given."""
        found = self._guess(rows)
        depth, noise = self.asked(float(found))
        domain, nodes = (
            threshold_tree.resolve_domain(self.domain),
            self._nodes(float(found), depth),
        )
        parts = self.hierarchy.dimensions if isinstance(self.hierarchy, SpatialHierarchy) else 1
        across = nodes / max(domain.sizes.values()) if self._texts else nodes ** (1 - 1 / parts)
        spread = Noise(
            law="discrete-laplace",
            scale=Fraction(math.sqrt(noise.variance / 2 * max(1.0, across))),
        )
        forecast = error_forecast.independent(
            dict.fromkeys(domain.names, spread), sizes=domain.sizes, rows=found
        )
        if (texts := threshold_tree.texts_of(self.domain)) is None:
            return forecast
        return error_forecast.with_string_column(
            forecast, texts.name, least=self.min_records_to_split(rows), kinds=texts.values.size
        )
