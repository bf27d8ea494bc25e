"""Pairs chosen all at once by noisy scores, measured once, and records updated until they agree with all of
them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.inference import error_forecast, factors
from synth_engine.inference.error_forecast import ErrorForecast, StandIn
from synth_engine.measurement import (
    Candidate,
    Clique,
    Measurement,
    Noise,
    Scores,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.pairwise import pair_selection, pairs
from synth_engine.mechanisms.pairwise.network_search import Expectation
from synth_engine.mechanisms.pairwise.rounds import final_model
from synth_engine.models.model import Model
from synth_engine.plans import budget_allocation, resources
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import parse_amount
from synth_engine.privacy.unit import Relation, scores_sensitivity
from synth_engine.spec import Spec

AUTO_SCORES = Fraction(1, 10)
AUTO_CELLS = 5_000
FEWER = (1, 2, 4, 8)
"""A forecast tries what part of all pairs is best measured."""


@dataclass(frozen=True, kw_only=True)
class PrivSyn(Mechanism):
    """Dense pairs: those whose dependence is larger than the noise of measuring them, and rows that fit them
    all.

    Asks: `measure` of every modelled column; one `score` of all pairs, their distances from the product of
    their noisy
        columns; then `measure` of each pair, or of three columns together, that is chosen from the noisy
            scores. Cliques
        and the noise of their tables depend on noisy answers (adaptive).
    Privacy: a cap fixed beforehand: epsilon (Laplace) for delta 0, else the rho that epsilon and delta buy
    (Gaussian).
        Columns and scores have fixed shares of it; the tables get equal parts of the rest. References are
            functions of
        paid answers alone. Proof: docs/proofs/privsyn.md.
    Public assumptions: the domain, its sizes and code order, the unit, the relation; the number of records
    only
        where it is a public invariant.
    """

    id: ClassVar[str] = "privsyn"
    counts_groups: ClassVar[bool] = True
    has_network: ClassVar[bool] = True
    title: ClassVar[str] = "Dense pairs"
    summary: ClassVar[str] = (
        "Measures every column, scores all pairs at once, measures those whose dependence exceeds the "
        "noise, and changes records until they agree with all of them. Keeps many weak relations besides "
        "the strong ones."
    )
    paper: ClassVar[str] = "Zhang et al. 2021 (PrivSyn, USENIX Security)"
    keeps: ClassVar[tuple[str, ...]] = (
        "histograms of single columns",
        "relations of all pairs that stand out of the noise",
        "number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "columns_share": pairs.COLUMNS_SHARE,
            "scores_share": budget_allocation.parameter(
                "scores of pairs",
                "0: one tenth. The rest is spent on the tables of the pairs chosen.",
            ),
            "joined_cells": {
                "type": "integer",
                "minimum": 0,
                "maximum": 1_000_000,
                "default": 0,
                "title": "Most cells of three columns together",
                "description": "Three pairs of the same columns are measured as one table up to this size. "
                "0: 5,000.",
            },
            "memory_mb": pairs.MEMORY,
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"

    columns_share: float = 0
    scores_share: float = 0
    joined_cells: int = 0
    memory_mb: int = 0

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        plan = PrivSynPlan(
            config=self, domain=domain, spec=spec, cap=cap, parts=self._parts(cap, domain)
        )
        pairs.require_memory(plan.memory, megabytes=self.memory_mb, domain=domain)
        plan.require_noise()
        return plan

    def _parts(self, cap: Budget, domain: Domain) -> PrivSynBudget:
        if not pairs.of(domain):
            return PrivSynBudget(columns=cap.amount, scores=Fraction(0), tables=Fraction(0))
        of_columns = parse_amount(
            self.columns_share, name="columns_share"
        ) or pairs.share_of_columns(cap, domain)
        of_scores = parse_amount(self.scores_share, name="scores_share") or AUTO_SCORES
        remaining = 1 - of_columns - of_scores
        if remaining < Fraction(1, 100):
            raise SpecError(
                "columns_share and scores_share leave nothing for pairs",
                repair="give shares that add up to 0.99 at most",
            )
        return PrivSynBudget(
            columns=cap.amount * of_columns,
            scores=cap.amount * of_scores,
            tables=cap.amount * remaining,
        )


@dataclass(frozen=True, kw_only=True)
class PrivSynBudget:
    """Of the cap: for all columns, for all scores, and for all tables of pairs."""

    columns: Fraction
    scores: Fraction
    tables: Fraction


@dataclass(frozen=True, kw_only=True)
class PrivSynPlan(Plan):
    """`privsyn` with its budget cut up; into how many tables the last part goes is settled by the scores."""

    config: PrivSyn
    parts: PrivSynBudget

    @property
    def memory(self) -> int:
        """Bytes at most: of every pair a reference, two expectations, and what its records are to have."""
        return 32 * pairs.cells(self.domain)

    def require_noise(self) -> None:
        """Errors: SpecError for noise that cannot be drawn; once the run has been paid for it is too late to
        say so."""
        self._column_noises()
        if number := len(pairs.of(self.domain)):
            self._score_noise()
            self._table_noise(number)
            self._table_noise(1)

    def ask(self, session: Session) -> None:
        columns = pairs.measure_columns(session, self._column_noises())
        if not pairs.of(self.domain):
            return
        known = pairs.denoise(self.domain, columns)
        oneways, total = known.oneways, known.total
        # References come from paid answers alone, so they add nothing to the sensitivity.
        expectations = {
            pair: Expectation(factors.product([oneways[name] for name in pair], total=total))
            for pair in pairs.of(self.domain)
        }
        offered = [
            Candidate(clique=pair, reference=expectation.reference)
            for pair, expectation in expectations.items()
        ]
        scores = session.score(offered, noise=self._score_noise())
        self._measure(session, self._chosen(scores, expectations, oneways, total))

    def _measure(self, session: Session, chosen: pair_selection.Chosen) -> None:
        """The cliques chosen; if there are none, the columns once more, for what tables would have cost."""
        if not chosen.parts:
            again = self.loss.of(self.parts.tables)
            pairs.measure_columns(
                session, pairs.column_noises(self.domain, again, self.sensitivity)
            )
        for clique, parts in chosen.cliques.items():
            session.measure(clique, noise=self._table_noise(chosen.parts, of=parts))

    def _chosen(
        self,
        scores: Scores,
        expectations: dict[Clique, Expectation],
        oneways: dict[str, factors.Floats],
        total: int,
    ) -> pair_selection.Chosen:
        score_of = dict(zip(expectations, scores.values.astype(float).tolist(), strict=True))
        distances = pair_selection.dependence(
            score_of, expectations, spread=scores.noise.variance**0.5
        )
        taken = pair_selection.select_pairs(distances, expectations, deviation=self._deviation)
        return pair_selection.join_triples(
            taken,
            oneways,
            expectations,
            total=total,
            most_cells=self.config.joined_cells or AUTO_CELLS,
            deviation=self._deviation,
        )

    def fit_replay(self, given: Replay) -> Model:
        columns = pairs.read_columns(given, self.domain)
        tables = given.rest().of(Measurement)
        cliques, names = [table.clique for table in tables], set(self.domain.names)
        groups = len(set(cliques)) == len(cliques) and all(
            2 <= len(group) <= 3 and set(group) <= names for group in cliques
        )
        given.require(groups or cliques == [column.clique for column in columns])
        return final_model(self.mechanism, self.domain, (*columns, *tables))

    def _column_noises(self) -> dict[str, Noise]:
        return pairs.column_noises(
            self.domain, self.loss.of(self.parts.columns), self.sensitivity
        )

    def _score_noise(self) -> Noise:
        together = scores_sensitivity(self.sensitivity, number=len(pairs.of(self.domain)))
        return budget_allocation.noise(self.loss.of(self.parts.scores), together)

    def _table_noise(self, parts: int, *, of: int = 1) -> Noise:
        """Of a table that gets so many of the equal parts."""
        return budget_allocation.noise(
            self.loss.of(self.parts.tables * of / parts), self.sensitivity
        )

    def _deviation(self, parts: int) -> float:
        return self._table_noise(parts).mean_deviation

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """All pairs are scored; two for each column are taken to be measured, of the usual size."""
        sizes, records = self.domain.sizes, self._guess(rows)
        shapes = sorted(((sizes[a], sizes[b]) for a, b in pairs.of(self.domain)), key=math.prod)
        targets = shapes[len(shapes) // 2 :][: 2 * len(sizes)]
        asking = resources.of_pairs(records, shapes)
        return (
            super().needs(rows)
            + asking
            + resources.of_finish(records, targets, attributes=len(sizes))
        )

    def expected_error_on(self, table: StandIn) -> ErrorForecast:
        """As if the best part of all pairs were measured, all alike."""
        number = len(pairs.of(self.domain))
        counts = [-(-number // k) for k in FEWER] if number else []
        return error_forecast.pairs(
            self._column_noises(),
            [(count / number, self._table_noise(count)) for count in counts],
            table,
            few_tables=True,
        )
