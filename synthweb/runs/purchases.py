"""Descriptions that are bought once: what a run that learns columns asks, its price, and its plan.

Public facts only, as in `planning`: the description in force, and the account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from synth_engine.plans import description
from synth_engine.plans.description import DescriptionPlan
from synth_engine.spec import Spec
from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.models import DatabaseTable, Dataset, DomainVersion
from synthweb.datasets.selectors import learned_of
from synthweb.ledger.models import BudgetAccount
from synthweb.runs import errors, planning
from synthweb.runs.models import LearnRun, SynthesisRun
from synthweb.runs.proposals import (
    DomainReader,
    NumberedTable,
    PaidRequest,
    Proposal,
    RequestTerms,
    usual_name,
)

MECHANISM = description.MECHANISM


@dataclass(frozen=True, kw_only=True)
class LearnRequest(PaidRequest[DescriptionPlan]):
    """Columns to be learned once for all later releases of a dataset; none: all that are undeclared."""

    own_row = LearnRun
    result = "learned"
    dataset: Dataset
    columns: Sequence[str]
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def asked(self) -> RequestTerms:
        return RequestTerms(
            spec=Spec(
                mechanism=MECHANISM,
                parameters={"columns": list(self.columns)},
                epsilon=self.epsilon,
                delta=self.delta,
            ),
            name=usual_name(self.dataset, "learned description", self.epsilon),
            tables=[NumberedTable(self.dataset)],
        )

    def basis(self) -> tuple[DomainVersion, BudgetAccount]:
        """Errors: NotReady besides for a database, whose releases name no purchase."""
        version, account = planning.basis(self.dataset)
        if DatabaseTable.objects.filter(dataset=self.dataset).exists():
            raise errors.NotReady(
                "this is a table of a database, whose columns are all declared",
                repair="describe its columns",
            )
        planning.require_terms(version, account)
        planning.require_table(self.dataset, version)
        return version, account

    def require_together(self, run: SynthesisRun) -> None:
        """A column is bought once: the description is still the one that was planned for, and no run has
        learned one of its columns, or is about to. The dataset is locked. Errors: NotReady."""
        if newest(run.dataset) != run.domain_version:
            raise errors.NotReady(
                "the description has changed meanwhile", repair="look at it and ask again"
            )
        wanted = _columns_of(run)
        learned = {name for row in learned_of(run.dataset) for name in row.learned}
        others = SynthesisRun.objects.filter(
            dataset=run.dataset, learn_run__isnull=False, state__in=SynthesisRun.OPEN
        ).exclude(pk=run.pk)
        if wanted & learned:
            raise errors.NotReady(
                f"a run has learned the column {min(wanted & learned)} already",
                repair="use what it learned, or type other facts",
            )
        for other in others:
            if both := wanted & _columns_of(other):
                raise errors.NotReady(
                    f"a run is about to learn the column {min(both)}",
                    repair="wait until it is finished",
                )

    @classmethod
    def plan_of(cls, run: SynthesisRun, read: DomainReader, /) -> DescriptionPlan:
        return description.plan(read(run.domain_version), Spec.from_json(run.spec))


def _columns_of(run: SynthesisRun) -> set[str]:
    """The columns that a run learns."""
    named = run.spec["parameters"].get("columns")
    return set(named or (each.name for each in domain_of(run.domain_version).undeclared))


LearnProposal = Proposal[LearnRequest, DescriptionPlan]


def is_purchase(run: SynthesisRun) -> bool:
    """Whether a run learns a description."""
    return bool(run.spec["mechanism"] == MECHANISM)
