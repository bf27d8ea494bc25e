"""A mechanism for a table of which not everything is known: first what is open is learned, then the mechanism runs under
what came out, with what is left of one budget.

What the mechanism asks then depends on noisy answers, so every such run is adaptive and stands under a cap that is fixed
beforehand: epsilon where delta is 0, else the rho that epsilon and delta buy. Proofs: docs/proofs/discover.md,
docs/proofs/learning.md, docs/proofs/accounting.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.measurement import Answers, Discovery, Session
from synth_engine.mechanisms import learning
from synth_engine.mechanisms.learning import Answer, Question
from synth_engine.mechanisms.model import Model
from synth_engine.mechanisms.plan import Budget, Mechanism, Plan
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import Pure, ZeroConcentrated
from synth_engine.privacy.unit import Sensitivity, histogram_sensitivity
from synth_engine.spec import Spec


def plan(config: Mechanism, spec: Spec, *, domain: Domain) -> StagedPlan:
    """Calibrate a mechanism whose parameters are settled for a domain that has open attributes. Errors: SpecError."""
    cap = whole(spec)
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    questions = ask_for(domain, cap, sensitivity)
    left = minus(cap, questions, sensitivity)
    config.calibrate(learning.foreseen(domain), spec, within=left)  # what is wrong with the parameters is said now
    return StagedPlan(config=config, domain=domain, spec=spec, cap=cap, questions=questions, left=left)


def outlook(domain: Domain, spec: Spec) -> tuple[Domain, Spec]:
    """What a forecast for an open domain goes by: a domain as it may become, and what is left for the mechanism."""
    cap = whole(spec)
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    left = minus(cap, ask_for(domain, cap, sensitivity), sensitivity)
    epsilon = left.epsilon if isinstance(left, Pure) else conversion.epsilon_for(left.rho, spec.delta)
    return learning.foreseen(domain), replace(spec, epsilon=epsilon)


def whole(spec: Spec) -> Budget:
    return (
        Pure(epsilon=spec.epsilon)
        if spec.delta == 0
        else ZeroConcentrated(rho=conversion.rho_for(spec.epsilon, spec.delta))
    )


def ask_for(domain: Domain, cap: Budget, sensitivity: Sensitivity) -> tuple[Question, ...]:
    """Every open column with an equal part of the share for learning."""
    part = learning.share(domain) / len(domain.open)
    each = Pure(epsilon=cap.epsilon * part) if isinstance(cap, Pure) else ZeroConcentrated(rho=cap.rho * part)
    return tuple(learning.question(attribute, each, sensitivity) for attribute in domain.open)


def minus(cap: Budget, questions: tuple[Question, ...], sensitivity: Sensitivity) -> Budget:
    """What the questions leave of a cap."""
    events = [asked.noise.event(sensitivity) for asked in questions]
    if isinstance(cap, Pure):
        prices = [event.pure_epsilon() for event in events]
        if None in prices:
            raise SpecError("noise without a pure guarantee in a pure budget")
        return Pure(epsilon=cap.epsilon - sum(price for price in prices if price is not None))
    return ZeroConcentrated(rho=cap.rho - sum(event.rho() for event in events))


@dataclass(frozen=True, kw_only=True)
class StagedPlan(Plan):
    """A mechanism, `config`, after the questions by which open columns are learned."""

    questions: tuple[Question, ...]
    left: Budget

    @property
    def kind(self) -> Literal["static", "adaptive"]:
        return "adaptive"

    def run(self, session: Session) -> Answers:
        first = [asked.ask(session) for asked in self.questions]
        inner = self._inner(first)
        session.settle(inner.domain)
        found = inner.run(session)
        return Answers(
            measurements=(*(a for a in first if not isinstance(a, Discovery)), *found.measurements),
            selections=found.selections,
            discoveries=tuple(a for a in first if isinstance(a, Discovery)),
            calls=session.calls,
        )

    def fit(self, answers: Answers) -> Model:
        first, rest = self._apart(answers)
        return self._inner(first).fit(rest)

    def _apart(self, answers: Answers) -> tuple[list[Answer], Answers]:
        """The answers to the questions in their order, and the rest."""
        discoveries, measurements = iter(answers.discoveries), iter(answers.measurements)
        first: list[Answer] = []
        for asked in self.questions:
            answer: Answer | None = next(measurements, None) if asked.threshold is None else next(discoveries, None)
            first += [] if answer is None else [answer]  # what is lacking is noticed when it is learned from
        rest = replace(answers, measurements=tuple(measurements), discoveries=tuple(discoveries))
        return first, rest

    def _inner(self, first: list[Answer]) -> Plan:
        domain = self.domain.settled(learning.learned(self.questions, first))
        return self.config.calibrate(domain, self.spec, within=self.left)

    def expected_error(self, *, rows: int | None = None) -> dict[str, Any]:
        """Of the mechanism with what is left, for a domain as it may become; and what was known would have saved."""
        guess = learning.foreseen(self.domain)
        found = self.config.calibrate(guess, self.spec, within=self.left).expected_error(rows=rows)
        if_known = self.config.calibrate(guess, self.spec, within=self.cap).expected_error(rows=rows)
        part = learning.share(self.domain)
        return found | {
            "learning": {
                "share": float(part),
                "columns": learning.describe(self.questions),
                "if_declared": {"mean": if_known["mean"], "mean_pairs": if_known["mean_pairs"]},
            }
        }
