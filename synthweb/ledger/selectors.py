"""Reading the ledger. What takes a user also authorises: 404 for what they cannot know of, 403 for what they
may not.

Custodians and auditors see every account of their organisation, a steward those that datasets they may view
spend from.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404

from synth_engine.privacy import conversion
from synthweb.accounts import selectors as accounts
from synthweb.accounts.models import Organisation, Role
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import Person
from synthweb.datasets import selectors as datasets
from synthweb.datasets.domain_cache import newest
from synthweb.datasets.models import Dataset
from synthweb.ledger.amounts import COUNTED, CURRENCIES, NANO, Amount
from synthweb.ledger.errors import NotCovered
from synthweb.ledger.models import (
    BudgetAccount,
    BudgetApproval,
    BudgetRequest,
    Coverage,
    Earmark,
    EarmarkUse,
    GrantPolicy,
    LedgerEntry,
    Rule,
)
from synthweb.ledger.protection import Protection

POLICY_DELTA = Fraction(1, 10**9)
"""At which the ρ of an account is compared with the ε of a policy."""


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Where an account stands: cap = held + charged + free."""

    rule: str
    cap: Amount
    held: Amount
    charged: Amount

    @property
    def free(self) -> Amount:
        return self.cap - self.held - self.charged

    def share(self, part: str, currency: str) -> float:
        """The percentage of the cap that `held`, `charged` or `free` take, for the width of a bar."""
        cap = getattr(self.cap, currency)
        return 100 * getattr(getattr(self, part), currency) / cap if cap else 0.0


# --- facts, for services and for those who are let in already -----------------------------------------------
def balance(account: BudgetAccount) -> Balance:
    """The sums of an account, as they stand in the row given."""

    def part(name: str) -> Amount:
        return Amount(
            **{currency: getattr(account, f"{currency}_{name}") for currency in CURRENCIES}
        )

    return Balance(
        rule=account.rule, cap=part("cap"), held=part("held"), charged=part("charged")
    )


def counted(rule: str) -> tuple[str, ...]:
    """The currencies that add up under a rule."""
    return COUNTED[Rule(rule)]


def amount_of(
    row: LedgerEntry | BudgetRequest | BudgetApproval | Earmark | EarmarkUse,
) -> Amount:
    """The amount that an entry, a request, an approval, an earmark or a use of one states."""
    return Amount(**{currency: getattr(row, currency) for currency in CURRENCIES})


def is_charged(run_code: str) -> bool:
    """Whether a run has spent what it held."""
    return LedgerEntry.objects.filter(run_code=run_code, kind=LedgerEntry.Kind.CHARGE).exists()


def outside_of(account: BudgetAccount) -> QuerySet[LedgerEntry]:
    """The entries of exact counts of the same people, published outside the guarantee, the oldest first: of
    this account, and of accounts that pay for the very same content."""
    entries = LedgerEntry.objects.filter(
        account__organisation=account.organisation_id, kind=LedgerEntry.Kind.OUTSIDE
    )
    own = [
        entry.pk
        for entry in entries
        if entry.account_id == account.pk or account in _twins_of(entry)
    ]
    return entries.filter(pk__in=own).order_by("pk")


def _twins_of(entry: LedgerEntry) -> list[BudgetAccount]:
    dataset = Dataset.objects.filter(code=entry.dataset_code).first()
    return [] if dataset is None else accounts_with_same_content(dataset)


def account_of(dataset: Dataset) -> BudgetAccount | None:
    """The account that a dataset spends from, if it has one."""
    coverage = (
        Coverage.objects.select_related("account__organisation").filter(dataset=dataset).first()
    )
    return coverage.account if coverage else None


def protection_of(dataset: Dataset) -> Protection:
    """Whom the dataset's confirmed description protects; NotCovered if nothing is confirmed yet."""
    version = newest(dataset)
    if version is None:
        raise NotCovered(
            "The dataset has no confirmed description",
            repair="describe it first: unit and relation are part of it",
        )
    return Protection.of_version(version)


def public_records(dataset: Dataset) -> int | None:
    """The number of records, where the description says it is public."""
    rows = (
        dataset.domain_versions.order_by("-number")
        .values_list("document__rows", flat=True)
        .first()
    )
    return rows if isinstance(rows, int) and rows > 0 else None


def accounts_with_same_content(dataset: Dataset) -> list[BudgetAccount]:
    """Other accounts of the organisation that pay for the very same content, the oldest first: they cover
    another dataset with it, or the root of a database that has it, or once had it, as a table. Of the root of
    a database the content is that of all its tables."""
    own = {dataset, *(row.dataset for row in datasets.database_tables(dataset))}
    twins = {twin for table in own for twin in datasets.same_content(table)} - own
    roots = datasets.roots_that_had(own | twins)
    covering = BudgetAccount.objects.filter(
        Q(coverages__dataset__in=twins) | Q(coverages__dataset__in=roots),
        organisation=dataset.organisation_id,
    )
    return list(covering.exclude(coverages__dataset=dataset).distinct().order_by("pk"))


def accounts_of_same_people(dataset: Dataset, account: BudgetAccount) -> list[BudgetAccount]:
    """The account of a dataset, and the others that pay for the very same content."""
    return [account, *accounts_with_same_content(dataset)]


def counts_other_records(account: BudgetAccount, dataset: Dataset) -> bool:
    """Whether the account covers the very same table under a description by which a record is something else:
    a row there, and here each of the records that a row stands for, or the other way round."""
    own = _repeats(dataset)
    covered = datasets.same_content(dataset).filter(coverage__account=account)
    return any(
        _repeats(twin) != own for twin in covered if datasets.current_domain(twin) is not None
    )


def _repeats(dataset: Dataset) -> object:
    version = datasets.current_domain(dataset)
    return None if version is None else version.document.get("repeats")


def two_above(organisation: Organisation) -> int | None:
    """The ε, in the ledger's integers, above which two custodians approve; None if one always suffices."""
    policy = GrantPolicy.objects.filter(organisation=organisation).order_by("-pk").first()
    return None if policy is None else policy.two_above


def needs_two(organisation: Organisation, cap: Amount, *, rule: str) -> bool:
    """Whether two custodians approve what makes the cap of an account that large. By the whole cap, or a
    large grant could be made of small ones."""
    limit = two_above(organisation)
    if limit is None:
        return False
    epsilon = (
        guarantee_of(cap, delta=POLICY_DELTA)
        if rule == Rule.ZCDP
        else Fraction(cap.epsilon, NANO)
    )
    return epsilon > Fraction(limit, NANO)


def approvals_of(request: BudgetRequest) -> list[BudgetApproval]:
    """The newest approval of each of today's custodians, the oldest first."""
    custodians = accounts.holders_of(request.dataset.organisation, Role.CUSTODIAN)
    approvals = request.approvals.filter(custodian__in=custodians).select_related(
        "custodian", "account"
    )
    return list({each.custodian_id: each for each in approvals}.values())


def guarantee_of(amount: Amount, *, delta: Fraction) -> Fraction:
    """The epsilon that an amount of rho is worth at `delta`, rounded up (Canonne, Kamath and Steinke
    2020)."""
    return conversion.epsilon_for(Fraction(amount.rho, NANO), delta)


def joinable_accounts(dataset: Dataset) -> QuerySet[BudgetAccount]:
    """Accounts of the organisation that protect the same unit under the same relation."""
    columns = protection_of(dataset).columns
    return BudgetAccount.objects.filter(
        organisation=dataset.organisation_id, **columns
    ).order_by("name", "pk")


# --- reading as somebody ------------------------------------------------------------------------------------
def accounts_for(user: Person) -> QuerySet[BudgetAccount]:
    """The accounts that `user` may read; PermissionDenied for those who read none by their role."""
    roles = accounts.roles_of(user)
    everything = BudgetAccount.objects.filter(
        organisation=accounts.organisation_of(user)
    ).order_by("name", "pk")
    if roles & Need.AUDIT.roles:
        return everything
    if roles & Need.SPEND.roles:
        return everything.filter(
            pk__in=Coverage.objects.filter(dataset__in=_viewable(user)).values("account")
        )
    raise PermissionDenied("Ledgers are read by stewards, custodians and auditors")


def reads_all(user: Person) -> bool:
    """Whether `user` reads every account of the organisation."""
    return accounts.can(user, Need.AUDIT)


def account_for(user: Person, code: str) -> BudgetAccount:
    """One account that `user` may read."""
    account = accounts_for(user).select_related("organisation").filter(code=code).first()
    if account is None:
        raise Http404("No such account")
    return account


def entries_for(user: Person, code: str) -> QuerySet[LedgerEntry]:
    """The entries of an account that `user` may read, newest first; `ledger.filters.EntryFilter` narrows
    them."""
    return LedgerEntry.objects.filter(account=account_for(user, code)).order_by("-sequence")


def requests_for(user: Person) -> QuerySet[BudgetRequest]:
    """Budget requests that `user` may read: all of the organisation, or their own, newest first."""
    roles = accounts.roles_of(user)
    requests = BudgetRequest.objects.filter(
        dataset__organisation=accounts.organisation_of(user)
    ).select_related("dataset__organisation", "account", "requested_by", "decided_by")
    requests = requests.prefetch_related("approvals__custodian")
    if roles & Need.AUDIT.roles:
        return requests
    if roles & Need.SPEND.roles:
        return requests.filter(dataset__in=_viewable(user))
    raise PermissionDenied("Budget requests are read by stewards, custodians and auditors")


def request_for(user: Person, code: str, *, need: Need = Need.VIEW) -> BudgetRequest:
    """One request that `user` may read; to decide it takes a custodian who did not ask for it."""
    request = requests_for(user).filter(code=code).first()
    if request is None:
        raise Http404("No such request")
    if need is Need.GRANT and not may_decide(user, request):
        raise PermissionDenied("A custodian decides, and nobody about their own request")
    return request


def may_decide(user: Person, request: BudgetRequest) -> bool:
    """Whether `user` is a custodian of the organisation and did not ask for this themselves."""
    custodians = accounts.holders_of(request.dataset.organisation, Role.CUSTODIAN)
    return (
        request.requested_by_id != user.pk
        and user.pk is not None
        and custodians.filter(pk=user.pk).exists()
    )


def _viewable(user: Person) -> QuerySet[Dataset]:
    return datasets.datasets_of(user, deleted=True).order_by().prefetch_related(None)
