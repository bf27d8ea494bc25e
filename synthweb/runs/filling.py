"""Counts of a dataset filled to a policy: what may be asked for, the private alternative beside, and who sees
what.

Public facts only, as in `planning`. ADR 95 says why these counts are no release, and has their states.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404

from synth_engine.mixing import policy as policies
from synth_engine.mixing.alternative import PrivateAlternative, alternative
from synth_engine.mixing.policy import FillPlan, FillPolicy
from synth_engine.privacy.loss import parse_decimal
from synthweb.accounts import selectors as people
from synthweb.accounts.models import Role
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.domain_cache import domain_of
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger import selectors as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount
from synthweb.lib.language import written_number
from synthweb.runs import errors, planning, proposals
from synthweb.runs.models import FilledCounts

State = FilledCounts.State


@dataclass(frozen=True, kw_only=True)
class FillRequest:
    """What a steward asks for. epsilon: of the private alternative that is shown beside."""

    dataset: Dataset
    by: tuple[str, ...]
    policy: FillPolicy
    day: str | None = None
    epsilon: Fraction = Fraction(1)


@dataclass(frozen=True, kw_only=True)
class FillProposal:
    """Counts that may be asked for, with the private alternative and its price in the currency of the
    account."""

    dataset: Dataset
    version: DomainVersion
    account: BudgetAccount
    plan: FillPlan
    private: PrivateAlternative
    price: Amount

    @property
    def price_text(self) -> str:
        """The price as a person reads it."""
        return written_number(self.price.text(self.account.rule))


def propose(request: FillRequest) -> FillProposal:
    """Plan filled counts from public facts. Errors: NotReady, RelationMismatch; SpecError and DomainError for
    a policy or groups that cannot be; NotReady where counts of the same people are asked for or published
    already."""
    version, account = planning.basis(request.dataset)
    planning.require_terms(version, account)
    planning.require_table(request.dataset, version)
    plan = FillPlan(
        domain=domain_of(version), by=request.by, policy=request.policy, day=request.day
    )
    require_alone(request.dataset, account)
    private = alternative(plan, epsilon=request.epsilon, rule=proposals.rule_of(account))
    return FillProposal(
        dataset=request.dataset,
        version=version,
        account=account,
        plan=plan,
        private=private,
        price=proposals.price_of(private.plan, account),
    )


def require_alone(dataset: Dataset, account: BudgetAccount) -> None:
    """Two tables of exact counts of the same people can be subtracted, whatever their groups are. Errors:
    NotReady naming the other one."""
    accounts = ledger.accounts_of_same_people(dataset, account)
    other = FilledCounts.objects.filter(account__in=accounts, state__in=FilledCounts.LIVING)
    earlier = other.order_by("pk").first()
    if earlier is not None:
        raise errors.NotReady(
            f"filled counts of the same people exist already: {earlier.name} ({earlier.code}); differences "
            "of two such tables show single records",
            repair="use those, or make a private release, of which there may be many",
        )


def plan_of(counts: FilledCounts) -> FillPlan:
    """The plan that was asked for and approved. Errors: InputError if the engine plans it otherwise now."""
    return FillPlan.from_json(counts.plan, domain_of(counts.domain_version))


def alternative_of(counts: FilledCounts) -> tuple[PrivateAlternative, Amount]:
    """The private alternative that was shown beside, and its price."""
    rule = proposals.rule_of(counts.account)
    private = alternative(
        plan_of(counts), epsilon=parse_decimal(counts.epsilon, name="epsilon"), rule=rule
    )
    return private, proposals.price_of(private.plan, counts.account)


# --- who sees what ------------------------------------------------------------------------------------------
def counts_for(user: people.Person) -> QuerySet[FilledCounts]:
    """Filled counts of the organisation, newest first: all for who sees its datasets, published ones for its
    analysts. PermissionDenied for others."""
    visible = Q(dataset__organisation=people.organisation_of(user))
    if not people.can(user, Need.VIEW):
        if Role.ANALYST not in people.roles_of(user):
            raise PermissionDenied
        # What is asked for names columns of tables that no analyst has seen.
        visible &= Q(state=State.PUBLISHED)
    rows = FilledCounts.objects.filter(visible).select_related(
        "dataset__organisation", "account", "domain_version", "asked_by", "decided_by"
    )
    return rows.order_by("-created_at", "-pk")


def counts_of(user: people.Person, code: str, need: Need | None = None) -> FilledCounts:
    """Filled counts as somebody may see them: 404 to strangers and for what an analyst may not see,
    PermissionDenied without the role."""
    try:
        counts = counts_for(user).filter(code=code).first()
    except PermissionDenied:
        counts = None
    if counts is None:
        raise Http404("no such counts")
    if need is not None and not _may(user, counts, need):
        raise PermissionDenied
    return counts


def _may(user: people.Person, counts: FilledCounts, need: Need) -> bool:
    return (
        people.can(user, need)
        if need == Need.GRANT
        else datasets.may(user, counts.dataset, need)
    )


def may_decide(user: people.Person, counts: FilledCounts) -> bool:
    """Whether somebody can approve or refuse it: a custodian who has not asked for it, nor approved it
    before."""
    return (
        counts.state == State.ASKED
        and people.can(user, Need.GRANT)
        and user.pk not in (counts.asked_by_id, counts.first_approved_by_id)
    )


def needs_two(counts: FilledCounts) -> bool:
    """Whether two custodians approve: wherever the organisation asks for two above some ε, because exact
    counts are above each."""
    return ledger.two_above(counts.dataset.organisation) is not None


def csv_of(document: dict[str, Any]) -> str:
    """A published document as a table: the columns of the groups, and `records`."""
    return policies.csv_of(
        document["by"], ((each["group"], each["records"]) for each in document["groups"])
    )
