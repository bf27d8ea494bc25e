"""A maximum spanning tree of pairs of columns, chosen privately edge by edge and measured once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.inference import denoising, error_forecast, factors
from synth_engine.inference.error_forecast import ErrorForecast, StandIn
from synth_engine.measurement import (
    MAX_TABLE_CELLS,
    Candidate,
    Clique,
    Measurement,
    Noise,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.pairwise import pairs
from synth_engine.models.model import Model
from synth_engine.plans import budget_allocation, resources
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import parse_amount
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec

AUTO_COLUMNS = Fraction(1, 2)
AUTO_CHOICES = Fraction(1, 10)


@dataclass(frozen=True, kw_only=True)
class Mst(Mechanism):
    """A tree over the columns whose edges are the pairs that depend most on each other.

    Asks: `measure` of every modelled column; one `select` for each edge, among the pairs that connect two
    parts of the
        forest so far, by the distance of a pair from the product of its noisy columns; then `measure` of each
            pair chosen.
        Pairs depend on noisy answers (adaptive).
    Privacy: a cap fixed beforehand: epsilon (Laplace, permute-and-flip) for delta 0, else the rho that
    epsilon and
        delta buy (Gaussian, Gumbel). Columns, choices and pairs have fixed shares of it. References are
            functions of paid
        answers alone. Proof: docs/proofs/mst.md.
    Public assumptions: the domain, its sizes and code order, the unit, the relation; the number of records
    only
        where it is a public invariant.
    """

    id: ClassVar[str] = "mst"
    counts_groups: ClassVar[bool] = True
    has_network: ClassVar[bool] = True
    title: ClassVar[str] = "Spanning tree of pairs"
    summary: ClassVar[str] = (
        "Measures every column, chooses privately the tree of pairs that depend most on each other, "
        "measures those pairs and draws every column given one other. Robust and fast; relations along the "
        "tree survive."
    )
    paper: ClassVar[str] = "McKenna, Miklau and Sheldon 2021 (MST, arXiv 2108.04978)"
    keeps: ClassVar[tuple[str, ...]] = (
        "histograms of single columns",
        "relations of the pairs that depend most on each other",
        "number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "columns_share": budget_allocation.parameter(
                "single columns",
                "More of it makes each column more accurate, and relations less. 0: one half.",
            ),
            "choices_share": budget_allocation.parameter(
                "choosing pairs",
                "0: one tenth. The rest is spent on the tables of the pairs.",
            ),
            "memory_mb": pairs.MEMORY,
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"

    columns_share: float = 0
    choices_share: float = 0
    memory_mb: int = 0

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        plan = MstPlan(
            config=self, domain=domain, spec=spec, cap=cap, parts=self._parts(cap, domain)
        )
        pairs.require_memory(plan.memory, megabytes=self.memory_mb, domain=domain)
        plan.require_noise()
        return plan

    def _parts(self, cap: Budget, domain: Domain) -> MstBudget:
        edges = pairs.edges(domain)
        if not edges:
            return MstBudget(columns=cap.amount, choice=Fraction(0), table=Fraction(0), edges=0)
        of_columns = parse_amount(self.columns_share, name="columns_share") or AUTO_COLUMNS
        of_choices = parse_amount(self.choices_share, name="choices_share") or AUTO_CHOICES
        remaining = 1 - of_columns - of_choices
        if remaining < Fraction(1, 100):
            raise SpecError(
                "columns_share and choices_share leave nothing for pairs",
                repair="give shares that add up to 0.99 at most",
            )
        of_edge = cap.amount / edges
        return MstBudget(
            columns=cap.amount * of_columns,
            choice=of_edge * of_choices,
            table=of_edge * remaining,
            edges=edges,
        )


@dataclass(frozen=True, kw_only=True)
class MstBudget:
    """Of the cap: for all columns, for one choice, and for one table of a pair; and how many pairs there will
    be."""

    columns: Fraction
    choice: Fraction
    table: Fraction
    edges: int


@dataclass(frozen=True, kw_only=True)
class MstPlan(Plan):
    """`mst` with its budget cut up."""

    parts: MstBudget

    @property
    def memory(self) -> int:
        """Bytes at most: a reference for every pair, and of one at a time the expectation and the counts."""
        largest = sorted(self.domain.sizes.values())[-2:]
        return 8 * pairs.cells(self.domain) + 64 * min(math.prod(largest), MAX_TABLE_CELLS)

    def require_noise(self) -> None:
        """Errors: SpecError for noise that cannot be drawn; once the run has been paid for it is too late to
        say so."""
        self._column_noises()
        self._choice_scale()
        self._pair_noise()

    def ask(self, session: Session) -> None:
        columns = pairs.measure_columns(session, self._column_noises())
        chosen, noise = self._chosen(session, columns), self._pair_noise()
        if noise is not None:
            for pair in chosen.taken:
                session.measure(pair, noise=noise)

    def _chosen(self, session: Session, columns: Sequence[Measurement]) -> pairs.Forest:
        candidates, scale = self._candidates(columns), self._choice_scale()
        forest = pairs.Forest(self.domain.names)
        # Kruskal's algorithm, with a private choice in place of the maximum.
        while choices := [pair for pair in candidates if forest.connects(pair)]:
            index = session.select([candidates[pair] for pair in choices], scale=scale)
            forest.take(choices[index])
        return forest

    def fit_replay(self, given: Replay) -> Model:
        columns = pairs.read_columns(given, self.domain)
        taken = pairs.read_forest(given, self.domain.names)
        given.require(
            len(taken) == self.parts.edges and set(taken) <= set(pairs.of(self.domain))
        )
        tables = [given.measurement(pair) for pair in taken]
        known = pairs.denoise(self.domain, (*columns, *tables), reading=denoising.read_cells)
        order = pairs.network(known.tables, known.oneways, total=known.total)
        return pairs.model(self.mechanism, self.domain, rows=known.total, order=order)

    def _candidates(self, columns: Sequence[Measurement]) -> dict[Clique, Candidate]:
        """Every pair with the product of its columns: what they let one expect if it does not matter."""
        known, noise = pairs.denoise(self.domain, columns), self._pair_noise()
        deviation = noise.mean_deviation if noise else 0.0
        return {
            pair: pairs.candidate(
                pair,
                factors.product([known.oneways[name] for name in pair], total=known.total),
                deviation=deviation,
            )
            for pair in pairs.of(self.domain)
        }

    def _column_noises(self) -> dict[str, Noise]:
        return pairs.column_noises(
            self.domain, self.loss.of(self.parts.columns), self.sensitivity
        )

    def _choice_scale(self) -> Fraction:
        return (
            self.loss.of(self.parts.choice).selection_scale(self.sensitivity.linf)
            if self.parts.edges
            else Fraction(1)
        )

    def _pair_noise(self) -> Noise | None:
        return (
            budget_allocation.noise(self.loss.of(self.parts.table), self.sensitivity)
            if self.parts.edges
            else None
        )

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        sizes = self.domain.sizes
        shapes = [(sizes[first], sizes[second]) for first, second in pairs.of(self.domain)]
        return super().needs(rows) + resources.of_pairs(
            self._guess(rows), shapes, looks=len(sizes) / 2
        )

    def expected_error_on(self, table: StandIn) -> ErrorForecast:
        return error_forecast.network(self._column_noises(), self._pair_noise(), table)
