"""Select, measure, estimate, round after round: each round measures the table that is worst known, with a
budget that grows once nothing more is seen above its noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from synth_engine.domain import Domain
from synth_engine.inference import error_forecast
from synth_engine.inference.error_forecast import ErrorForecast, StandIn
from synth_engine.measurement import (
    MAX_TABLE_CELLS,
    Clique,
    Measurement,
    Noise,
    Selection,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.pairwise import pairs
from synth_engine.mechanisms.pairwise.rounds import Estimates, final_model
from synth_engine.models.model import Model
from synth_engine.plans import budget_allocation, resources, workload
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import parse_amount
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec

CHOICES = Fraction(1, 20)
ROUNDS_A_COLUMN = 4
MAX_ROUNDS = 100
GROWTH = 2
FEWER = (1, 2, 4, 8)
"""A forecast tries what part of all tables is best measured."""


@dataclass(frozen=True, kw_only=True)
class Aim(workload.Weighted):
    """An adaptive and iterative mechanism: what is asked next is what the answers so far explain worst.

    Asks: `measure` of every modelled column; then rounds of one `select`, by the distance of a table from
    what the
        answers so far let one expect of it, less the noise to expect, and one `measure` of the table
            selected. Cliques,
        noise and the number of rounds depend on noisy answers (adaptive).
    Privacy: a cap fixed beforehand: epsilon (Laplace, permute-and-flip) for delta 0, else the rho that
    epsilon and
        delta buy (Gaussian, Gumbel). Every round takes its part of what is exactly left, the last one all of
            it.
        References are functions of paid answers alone. Proof: docs/proofs/aim.md.
    Public assumptions: the domain, its sizes and code order, the unit, the relation, the workload; the number
    of
        records only where it is a public invariant.
    """

    id: ClassVar[str] = "aim"
    counts_groups: ClassVar[bool] = True
    has_network: ClassVar[bool] = True
    title: ClassVar[str] = "Adaptive rounds"
    summary: ClassVar[str] = (
        "Measures every column, then, round after round, the table that is explained worst so far, with a "
        "growing part of the budget. Keeps what the workload asks for: a column to predict, listed tables, "
        "or all pairs."
    )
    paper: ClassVar[str] = (
        "McKenna et al. 2022 (AIM, arXiv 2201.12677); Mullins et al. 2024 (ReM, arXiv 2410.01091)"
    )
    keeps: ClassVar[tuple[str, ...]] = (
        "histograms of single columns",
        "tables of the workload, the worst explained ones first",
        "number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            **workload.PROPERTIES,
            "columns_share": pairs.COLUMNS_SHARE,
            "memory_mb": pairs.MEMORY,
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"

    columns_share: float = 0
    memory_mb: int = 0

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        plan = AimPlan(config=self, domain=domain, spec=spec, cap=cap)
        pairs.require_memory(plan.memory, megabytes=self.memory_mb, domain=domain)
        plan.require_noise()
        return plan


@dataclass(frozen=True, kw_only=True)
class AimPlan(Plan):
    """`aim` with its cap set; what a round costs is settled as it goes."""

    config: Aim

    @property
    def memory(self) -> int:
        """Bytes at most: of every candidate a reference and an estimate, each as counts and as
        expectation."""
        return 32 * sum(self.domain.cells(clique) for clique in self.candidates)

    @cached_property
    def candidates(self) -> dict[Clique, float]:
        """The tables of the workload and the pairs within them, with their weights, the largest being 1."""
        weights = self.config.workload.clique_weights(self.domain)
        for clique, weight in list(weights.items()):
            for pair in itertools.combinations(clique, 2):
                weights[pair] = max(weight, weights.get(pair, 0.0))
        cells = self.domain.cells
        small = {c: w for c, w in weights.items() if w > 0 and cells(c) <= MAX_TABLE_CELLS}
        largest = max(small.values(), default=1.0)
        return {clique: weight / largest for clique, weight in small.items()}

    @property
    def _columns(self) -> Fraction:
        if not self.candidates:
            return self.loss.amount
        share = parse_amount(
            self.config.columns_share, name="columns_share"
        ) or pairs.share_of_columns(self.loss, self.domain)
        return self.loss.amount * share

    @property
    def _rounds_planned(self) -> int:
        """How many rounds there would be if none grew; public."""
        return max(
            1, min(len(self.candidates), ROUNDS_A_COLUMN * len(self.domain.names), MAX_ROUNDS)
        )

    @property
    def _first_part(self) -> Fraction:
        """What the first round may spend."""
        return (self.loss.amount - self._columns) / self._rounds_planned

    def require_noise(self) -> None:
        """Errors: SpecError for noise that cannot be drawn; once the run has been paid for it is too late to
        say so."""
        self._column_noises()
        if self.candidates:
            self._noise(self._first_part)
            self._scale(self._first_part)
            self._noise(self.loss.amount)

    def ask(self, session: Session) -> None:
        self._rounds(session, pairs.measure_columns(session, self._column_noises()))

    def _rounds(self, session: Session, columns: Sequence[Measurement]) -> None:
        """A round spends at most its part, exactly reckoned, and what it pays is subtracted: nothing can be
        overspent. Once less than two parts are left, the round takes all of it and is the last."""
        weights, estimates = self.candidates, Estimates(self.domain, columns)
        tables: list[Measurement] = []
        remaining = self.loss.amount - self._spent(columns)
        part = self._first_part
        while weights:
            # A rest too small for another round is spent in this one, so that nothing is
            # left over.
            last = remaining < 2 * part
            part = remaining if last else part
            noise = self._noise(part)
            offered = estimates.candidates(self._open(weights, tables), noise=noise)
            index = session.select(offered, scale=self._scale(part))
            answer = session.measure(offered[index].clique, noise=noise)
            tables.append(answer)
            if last:
                break
            remaining -= part
            # AIM's annealing: a round that taught nothing beyond noise makes the next one
            # more precise.
            part *= 1 if estimates.learn(answer, penalty=offered[index].penalty) else GROWTH

    def _open(
        self, weights: Mapping[Clique, float], tables: Sequence[Measurement]
    ) -> dict[Clique, float]:
        """What can be asked for without the model growing too large; what was measured can be once more."""
        measured = {m.clique for m in tables}
        room = pairs.MAX_TOTAL_CELLS - sum(self.domain.cells(clique) for clique in measured)
        return {
            c: weight
            for c, weight in weights.items()
            if c in measured or self.domain.cells(c) <= room
        }

    def fit_replay(self, given: Replay) -> Model:
        columns = pairs.read_columns(given, self.domain)
        tables, candidates = [], self.candidates
        while given.comes(Selection):
            tables.append(given.measurement(given.selected()))
            given.require(tables[-1].clique in candidates)
        return final_model(self.mechanism, self.domain, (*columns, *tables))

    def _spent(self, columns: Sequence[Measurement]) -> Fraction:
        return sum(
            (budget_allocation.price(m.noise, self.loss, self.sensitivity) for m in columns),
            Fraction(0),
        )

    def _column_noises(self) -> dict[str, Noise]:
        return pairs.column_noises(self.domain, self.loss.of(self._columns), self.sensitivity)

    def _scale(self, part: Fraction) -> Fraction:
        return self.loss.of(part * CHOICES).selection_scale(self.sensitivity.linf)

    def _noise(self, part: Fraction) -> Noise:
        return budget_allocation.noise(self.loss.of(part * (1 - CHOICES)), self.sensitivity)

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """As if growing rounds left half of those planned, and each found a table of the usual size."""
        shapes = sorted(
            (self.domain.shape(clique) for clique in self.candidates), key=math.prod
        )
        rounds, records = -(-self._rounds_planned // 2), self._guess(rows)
        asking = resources.of_pairs(records, shapes) + resources.of_rounds(rounds, shapes)
        targets = shapes[len(shapes) // 2 :][:rounds]
        return (
            super().needs(rows)
            + asking
            + resources.of_finish(records, targets, attributes=len(self.domain.names))
        )

    def expected_error_on(self, table: StandIn) -> ErrorForecast:
        """As if the best part of all tables were measured, all alike: what rounds choose last matters
        least."""
        number, remaining = len(self.candidates), self.loss.amount - self._columns
        counts = [-(-number // k) for k in FEWER] if number else []
        return error_forecast.pairs(
            self._column_noises(),
            [(count / number, self._noise(remaining / count)) for count in counts],
            table,
            few_tables=True,
        )
