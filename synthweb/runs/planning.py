"""What a spec means for a dataset: its plan, its price in the account's currency, and whether it may be asked for.

Public facts only: the confirmed description, the account's rule, unit and relation, and the engine's planner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import RelationMismatch
from synth_engine.evaluation import criteria
from synth_engine.evaluation.criteria import Criterion
from synth_engine.mechanisms import Plan
from synth_engine.plans.parameters import RECORDS
from synth_engine.plans.plan import Rule as EngineRule
from synth_engine.privacy.loss import Price
from synth_engine.spec import Spec
from synthweb.accounts.models import User
from synthweb.datasets import selectors, stated_records
from synthweb.datasets import services as datasets
from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, Rule
from synthweb.ledger.protection import Protection
from synthweb.releases.models import Release
from synthweb.runs import errors, public_tables, timing
from synthweb.runs.models import SynthesisRun
from synthweb.runs.proposals import PaidRequest, Proposal
from synthweb.runs.public_tables import StatedTable

KEPT = 4  # plans in the memory of a process
# `lib/sentences.py` has them as well, so that pages translate them.
PUBLIC = "the public number of records"
NOISY = "the noisy number of an earlier release"
LOW_END = "the low end of what was stated"
STATED = "the number that was stated"


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """What is given beside a spec. rows: about how many records there are, as stated with it; None: as stated before. table: a public table beside
    which the answers are read. criteria: what has to hold for the release to be used. earmark: the code of the part of the budget that
    the run is paid from; empty: what is free."""

    rows: int | None = None
    table: StatedTable | None = None
    criteria: tuple[Criterion, ...] = ()
    earmark: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """What the row of a run keeps of them."""
        return {
            "prior": None if self.table is None else self.table.to_json(),
            "criteria": [criterion.to_json() for criterion in self.criteria],
        }


NO_FACTS = PublicFacts()


@dataclass(frozen=True, kw_only=True)
class KnownRows:
    """A number of records that is public, paid for or stated, and where it comes from, in words."""

    rows: int
    source: str


@dataclass(frozen=True, kw_only=True)
class ReleaseProposal(Proposal[Plan]):
    """A release that may be asked for. known: about how many records there are, which forecasts are for."""

    known: KnownRows
    facts: PublicFacts


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest(PaidRequest[ReleaseProposal]):
    """A release of one table."""

    dataset: Dataset
    spec: Spec
    facts: PublicFacts = NO_FACTS

    def propose(self) -> ReleaseProposal:
        return propose(dataset=self.dataset, spec=self.spec, facts=self.facts)

    def is_of(self, run: SynthesisRun) -> bool:
        stored = run.spec["parameters"].get(RECORDS)
        # The number of records was filled in when the run was asked for, and may be another one by now.
        asked = with_records(self.spec, stored) if stored else self.spec
        fields = {name: getattr(run, name) for name in self.facts.fields}
        stated = (run.dataset_id, run.spec, fields)
        return stated == (self.dataset.pk, asked.to_json(), self.facts.fields)

    def admit(self, proposal: ReleaseProposal) -> Mapping[str, Any]:
        """How long it usually takes: what the page of a new release says as well."""
        estimate = mechanisms.Estimate(plan=proposal.plan, rows=proposal.known.rows)
        expected = timing.forecast(
            self.dataset, method=proposal.spec.mechanism, needed=estimate.resources
        )
        return {"expected": expected.to_json()}

    def submitted(self, actor: User) -> None:
        # The next form begins with it.
        if self.facts.rows is not None:
            datasets.state_records(actor=actor, dataset=self.dataset, records=self.facts.rows)


def propose(*, dataset: Dataset, spec: Spec, facts: PublicFacts = NO_FACTS) -> ReleaseProposal:
    """Plan `spec` against the newest confirmed description; says what is missing or wrong otherwise. A parameter of the number of
    records that the spec leaves open is the public, paid or stated number."""
    version, account = basis(dataset)
    require_terms(version, account)
    require_table(dataset, version)
    domain = domain_of(version)
    known = require_rows(dataset, domain, stated=facts.rows)
    prior = public_tables.load(facts.table, organisation=dataset.organisation)
    spec = with_records(spec, known.rows)
    if prior is None:
        stated = json.dumps(spec.to_json(), sort_keys=True)
        plan = _planned(version, version.digest, stated, rule_of(account))
    else:
        plan = mechanisms.plan(domain, spec, rule=rule_of(account), prior=prior)
    criteria.require(plan, facts.criteria)
    return ReleaseProposal(
        dataset=dataset,
        account=account,
        version=version,
        spec=spec,
        plan=plan,
        price=price_of(plan, account),
        name=usual_name(dataset, mechanisms.traits(spec.mechanism).title),
        earmark=facts.earmark,
        fields=facts.fields,
        known=known,
        facts=facts,
    )


@lru_cache(maxsize=KEPT)
def _planned(version: DomainVersion, digest: str, spec: str, rule: EngineRule) -> Plan:  # noqa: ARG001 - numbers of rows that were rolled back are given again
    """What a form showed is not planned once more when its button is pressed. The worker plans again: what is charged is what
    the engine plans then."""
    return mechanisms.plan(domain_of(version), Spec.from_json(json.loads(spec)), rule=rule)


def usual_name(dataset: Dataset, title: str) -> str:
    """What a run is called that nobody named: `Adult: Bayesian network`, cut to the length that names have."""
    longest = SynthesisRun._meta.get_field("name").max_length or 0
    return dataset.name[: longest - len(title) - 2] + f": {title}"


class Priced(Protocol):
    """A plan that says what it costs."""

    def cost(self, rule: EngineRule, /) -> Price: ...


def price_of(plan: Priced, account: BudgetAccount) -> Amount:
    """What a plan costs in the currency of an account, rounded up."""
    return Amount(**plan.cost(rule_of(account))._asdict())


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
            repair="say whether they are hundreds, thousands, tens of thousands or more: `records`, the low end of that",
        )
    return known


def known_rows(
    dataset: Dataset, domain: Domain, *, stated: int | None = None
) -> KnownRows | None:
    """About how many records the table has: the public number, the one that an earlier release paid for, or what the steward
    states; None where nobody said. Never what the file has. stated: now, in place of what was stated before."""
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


def replan(run: SynthesisRun) -> Plan:
    """The plan of a release that was submitted earlier: the same description, the same spec, the same account, the same public
    table. Errors: SpecError if that was deleted."""
    version, table = run.domain_version, StatedTable.from_json(run.prior)
    prior = public_tables.load(table, organisation=version.dataset.organisation)
    domain, spec = Domain.from_json(version.document), Spec.from_json(run.spec)
    return mechanisms.plan(domain, spec, rule=rule_of(run.account), prior=prior)


def rule_of(account: BudgetAccount) -> EngineRule:
    """How an account adds up losses, in the engine's words."""
    return "zcdp" if account.rule == Rule.ZCDP else "basic"


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
    """The account fixed who is protected and from what; a description that says otherwise cannot spend from it."""
    require_protection(Protection.of_version(version), account)


def require_protection(described: Protection, account: BudgetAccount) -> None:
    """The same, of what a description protects. Errors: RelationMismatch."""
    paid = Protection.of_account(account)
    if described != paid:
        raise RelationMismatch(
            f"the description protects {described.sentence()}, the budget account {paid.sentence()}; "
            "confirm a description as the account has it"
        )
