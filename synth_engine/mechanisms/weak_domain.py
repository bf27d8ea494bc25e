"""Histograms of columns whose values are not known beforehand: CatHist, made exact, and columns drawn
independently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from synth_engine.domain import (
    Attribute,
    Domain,
    LeftOut,
    NotFound,
    Range,
    Scale,
    Undeclared,
    Weak,
)
from synth_engine.indexing import resolving
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast, LearningForecast
from synth_engine.measurement import (
    Call,
    Discovery,
    Measurement,
    Noise,
    Query,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.plans import budget_allocation, domain_learning
from synth_engine.plans.domain_learning import Answer, LearningQuestion
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Family, Mechanism, Plan
from synth_engine.privacy import static_calibration
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec

_DIGITS = 10**9
_WEAK_CODES = 30
"""A weak column gets the budget of a column with so many codes: its threshold is many times its noise."""


@dataclass(frozen=True, kw_only=True)
class WeakDomain(Mechanism):
    """Thresholded noisy counts over a public set of values of any size, for every weak column; a noisy
    histogram for every other one.

    Asks: one `discover` for each weak attribute, one `measure` for each other, and, where no column tells the
    number of
        records, one for that; all fixed beforehand (static).
    Privacy: discrete Laplace throughout, with shares of epsilon; for delta > 0 all noise shrinks to the least
    for which
        the composition of privacy-loss distributions meets the target. Proofs: docs/proofs/discover.md,
        docs/proofs/independent.md, docs/proofs/accounting.md.
    Public assumptions: the sets and their order, rho, the rest of the domain, the unit, the relation; the
    number of
        records only where it is a public invariant.
    """

    id: ClassVar[str] = "weak-domain"
    family: ClassVar[Family] = "special"
    title: ClassVar[str] = "Columns with unknown values"
    summary: ClassVar[str] = (
        "Finds the frequent values of columns out of a public set that is too large to list, such as all "
        "pairs of English words, with their noisy counts, and draws the columns independently."
    )
    paper: ClassVar[str] = "Rodriguez and Howe 2018 (CatHist)"
    keeps: ClassVar[tuple[str, ...]] = (
        "frequent values of single columns",
        "number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "static"
    takes_open: ClassVar[bool] = True

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        return any(isinstance(attribute, Weak) for attribute in domain.undeclared)

    @classmethod
    def learns(cls, attribute: Undeclared) -> bool:
        # The tree of a column on a lattice is asked for in rounds, which a static plan cannot do.
        return not isinstance(attribute, Scale)

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        names = [*domain.names, *([None] if _needs_total(domain) else [])]
        weights = [_weight(None if name is None else domain.attribute(name)) for name in names]
        if within is not None:
            noises = budget_allocation.noises(
                within, tuple(weights), domain=domain, laplace=True
            )
            steps = tuple(
                _step(domain, name, noise) for name, noise in zip(names, noises, strict=True)
            )
            return WeakDomainPlan(
                config=self, domain=domain, spec=spec, cap=within, steps=steps
            )
        calibration = static_calibration.noise(
            "discrete-laplace",
            tuple(weights),
            epsilon=spec.epsilon,
            delta=spec.delta,
            unit=domain.unit,
            relation=domain.relation,
        )
        noises = tuple(
            Noise(law="discrete-laplace", scale=scale) for scale in calibration.scales
        )
        steps = tuple(
            _step(domain, name, noise) for name, noise in zip(names, noises, strict=True)
        )
        sensitivity = histogram_sensitivity(domain.unit, domain.relation)
        calls = tuple(step.call(sensitivity) for step in steps)
        return WeakDomainPlan(
            config=self,
            domain=domain,
            spec=spec,
            calls=calls,
            steps=steps,
            found_by=calibration.certificate,
        )


def _needs_total(domain: Domain) -> bool:
    """A discovery leaves out what is rare, so it does not tell how many records there are."""
    return domain.rows is None and all(
        isinstance(attribute, Weak) for attribute in domain.modelled
    )


def _weight(attribute: Attribute | None) -> Fraction:
    """Of the share of epsilon: as `independent` has it; the number of records needs little."""
    codes = (
        1
        if attribute is None
        else _WEAK_CODES
        if isinstance(attribute, Weak)
        else attribute.size
    )
    return Fraction(round(codes**0.5 * _DIGITS), _DIGITS)


@dataclass(frozen=True, kw_only=True)
class CountQuestion:
    """A table of an attribute that is known, or the number of records."""

    clique: tuple[str, ...]
    cells: int
    noise: Noise

    def call(self, sensitivity: Any) -> Call:
        query = Query(verb="measure", clique=self.clique, cells=self.cells)
        return Call(query=query, event=self.noise.event(sensitivity))

    def ask(self, session: Session) -> Answer:
        return session.measure(self.clique, noise=self.noise)

    def take(self, given: Replay) -> Answer:
        """The stored answer. Errors: InputError."""
        return given.measurement(self.clique)


def _step(domain: Domain, name: str | None, noise: Noise) -> LearningQuestion | CountQuestion:
    if name is None:
        return CountQuestion(clique=(), cells=1, noise=noise)
    attribute = domain.attribute(name)
    if isinstance(attribute, Undeclared):
        return LearningQuestion(
            attribute=attribute,
            noise=noise,
            threshold=domain_learning.threshold(attribute, noise),
        )
    return CountQuestion(clique=(name,), cells=attribute.size, noise=noise)


def _by_column(answers: Sequence[Answer]) -> dict[str, Answer]:
    """The answer about each column."""
    counted = [answer for answer in answers if isinstance(answer, Measurement)]
    discovered = {a.attribute: a for a in answers if isinstance(a, Discovery)}
    return {**discovered, **{m.clique[0]: m for m in counted if m.clique}}


@dataclass(frozen=True, kw_only=True)
class WeakDomainPlan(Plan):
    """`weak-domain` with its noise set."""

    steps: tuple[LearningQuestion | CountQuestion, ...]

    @property
    def questions(self) -> list[LearningQuestion]:
        """Those by which open columns are learned."""
        return [step for step in self.steps if isinstance(step, LearningQuestion)]

    def ask(self, session: Session) -> None:
        for step in self.steps:
            step.ask(session)

    def columns_not_found(self, given: Replay) -> tuple[str, ...]:
        answers = [step.take(given) for step in self.steps]
        questions = [
            (step, answer)
            for step, answer in zip(self.steps, answers, strict=True)
            if isinstance(step, LearningQuestion)
        ]
        return domain_learning.not_found(
            [step for step, _ in questions], [answer for _, answer in questions]
        )

    def constraints_left_out(self, given: Replay) -> tuple[LeftOut, ...]:
        answers = [step.take(given) for step in self.steps]
        return self._resolved_domain(_by_column(answers)).enforcement.left_out

    def _resolved_domain(self, answer_of: Mapping[str, Answer]) -> Domain:
        learned = domain_learning.learn_attributes(
            self.questions, [answer_of[question.attribute.name] for question in self.questions]
        )
        return domain_learning.resolved_domain(self.domain, learned)

    def fit_replay(self, given: Replay) -> Model:
        answers = [step.take(given) for step in self.steps]
        measurements = [answer for answer in answers if isinstance(answer, Measurement)]
        answer_of = _by_column(answers)
        domain = self._resolved_domain(answer_of)
        rows = (
            self.domain.rows
            if self.domain.rows is not None
            else oneway.estimate_rows(measurements)
        )
        tables = tuple(
            Table(
                clique=(name,),
                weights=whole_weights(
                    self._counts(domain.attribute(name), answer_of[name], rows=rows)
                ),
            )
            for name in domain.names
        )
        return Model(mechanism=self.mechanism, domain=domain, rows=rows, tables=tables)

    def _counts(
        self, attribute: Attribute, answer: Answer, *, rows: int
    ) -> npt.NDArray[np.float64]:
        declared = self.domain.attribute(attribute.name)
        if isinstance(attribute, NotFound):
            return np.array([float(rows)])
        if isinstance(answer, Discovery):
            return _frequencies(declared, attribute, answer, rows=rows)
        counts = oneway.denoise(
            answer.values, noise=answer.noise, total=rows, along=declared.value_count
        )
        if not isinstance(declared, Range):
            return counts
        table = resolving.resolved_cells(declared, attribute)
        return np.bincount(table, weights=counts, minlength=attribute.size).astype(np.float64)

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        stand_in = domain_learning.expected_domain(self.domain)
        noises = {
            step.clique[0]: step.noise
            for step in self.steps
            if isinstance(step, CountQuestion) and step.clique
        }
        noises |= {question.attribute.name: question.noise for question in self.questions}
        table = error_forecast.typical(stand_in.sizes, rows=self._guess(rows))
        forecast = error_forecast.independent(noises, table)
        learning = LearningForecast(
            share=None, columns=domain_learning.describe(self.questions)
        )
        return replace(forecast, learning=learning)


def _frequencies(
    declared: Attribute, resolved: Attribute, answer: Discovery, *, rows: int
) -> npt.NDArray[np.float64]:
    """Noisy counts of what was found; the records that are left have another value, or one too rare to be
    found."""
    if not isinstance(declared, Weak):
        raise TypeError("only weak attributes are discovered")
    ranks = [rank for rank, _ in answer.ranked_counts]
    codes = resolving.resolved_codes(declared, resolved, ranks)
    counts = np.bincount(
        codes, weights=[count for _, count in answer.ranked_counts], minlength=resolved.size
    ).astype(np.float64)
    # Rare values are published as "other" if the column has such a code, else as missing.
    elsewhere = (
        resolved.other_code if resolved.other_code is not None else resolved.missing_code
    )
    if elsewhere is not None:
        counts[elsewhere] = max(0.0, rows - (counts.sum() - counts[elsewhere]))
    return counts
