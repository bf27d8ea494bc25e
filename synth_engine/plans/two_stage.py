"""A mechanism for a table of which something has to be asked first: how many rows each person
has, where persons are resampled, and undeclared columns, which are learned. Then the mechanism
runs on the learned domain, with what is left of one budget.

What the mechanism asks then depends on noisy answers, so every such run is adaptive and stands under a cap
that is fixed beforehand: epsilon where delta is 0, else the rho, or the mu², that epsilon and delta buy.
Group sizes change nothing of what is asked later; they stand under the same cap, which claims less. Proofs:
docs/proofs/discover.md, docs/proofs/learning.md, docs/proofs/group-sizes.md, docs/proofs/accounting.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from synth_engine.domain import MAX_CODES, Attribute, Domain, WeakBasket
from synth_engine.errors import DomainError, SpecError
from synth_engine.inference.error_forecast import ErrorForecast, LearningForecast
from synth_engine.measurement import Noise, Session
from synth_engine.measurement.replay import Replay
from synth_engine.plans import domain_learning, group_size_stage
from synth_engine.plans.domain_learning import AnyAnswer, AnyQuestion
from synth_engine.plans.multi_stage import MultiStagePlan
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.privacy import conversion
from synth_engine.privacy.events import Event
from synth_engine.privacy.filter import price
from synth_engine.privacy.unit import (
    Sensitivity,
    group_sizes_sensitivity,
    histogram_sensitivity,
)
from synth_engine.spec import Spec


def needed(config: Mechanism, domain: Domain) -> bool:
    """Returns whether anything has to be asked before a mechanism proper."""
    return domain.grouped is not None or _learns(config, domain)


def _learns(config: Mechanism, domain: Domain) -> bool:
    """No mechanism chooses items by itself: where there are any to be chosen, all that is open is learned
    first."""
    return any(
        isinstance(attribute, WeakBasket) or not config.learns(attribute)
        for attribute in domain.undeclared
    )


def plan(
    config: Mechanism, spec: Spec, *, domain: Domain, within: Budget | None = None
) -> Plan:
    """Calibrate a mechanism whose parameters are resolved for a domain that needs other questions first.
    within: what is left of a budget after an earlier stage. Errors: SpecError."""
    if (
        within is None
        and not _learns(config, domain)
        and (static := group_size_stage.plan(config, spec, domain=domain)) is not None
    ):
        return static
    first = _first_stage(config, domain, spec, within=within)
    staged = StagedPlan(
        config=config,
        domain=domain,
        spec=spec,
        cap=first.cap,
        sizes=first.sizes,
        questions=first.questions,
        left=first.left,
        least=first.least,
    )
    # Calibrated here, so that what is wrong with the parameters is refused before anything is paid for.
    _ = staged.outlook
    if first.least != first.left:
        config.calibrate(first.guess, spec, within=first.least)
    return staged


@dataclass(frozen=True, kw_only=True)
class ForecastStage:
    """What a forecast assumes of a mechanism: the questions before it, the domain as it may become, and the
    request with what is left for the mechanism."""

    questions: tuple[AnyQuestion, ...]
    domain: Domain
    spec: Spec


def forecast_stage(config: Mechanism, domain: Domain, spec: Spec) -> ForecastStage:
    """Returns what a forecast assumes where nothing is known but public facts."""
    if not needed(config, domain):
        return ForecastStage(questions=(), domain=domain, spec=spec)
    if not _learns(config, domain) and config.kind == "static":
        left = replace(spec, epsilon=spec.epsilon * (1 - group_size_stage.SHARE))
        return ForecastStage(questions=(), domain=domain, spec=left)
    first = _first_stage(config, domain, spec)
    left = replace(spec, epsilon=conversion.epsilon_of(first.left, spec.delta))
    return ForecastStage(questions=first.questions, domain=first.guess, spec=left)


@dataclass(frozen=True, kw_only=True)
class LearningStage:
    """The stage before a mechanism proper, and what it leaves of the cap: `left` if every column is found for
    its part, `least` if none is. guess: the domain as it may become."""

    cap: Budget
    sizes: Noise | None
    questions: tuple[AnyQuestion, ...]
    left: Budget
    least: Budget
    guess: Domain


def _first_stage(
    config: Mechanism, domain: Domain, spec: Spec, *, within: Budget | None = None
) -> LearningStage:
    cap = within or total_budget(config, spec)
    # Prices are exact fractions here and in the filter, so stages that fit the cap here are
    # admitted there.
    sizes = None if domain.grouped is None else group_size_stage.noise(cap, domain)
    left = (
        cap
        if sizes is None
        else _subtract_events(cap, [sizes.event(group_sizes_sensitivity(domain.relation))])
    )
    if not _learns(config, domain):
        return LearningStage(
            cap=cap, sizes=sizes, questions=(), left=left, least=left, guess=domain
        )
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    questions = questions_for(domain, left, sensitivity)
    left = budget_after(left, questions, sensitivity)
    return LearningStage(
        cap=cap,
        sizes=sizes,
        questions=questions,
        left=left,
        least=left.of(left.amount - sum((q.further_cost for q in questions), Fraction(0))),
        guess=domain_learning.expected_domain(domain),
    )


def total_budget(config: Mechanism, spec: Spec) -> Budget:
    """The budget that the target is worth, in the sum in which the mechanism adds up."""
    return conversion.budget_for(spec.epsilon, spec.delta, adds_up=config.adds_up)


def questions_for(
    domain: Domain, cap: Budget, sensitivity: Sensitivity
) -> tuple[AnyQuestion, ...]:
    """Asks for every undeclared column with its part of the share for learning."""
    parts = domain_learning.shares(domain)
    most = domain_learning.most_of_a_scale(domain)
    return tuple(
        domain_learning.question(
            attribute, cap.of(cap.amount * parts[attribute.name]), sensitivity, most=most
        )
        for attribute in domain.undeclared
    )


def budget_after(
    cap: Budget, questions: tuple[AnyQuestion, ...], sensitivity: Sensitivity
) -> Budget:
    """Returns what the questions leave of a cap."""
    costs = (question.cost(cap, sensitivity) for question in questions)
    return cap.of(cap.amount - sum(costs, Fraction(0)))


def _subtract_events(cap: Budget, events: Sequence[Event]) -> Budget:
    return cap.of(cap.amount - sum((price(event, cap) for event in events), Fraction(0)))


@dataclass(frozen=True, kw_only=True)
class StagedPlan(MultiStagePlan):
    """A mechanism, `config`, after the numbers of rows a person (with the noise `sizes`, if they are asked
    for) and the questions by which undeclared columns are learned. left: the budget of the mechanism, if
    every column is found for its part. What a column cost more is taken off it after the answers, down to
    `least` at the least."""

    questions: tuple[AnyQuestion, ...]
    left: Budget
    least: Budget

    @property
    def kind(self) -> Literal["static", "adaptive"]:
        return "adaptive"

    @cached_property
    def outlook(self) -> Plan:
        """The mechanism with what is left, for the domain as it may become."""
        return self.config.calibrate(self._expected_domain, self.spec, within=self.left)

    @property
    def _expected_domain(self) -> Domain:
        return domain_learning.expected_domain(self.domain) if self.questions else self.domain

    def ask(self, session: Session) -> None:
        # Every call stands under one cap, so the order of the stages changes nothing of the guarantee.
        if self.sizes is not None:
            session.group_sizes(noise=self.sizes)
        first = [question.ask(session) for question in self.questions]
        mechanism = self._mechanism_after(first)
        if first:
            session.resolve(mechanism.domain)
        mechanism.ask(session)

    def second_stage(self, given: Replay) -> Plan:
        return self._mechanism_after([question.take(given) for question in self.questions])

    def columns_not_found(self, given: Replay) -> tuple[str, ...]:
        self._group_sizes(given)
        answers = [question.take(given) for question in self.questions]
        return domain_learning.not_found(self.questions, answers)

    def _mechanism_after(self, first: Sequence[AnyAnswer]) -> Plan:
        """The mechanism's plan for what was learned. The run has been paid for, so that it is too late to
        refuse what needs too much: of the values found, half as many are used, the most frequent, until the
        mechanism takes them."""
        left = self.left.of(
            self.left.amount - domain_learning.paid_further(self.questions, first)
        )
        most = MAX_CODES
        while True:
            learned = domain_learning.learn_attributes(self.questions, first, most=most)
            try:
                return self._mechanism_for(learned, within=left)
            except SpecError:
                if most <= domain_learning.EXPECTED_CATEGORIES:
                    raise
            most = max(most // 2, domain_learning.EXPECTED_CATEGORIES)

    def _mechanism_for(self, learned: Mapping[str, Attribute], *, within: Budget) -> Plan:
        """Errors: SpecError."""
        if not learned:
            return self.config.calibrate(self.domain, self.spec, within=within)
        domain = domain_learning.resolved_domain(self.domain, learned)
        try:
            return self.config.calibrate(domain, self.spec, within=within)
        except (SpecError, DomainError):
            # Parameters may name a column that was not found: then all of these columns are there, each with
            # one code.
            counted = domain_learning.resolved_domain(self.domain, learned, counted=True)
            if counted == domain:
                raise
            return self.config.calibrate(counted, self.spec, within=within)

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """The error of the mechanism with what is left, and what is left open for it."""
        error = self.outlook.expected_error(rows=rows)
        if not self.questions:
            return error
        learning = LearningForecast(
            share=float(domain_learning.share(self.domain)),
            columns=domain_learning.describe(self.questions),
        )
        return replace(error, learning=learning)
