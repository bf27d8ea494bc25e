"""What a spec means for a dataset: its plan, its price in the account's currency, and whether it may be asked
for.

Public facts only: the confirmed description, the account's rule, unit and relation, and the engine's planner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import RelationMismatch
from synth_engine.evaluation import criteria
from synth_engine.evaluation.criteria import Criterion
from synth_engine.mechanisms import Plan
from synth_engine.plans.parameters import RECORDS
from synth_engine.spec import Spec
from synthweb.accounts.models import User
from synthweb.datasets import selectors, stated_records
from synthweb.datasets import services as datasets
from synthweb.datasets.domain_cache import domain_of, newest, read_afresh
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger.models import BudgetAccount
from synthweb.ledger.protection import Protection
from synthweb.releases.models import Release
from synthweb.runs import errors, public_tables, timing
from synthweb.runs.models import ReleaseRun, SynthesisRun
from synthweb.runs.proposals import (
    DomainReader,
    NumberedTable,
    PaidRequest,
    Proposal,
    RequestTerms,
    rule_of,
    usual_name,
)
from synthweb.runs.public_tables import StatedTable

# `lib/sentences.py` has them as well, so that pages translate them.
PUBLIC = "the public number of records"
NOISY = "the noisy number of an earlier release"
LOW_END = "the low end of what was stated"
STATED = "the number that was stated"


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """Facts that are given with a spec. rows: about how many records there are, as stated with it; None: as
    stated before. table: a public table beside which the answers are read. criteria: what has to hold for the
    release to be used. earmark: the code of the part of the budget that the run is paid from; empty: what is
    free."""

    rows: int | None = None
    table: StatedTable | None = None
    criteria: tuple[Criterion, ...] = ()
    earmark: str = ""


NO_FACTS = PublicFacts()


@dataclass(frozen=True, kw_only=True)
class KnownRows:
    """A number of records that is public, paid for or stated, and where it comes from, in words."""

    rows: int
    source: str


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest(PaidRequest[Plan]):
    """A release of one table. A parameter of the number of records that the spec leaves open is the public,
    paid or stated number."""

    own_row = ReleaseRun
    result = "release"
    filled_in = frozenset({RECORDS})
    dataset: Dataset
    spec: Spec
    facts: PublicFacts = NO_FACTS

    def asked(self) -> RequestTerms:
        facts, title = self.facts, mechanisms.traits(self.spec.mechanism).title
        return RequestTerms(
            spec=self.spec,
            name=usual_name(self.dataset, title, self.spec.epsilon),
            tables=[NumberedTable(self.dataset)],
            earmark=facts.earmark,
            fields={
                "prior": None if facts.table is None else facts.table.to_json(),
                "criteria": [criterion.to_json() for criterion in facts.criteria],
            },
        )

    def known(self, domain: Domain) -> KnownRows:
        """About how many records there are, which forecasts are for. Errors: NotReady."""
        return require_rows(self.dataset, domain, stated=self.facts.rows)

    def basis(self) -> tuple[DomainVersion, BudgetAccount]:
        version, account = basis(self.dataset)
        require_terms(version, account)
        require_table(self.dataset, version)
        return version, account

    def complete(self, spec: Spec, version: DomainVersion, /) -> Spec:
        return with_records(spec, self.known(domain_of(version)).rows)

    @classmethod
    def plan_of(cls, run: SynthesisRun, read: DomainReader = read_afresh, /) -> Plan:
        """With its public table. Errors: SpecError besides, if that was deleted."""
        version, table = run.domain_version, StatedTable.from_json(run.prior)
        prior = public_tables.load(table, organisation=version.dataset.organisation)
        spec, rule = Spec.from_json(run.spec), rule_of(run.dataset.coverage.account)
        return mechanisms.plan(read(version), spec, rule=rule, prior=prior)

    def require(self, plan: Plan) -> None:
        criteria.require(plan, self.facts.criteria)

    def admit(self, proposal: Proposal[Any, Plan]) -> Mapping[str, Any]:
        """How long it usually takes: what the page of a new release says as well."""
        plan, method = proposal.plan, self.spec.mechanism
        needed = mechanisms.Estimate(plan=plan, rows=self.known(plan.domain).rows).resources
        expected = timing.forecast(self.dataset, method=method, needed=needed)
        return {"expected": expected.to_json()}

    def submitted(self, actor: User) -> None:
        # The next form begins with it.
        if self.facts.rows is not None:
            datasets.state_records(actor=actor, dataset=self.dataset, records=self.facts.rows)


ReleaseProposal = Proposal[ReleaseRequest, Plan]


def with_records(spec: Spec, rows: int) -> Spec:
    """The spec with the number of records where its method has a parameter for it that is left open."""
    takes = mechanisms.takes_records(spec.mechanism)
    if not takes or spec.parameters.get(RECORDS):
        return spec
    return replace(spec, parameters={**spec.parameters, RECORDS: rows})


def require_rows(dataset: Dataset, domain: Domain, *, stated: int | None = None) -> KnownRows:
    """As `known_rows`. Errors: NotReady if nobody said."""
    known = known_rows(dataset, domain, stated=stated)
    if known is None:
        raise errors.NotReady(
            "nobody has said about how many records this table has",
            repair="say whether they are hundreds, thousands, tens of thousands or more: `records`, the "
            "low end of that",
        )
    return known


def known_rows(
    dataset: Dataset, domain: Domain, *, stated: int | None = None
) -> KnownRows | None:
    """About how many records the table has: the public number, the one that an earlier release paid for, or
    what the steward states; None where nobody said. Never what the file has. stated: now, in place of what
    was stated before."""
    if known := public_rows(dataset, domain):
        return known
    if rows := stated or dataset.stated_records:
        return KnownRows(rows=rows, source=LOW_END if stated_records.is_band(rows) else STATED)
    return None


def public_rows(dataset: Dataset, domain: Domain) -> KnownRows | None:
    """The same, where nobody needs to state it."""
    if domain.rows:
        return KnownRows(rows=domain.rows, source=PUBLIC)
    # The true number of records is private. The noisy one of a release is paid for and public.
    earlier = Release.objects.filter(dataset=dataset, rows__gt=0).order_by("-created_at")
    if rows := earlier.values_list("rows", flat=True).first():
        return KnownRows(rows=rows, source=NOISY)
    return None


def basis(dataset: Dataset) -> tuple[DomainVersion, BudgetAccount]:
    """The newest confirmed description and the account that pays; NotReady names the step that is missing."""
    version = newest(dataset)
    if version is None:
        raise errors.NotReady(
            "this dataset has no confirmed description",
            repair="describe its columns and confirm",
        )
    account = account_of(dataset)
    if (root := selectors.root_above(dataset)) is not None:
        raise errors.NotReady(
            f"this is a table of the database of {root.name}",
            repair="make a release of all of its tables together, from the page of that dataset",
        )
    if account is None:
        raise errors.NotReady(
            "this dataset has no privacy budget", repair="ask a custodian for one"
        )
    return version, account


def account_of(dataset: Dataset) -> BudgetAccount | None:
    """The account that pays for its runs; None without one."""
    return BudgetAccount.objects.filter(coverages__dataset=dataset).first()


def described(dataset: Dataset) -> Domain | None:
    """By the newest confirmed description; None without one."""
    version = newest(dataset)
    return None if version is None else domain_of(version)


def require_table(dataset: Dataset, version: DomainVersion) -> None:
    """The table was read, and has the columns described: the description may be older than the reading."""
    if dataset.is_deleted:
        raise errors.NotReady("this dataset was deleted", repair="choose another one")
    if dataset.status == Dataset.Status.REFUSED:
        raise errors.NotReady(
            "the table of this dataset was refused", repair="mend it and upload it again"
        )
    if dataset.status != Dataset.Status.READY:
        raise errors.NotReady(
            "the table of this dataset is not read yet", repair="wait until its status is ready"
        )
    datasets.check_columns(dataset, domain_of(version))


def require_terms(version: DomainVersion, account: BudgetAccount) -> None:
    """The account fixed who is protected and from what; a description that says otherwise cannot spend from
    it."""
    require_protection(Protection.of_version(version), account)


def require_protection(described: Protection, account: BudgetAccount) -> None:
    """The same, of what a description protects. Errors: RelationMismatch."""
    paid = Protection.of_account(account)
    if described != paid:
        raise RelationMismatch(
            f"the description protects {described.sentence()}, the budget account {paid.sentence()}; "
            "confirm a description as the account has it"
        )
