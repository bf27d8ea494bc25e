"""What may be paid for: a request as somebody makes it, and the proposal that comes of it, with its plan and
its price.

Public facts only. The worker's half of a kind is `paid_job.PaidJob`, which the web process never imports; it
makes the plan by the request's class.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from django.db.models import Model
from django.utils import timezone

from synth_engine.domain import Domain
from synth_engine.plans.plan import Rule as EngineRule
from synth_engine.privacy.loss import Price, plain
from synth_engine.spec import Spec
from synthweb.accounts.models import User
from synthweb.datasets.domain_cache import domain_of
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, Rule
from synthweb.runs.models import SynthesisRun

KEPT = 4  # plans in the memory of a process
DomainReader = Callable[[DomainVersion], Domain]


class PaidPlan(Protocol):
    """What any plan says that is paid for."""

    @property
    def domain(self) -> Domain:
        """Whom it protects, and what of them is described."""

    @property
    def digest(self) -> str:
        """SHA-256 over what fixes it."""


class PricedPlan(PaidPlan, Protocol):
    """A plan that says what it costs."""

    def cost(self, rule: EngineRule, /) -> Price:
        """Its price in an account of that rule."""


PlanT = TypeVar("PlanT", bound=PricedPlan)
RequestT_co = TypeVar("RequestT_co", bound="PaidRequest[Any]", covariant=True)
PlanT_co = TypeVar("PlanT_co", bound=PricedPlan, covariant=True)


class NumberedTable(NamedTuple):
    """A table that is read. number: of its version; None: the one in force."""

    dataset: Dataset
    number: int | None = None


@dataclass(frozen=True, kw_only=True)
class RequestTerms:
    """What a request states. name: for who gives none. tables: what is read, first the one whose account
    pays. earmark: the code of the part of the budget that pays; empty: what is free. fields: of the row of
    its kind."""

    spec: Spec
    name: str
    tables: Sequence[NumberedTable]
    earmark: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Proposal(Generic[RequestT_co, PlanT_co]):
    """What may be asked for: everything a submission needs, nothing of it private. asked: with what the
    request left open. row: the fields of its run that fix the plan. price: in the account's currency, rounded
    up."""

    request: RequestT_co
    asked: RequestTerms
    account: BudgetAccount
    row: Mapping[str, Any]
    plan: PlanT_co
    price: Amount


AnyProposal = Proposal["PaidRequest[Any]", PricedPlan]


class PaidRequest(ABC, Generic[PlanT]):
    """What somebody asks for and pays for: the half of a kind that the web process has. own_row: the model of
    what a run has of this kind alone; result: the look-up from that row to what a run made, from its end on.
    filled_in: parameters that planning fills in where the request leaves them open."""

    own_row: ClassVar[type[Model]]
    result: ClassVar[str]
    filled_in: ClassVar[frozenset[str]] = frozenset()

    # --- what a kind says -----------------------------------------------------------------------------------
    @abstractmethod
    def asked(self) -> RequestTerms:
        """What it states."""

    @abstractmethod
    def basis(self) -> tuple[DomainVersion, BudgetAccount]:
        """The description in force and the account that pays. Errors: what is missing."""

    def complete(self, spec: Spec, _version: DomainVersion, /) -> Spec:
        """The spec with what it leaves open."""
        return spec

    @classmethod
    @abstractmethod
    def plan_of(cls, run: SynthesisRun, read: DomainReader, /) -> PlanT:
        """The plan of a run, stored or not, by its own fields: the same in the web and in the worker, which
        reads descriptions afresh. Errors: InputError, PrivacyError."""

    def require(self, plan: PlanT) -> None:
        """See that the plan is what is asked for."""

    def admit(self, proposal: Proposal[Any, PlanT]) -> Mapping[str, Any]:
        """What lets them have it, locked before the account is: further fields of the row of its kind.
        Errors: its refusal."""
        return {}

    def require_together(self, run: SynthesisRun) -> None:
        """See that the tables of a run belong together, once they are taken: a hook of what reads several."""

    def submitted(self, actor: User) -> None:
        """What else is kept of the request, in its transaction, after all locks of the run."""

    # --- the same for all kinds -----------------------------------------------------------------------------
    def propose(self: RequestT) -> Proposal[RequestT, Any]:
        """Plan it, from public facts. Errors: what is missing or wrong."""
        version, account = self.basis()
        asked = self.asked()
        asked = replace(asked, spec=self.complete(asked.spec, version))
        spec, dataset = asked.spec.to_json(), asked.tables[0].dataset
        # Numbers of rows that were rolled back are given again: digests and specs tell them apart.
        stated = [version.pk, version.digest, rule_of(account), spec, asked.fields]
        key = json.dumps(stated, sort_keys=True, default=str)
        row = {"dataset": dataset, "domain_version": version, "spec": spec}
        plan = _planned(type(self), _Fixed(key=key, row=row, fields=asked.fields))
        self.require(plan)
        price = price_of(plan, account)
        return Proposal(
            request=self, asked=asked, account=account, row=row, plan=plan, price=price
        )

    def is_of(self, run: SynthesisRun) -> bool:
        """Whether an earlier run with the same key is what is asked for now: nobody gets another one than
        they ask for. What was filled in when it was asked for may be another value by now."""
        asked = self.asked()
        spec = json.loads(json.dumps(asked.spec.to_json()))
        given, stored = spec["parameters"], run.spec["parameters"]
        given |= {
            name: stored[name] for name in self.filled_in & stored.keys() if not given.get(name)
        }
        own = self.own_row._default_manager.filter(run=run).first()
        fields = {name: getattr(own, name, None) for name in asked.fields}
        stated = (asked.tables[0].dataset, spec, asked.fields)
        return own is not None and (run.dataset, run.spec, fields) == stated


RequestT = TypeVar("RequestT", bound=PaidRequest[Any])


@dataclass(frozen=True, kw_only=True)
class _Fixed:
    """What fixes a plan. key: of all of it."""

    key: str
    row: Mapping[str, Any] = field(compare=False)
    fields: Mapping[str, Any] = field(compare=False)


@lru_cache(maxsize=KEPT)
def _planned(kind: type[PaidRequest[Any]], fixed: _Fixed) -> Any:
    """What a form showed is not planned once more when its button is pressed. The worker plans again: what is
    charged is what the engine plans then."""
    run = SynthesisRun(**fixed.row)
    kind.own_row(**{"run": run, **fixed.fields})  # which the run has from here on
    return kind.plan_of(run, domain_of)


def rule_of(account: BudgetAccount) -> EngineRule:
    """How an account adds up losses, in the engine's words."""
    return "zcdp" if account.rule == Rule.ZCDP else "basic"


def price_of(plan: PricedPlan, account: BudgetAccount) -> Amount:
    """What a plan costs in the currency of an account, rounded up."""
    return Amount(**plan.cost(rule_of(account))._asdict())


def usual_name(dataset: Dataset, title: str, epsilon: Fraction) -> str:
    """The name of a run that nobody named: `Adult: Bayesian network, ε 1, 2026-11-29`, cut to the length that
    names have."""
    longest = SynthesisRun._meta.get_field("name").max_length or 0
    ending = f": {title}, ε {plain(epsilon)}, {timezone.localdate():%Y-%m-%d}"
    return dataset.name[: longest - len(ending)] + ending
