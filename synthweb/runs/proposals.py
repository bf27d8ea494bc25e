"""What may be paid for: a request as somebody makes it, and the proposal that comes of it, with its plan and its price.

Public facts only. The worker's half of a kind is `paid_job.PaidJob`, which the web process never imports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from synth_engine.domain import Domain
from synth_engine.spec import Spec
from synthweb.accounts.models import User
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount
from synthweb.runs.models import SynthesisRun


class PaidPlan(Protocol):
    """What any plan says that is paid for."""

    @property
    def domain(self) -> Domain:
        """Whom it protects, and what of them is described."""

    @property
    def digest(self) -> str:
        """SHA-256 over what fixes it."""


PlanT_co = TypeVar("PlanT_co", bound=PaidPlan, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Proposal(Generic[PlanT_co]):
    """What may be asked for: everything a submission needs, nothing of it private. price: in the account's currency, rounded up. name: for
    who gives none. earmark: the code of the part of the budget that pays; empty: what is free. others: the datasets that are read besides. table_number:
    the version of the table that is read; None: the one in force. fields: what the row has of this kind alone."""

    dataset: Dataset
    account: BudgetAccount
    version: DomainVersion
    spec: Spec
    plan: PlanT_co
    price: Amount
    name: str
    earmark: str = ""
    others: tuple[Dataset, ...] = ()
    table_number: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def require_together(self, run: SynthesisRun) -> None:
        """See that the tables of a run belong together, once they are taken: a hook of what reads several."""


ProposalT = TypeVar("ProposalT", bound="Proposal[Any]")


class PaidRequest(ABC, Generic[ProposalT]):
    """What somebody asks for and pays for: the half of a kind that the web process has."""

    @abstractmethod
    def propose(self) -> ProposalT:
        """Plan it, from public facts. Errors: what is missing or wrong."""

    @abstractmethod
    def is_of(self, run: SynthesisRun) -> bool:
        """Whether an earlier run with the same key is what is asked for now: nobody gets another one than they ask for."""

    def admit(self, proposal: ProposalT) -> Mapping[str, Any]:
        """What lets them have it, locked before the account is: further fields of the row. Errors: its refusal."""
        return {}

    def submitted(self, actor: User) -> None:
        """What else is kept of the request, in its transaction, after all locks of the run."""
