"""People, datasets and accounts for the tests of the ledger, made as the application makes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from synth_engine.privacy.unit import PrivacyUnit, Relation
from synthweb.accounts.models import Membership, Organisation, Role, User
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import CURRENCIES, Amount
from synthweb.ledger.models import BudgetAccount, BudgetRequest, LedgerEntry, Rule
from synthweb.ledger.protection import PlannedRun, Protection
from synthweb.lib import codes, hashing

EVIDENCE = hashlib.sha256(b"plan").hexdigest()


@dataclass(frozen=True)
class People:
    """One organisation with somebody in every role."""

    organisation: Organisation
    steward: User
    custodian: User
    analyst: User
    auditor: User


def person(organisation: Organisation, *roles: Role, username: str | None = None) -> User:
    user = User.objects.create(username=username or codes.new())
    for role in roles:
        Membership.objects.create(user=user, organisation=organisation, role=role)
    return user


def people(*, name: str | None = None) -> People:
    organisation = Organisation.objects.create(name=name or f"Organisation {codes.new()}")
    return People(organisation, *(person(organisation, role) for role in Role))


def domain_document(
    *, relation: str = "add-remove", max_records: int = 1, column: str | None = None
) -> dict:
    return {
        "relation": relation,
        "unit": {"max_records": max_records, "column": column},
        "invariants": [],
    }


def dataset(
    who: People,
    *,
    content: str | None = None,
    described: dict | None = None,
    name: str = "Commutes",
) -> Dataset:
    made = Dataset.objects.create(
        organisation=who.organisation,
        steward=who.steward,
        name=name,
        status=Dataset.Status.READY,
        vault_name=codes.new(),
        file_kind="csv",
        size_bytes=1,
        content_key=hashlib.sha256((content or codes.new()).encode()).hexdigest(),
    )
    describe(made, described or domain_document())
    return made


def describe(made: Dataset, document: dict) -> DomainVersion:
    return DomainVersion.objects.create(
        dataset=made,
        number=made.domain_versions.count() + 1,
        document=document,
        digest=hashing.digest(document),
        confirmed_by=made.steward,
    )


def asked(
    who: People, made: Dataset, *, rule: str = Rule.BASIC, amount: Amount | None = None, **extra
) -> BudgetRequest:
    amount = amount or (Amount(epsilon=10) if rule == Rule.BASIC else Amount(rho=10))
    return ledger.request_budget(
        steward=who.steward,
        dataset=made,
        terms=ledger.Terms(rule=rule, amount=amount),
        reason="To publish.",
        **extra,
    )


def granted(
    who: People, made: Dataset, *, rule: str = Rule.BASIC, amount: Amount | None = None
) -> BudgetAccount:
    request = asked(who, made, rule=rule, amount=amount)
    return ledger.grant(custodian=who.custodian, request=request, reason="Agreed.").account


def hold(
    account: BudgetAccount,
    run_code: str,
    cost: tuple[int, int, int] = (1, 0, 0),
    *,
    dataset_code: str | None = None,
    **other,
) -> LedgerEntry:
    own = {
        "relation": Relation(account.relation),
        "unit": PrivacyUnit(
            max_records=account.max_records, column=account.unit_column or None
        ),
    }
    protection = other.pop("protection", None)
    own |= {name: other.pop(name) for name in [*own, "invariants"] if name in other}
    run = PlannedRun(
        code=run_code,
        dataset_code=dataset_code or account.coverages.first().dataset.code,
        plan_digest=other.pop("evidence", EVIDENCE),
        protection=protection
        or Protection(
            relation=Relation(own["relation"]),
            unit=own["unit"],
            invariants=tuple(own.get("invariants", ())),
        ),
        purpose=other.pop("reason", ""),
    )
    return ledger.hold(
        account=account,
        run=run,
        price=Amount(**dict(zip(CURRENCIES, cost, strict=True))),
        **{"actor": "steward", **other},
    )
