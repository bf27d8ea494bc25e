"""Checks of releases: figures that a steward has measured with budget. What one asks, its price, and its
plan.

Public facts only, as in `planning`: the model of the release, its description, and the account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from synth_engine.domain import Domain
from synth_engine.plans import release_check
from synth_engine.plans.release_check import CheckedFigure, CheckedRelease, CheckPlan
from synth_engine.spec import Spec
from synthweb.datasets import services as datasets
from synthweb.datasets.models import DomainVersion
from synthweb.datasets.selectors import table_of_run
from synthweb.ledger.models import BudgetAccount
from synthweb.releases import marginals, receipt_facts
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release
from synthweb.runs import errors, planning
from synthweb.runs.models import CheckRun, SynthesisRun
from synthweb.runs.proposals import (
    DomainReader,
    NumberedTable,
    PaidRequest,
    Proposal,
    RequestTerms,
)

LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """Figures to measure of a release, and the loss that they may cost."""

    figures: tuple[CheckedFigure, ...]
    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class ReleaseCheck(PaidRequest[CheckPlan]):
    """Figures of a release, asked for by a steward: under the description that the release was made under, of
    the version of the table that it was made of."""

    own_row = CheckRun
    result = "paid_check"
    release: Release
    request: CheckRequest

    def asked(self) -> RequestTerms:
        release, request = self.release, self.request
        loss = {"epsilon": request.epsilon, "delta": request.delta}
        table = table_of_run(release.run_code)
        return RequestTerms(
            spec=release_check.spec_of(_checked(release), request.figures, **loss),
            name=name_of(release),
            tables=[NumberedTable(release.dataset, None if table is None else table.number)],
            fields={"checks": release},
        )

    def basis(self) -> tuple[DomainVersion, BudgetAccount]:
        """Errors: NotReady for a table that is deleted and for a release of another description, Conflict for
        a version that was erased; RelationMismatch."""
        dataset = self.release.dataset
        version, account = planning.basis(dataset)
        if version.pk != self.release.domain_version_id:
            raise errors.NotReady(
                "the release was made under another description than the one in force",
                repair="make a release under the description in force, and check that one",
            )
        planning.require_terms(version, account)
        planning.require_table(dataset, version)
        table = table_of_run(self.release.run_code)
        if table is not None:
            datasets.require_kept([table])
        return version, account

    @classmethod
    def plan_of(cls, run: SynthesisRun, _read: DomainReader, /) -> CheckPlan:
        """Errors: InputError if it is of another version of the release; SpecError for a figure that cannot
        be computed."""
        spec, of = Spec.from_json(run.spec), _checked(run.check_run.checks)
        figures = release_check.figures_of(spec)
        plan = release_check.plan(of, figures, epsilon=spec.epsilon, delta=spec.delta)
        release_check.require_same(plan, spec)
        return plan


CheckProposal = Proposal[ReleaseCheck, CheckPlan]


def count_of(domain: Domain, where: Sequence[str]) -> CheckedFigure:
    """The number of records that meet conditions, as in `marginals.query_of`. Errors: InputError."""
    codes = marginals.codes_of(domain, where)
    return CheckedFigure(kind="count", columns=tuple(codes), codes=tuple(codes.values()))


def classifier_of(
    domain: Domain, where: str, predictors: Sequence[str]
) -> tuple[CheckedFigure, ...]:
    """The figures of a classifier that predicts one condition, as in `marginals.query_of`, from other
    columns. Errors: InputError."""
    codes = marginals.codes_of(domain, [where])
    (target,) = codes
    columns, chosen = (target, *predictors), (codes[target],)
    return (
        CheckedFigure(kind="auc", columns=columns, codes=chosen),
        CheckedFigure(kind="accuracy", columns=columns, codes=chosen),
    )


def _checked(release: Release) -> CheckedRelease:
    return CheckedRelease(
        core=receipt_facts.of(release)["digest"],
        # As of the comparison with the real table, so that both are about the same synthetic rows.
        seed=f"report/{release.code}",
        rows=max(1, min(release.sample_rows, release_check.MAX_ROWS)),
        model=model_of(release.code),
    )


def name_of(release: Release, *, is_validation: bool = False) -> str:
    """What the run of a check is called, cut to the length that names have."""
    kind = "Validation" if is_validation else "Check"
    return f"{kind} of {release.name}"[:LONGEST_NAME]
