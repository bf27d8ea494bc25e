"""A description that is bought once: a run that learns undeclared columns and nothing else.

What it asks is what the learning stage before a mechanism asks (`domain_learning`), for its whole budget. The
answers are noisy, so that whoever has paid for them uses them in any number of later descriptions of the same
account, which name the receipt of this run (`domain/purchases.py`). Proof: docs/proofs/purchase.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from synth_engine.domain import MAX_CODES, Attribute, Domain, Undeclared
from synth_engine.domain.purchases import Purchase
from synth_engine.errors import InputError, SpecError
from synth_engine.inference import scale_tree
from synth_engine.measurement import Answers, Session
from synth_engine.measurement.replay import Replay
from synth_engine.models.model import Model
from synth_engine.plans import domain_learning
from synth_engine.plans.domain_learning import AnyAnswer, AnyQuestion
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import ANSWERS_OVERHEAD, BYTES_A_VALUE, Budget, Mechanism, Plan
from synth_engine.plans.scale_learning import IntervalRounds
from synth_engine.privacy import conversion, receipt
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec

MECHANISM = "description"
MAX_COLUMNS = 1_000
MAX_ROUNDS = 40
"""More rounds of interval counts than a column has, for the size of the answers."""


@dataclass(frozen=True, kw_only=True)
class LearnDescription(Mechanism):
    """Undeclared columns, learned for later runs.

    Asks: `discover` of a weak column, `measure` of a range, `items` of a weak basket, `intervals` of a column
    on a lattice in rounds; nothing else.
    Privacy: as of the learning stage, under a cap that is fixed beforehand. Proof: docs/proofs/purchase.md.
    Public assumptions: the domain, the unit, the relation.
    """

    id: ClassVar[str] = MECHANISM
    title: ClassVar[str] = "Learned description"
    summary: ClassVar[str] = (
        "Learns the values of undeclared columns once, for all later releases of the account."
    )
    paper: ClassVar[str] = "Rogers, Roth, Ullman and Vadhan 2016"
    keeps: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "columns": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": MAX_COLUMNS,
                "uniqueItems": True,
                "default": [],
                "title": "Columns",
                "description": "The undeclared columns to learn; none: all of them.",
                "x-columns": "each",
            }
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"
    takes_open: ClassVar[bool] = True

    columns: tuple[str, ...] = ()

    def calibrate(
        self, domain: Domain, spec: Spec, *, within: Budget | None = None
    ) -> DescriptionPlan:
        """Errors: SpecError for a column that is not undeclared, and where there is none."""
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        chosen = self._chosen(domain)
        parts = domain_learning.shares_of(chosen)
        whole = sum(parts.values(), Fraction(0))
        sensitivity = histogram_sensitivity(domain.unit, domain.relation)
        questions = tuple(
            domain_learning.question(
                attribute, cap.of(cap.amount * parts[attribute.name] / whole), sensitivity
            )
            for attribute in chosen
        )
        return DescriptionPlan(
            config=self, domain=domain, spec=spec, cap=cap, questions=questions
        )

    def _chosen(self, domain: Domain) -> tuple[Undeclared, ...]:
        # What was bought once is not bought again: its facts, or others typed by somebody who had seen them,
        # rest on that run.
        resting = {name for purchase in domain.bought for name in purchase.columns}
        undeclared = {
            attribute.name: attribute
            for attribute in domain.undeclared
            if attribute.name not in resting
        }
        if not undeclared:
            raise SpecError(
                "every column is declared, so that nothing is to be learned",
                repair="make a release",
            )
        if others := [name for name in self.columns if name not in undeclared]:
            raise SpecError(
                f"the column {others[0]!r} is not one of those that are to be learned",
                repair=f"choose among {', '.join(undeclared)}",
            )
        return tuple(
            attribute
            for name, attribute in undeclared.items()
            if not self.columns or name in self.columns
        )


def plan(domain: Domain, spec: Spec) -> DescriptionPlan:
    """Validate and calibrate, from public facts alone. Errors: SpecError, DomainError, RelationMismatch."""
    if spec.mechanism != MECHANISM:
        raise SpecError("the request is not for a description", repair=f"name {MECHANISM}")
    config = LearnDescription.from_parameters(spec.parameters)
    validated, complete = config.validate(domain, spec, rule="basic")
    return validated.calibrate(domain, complete)


def of_receipt(domain: Domain, document: receipt.Receipt) -> DescriptionPlan:
    """The plan of a run, from its receipt and the description that it was asked for. Errors: InputError if
    they do not fit."""
    target = document["target"]
    spec = Spec(
        mechanism=document["mechanism"]["id"],
        parameters=document["mechanism"]["parameters"],
        epsilon=Fraction(target["epsilon"]),
        delta=Fraction(target["delta"]),
    )
    planned = plan(domain, spec)
    if planned.digest != document["plan"]["sha256"]:
        raise InputError(
            "the receipt is of another description", repair="give the description of the run"
        )
    return planned


@dataclass(frozen=True, kw_only=True)
class DescriptionPlan(Plan):
    """The questions by which undeclared columns are learned, each with its part of the cap."""

    questions: tuple[AnyQuestion, ...]

    def ask(self, session: Session) -> None:
        for question in self.questions:
            question.ask(session)

    def learned(self, answers: Answers) -> dict[str, Attribute]:
        """What the answers say of each column that was found. Errors: InputError for answers of another
        plan."""
        given = Replay(answers)
        taken = self._taken(given)
        given.finish()
        learned = domain_learning.learn_attributes(self.questions, taken)
        missing = domain_learning.not_found(self.questions, taken)
        return {name: each for name, each in learned.items() if name not in missing}

    def described(self, answers: Answers, *, paid_by: receipt.Receipt) -> Domain:
        """The description that later runs use; columns that were not found stay undeclared, for a release to
        learn. paid_by: the receipt of the run that gave these answers. Errors: InputError for another one."""
        learned = self.learned(answers)
        if (paid_by["answers_sha256"], paid_by["plan"]["sha256"]) != (
            answers.digest,
            self.digest,
        ):
            raise InputError(
                "the receipt is of another run", repair="give that of the run of these answers"
            )
        if not learned:
            return self.domain
        names = [attribute.name for attribute in self.domain.attributes]
        purchase = Purchase(
            receipt=paid_by["digest"],
            epsilon=self.epsilon,
            delta=self.delta,
            columns=tuple(name for name in names if name in learned),
        )
        return self.domain.with_purchase(purchase, learned)

    def columns_not_found(self, given: Replay) -> tuple[str, ...]:
        return domain_learning.not_found(self.questions, self._taken(given))

    def _taken(self, given: Replay) -> list[AnyAnswer]:
        return [question.take(given) for question in self.questions]

    def receipt(
        self,
        answers: Answers | None = None,
        *,
        sample: receipt.Sample | None = None,
        post_processing: Mapping[str, object] | None = None,
        chosen_after_looking: bool = False,
    ) -> receipt.Receipt:
        """With the digest of what was learned: who has the description can see that it is of this run."""
        if answers is not None:
            learned = {name: each.to_json() for name, each in self.learned(answers).items()}
            stated = {"learned_sha256": receipt.digest(learned)}
            post_processing = {**(post_processing or {}), **stated}
        return super().receipt(
            answers,
            sample=sample,
            post_processing=post_processing,
            chosen_after_looking=chosen_after_looking,
        )

    def fit_replay(self, given: Replay) -> Model:
        """Errors: InputError always: a description has no model."""
        del given
        raise InputError(
            "a description has no model to draw from",
            repair="make a release under the description that was learned",
        )

    def answers_bytes(self, rows: int | None = None) -> int:
        """A bound: eight bytes a cell, and of a column on a lattice more rounds than it has."""
        del rows
        cells = 0
        for question in self.questions:
            if isinstance(question, IntervalRounds):
                cells += MAX_ROUNDS * scale_tree.MAX_CELLS
            else:
                cells += min(question.query.cells, MAX_CODES)
        return ANSWERS_OVERHEAD + 2 * BYTES_A_VALUE * cells
