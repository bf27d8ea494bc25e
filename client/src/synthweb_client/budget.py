"""Budget: accounts, their entries, and requests that custodians decide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from synthweb_client import documents
from synthweb_client.transport import Transport


@dataclass(frozen=True, kw_only=True)
class AccountFacts:
    """The budget of one population: cap = held + charged + free. rule: `basic` counts epsilon and delta,
    `zcdp` rho. datasets: codes of those that spend from it."""

    code: str
    name: str
    rule: str
    relation: str
    max_records: int
    cap: documents.Amount
    held: documents.Amount
    charged: documents.Amount
    datasets: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One movement of budget. amount: None of exact counts that were published elsewhere. hash: of this entry
    and `previous_hash`."""

    sequence: int
    kind: str
    amount: documents.Amount | None
    dataset_code: str
    run_code: str
    actor: str
    reason: str
    at: datetime
    previous_hash: str
    hash: str


@dataclass(frozen=True, kw_only=True)
class RequestFacts:
    """A request for budget and what became of it. account: None before it is granted, unless one was
    named."""

    code: str
    dataset: str
    account: str | None
    rule: str
    amount: documents.Amount
    reason: str
    state: str
    requested_by: str
    decided_by: str | None
    decision_reason: str
    created_at: datetime
    decided_at: datetime | None


class Account:
    """An account. facts: as of when it was fetched."""

    def __init__(self, transport: Transport, facts: AccountFacts) -> None:
        self._transport, self.facts = transport, facts

    def __repr__(self) -> str:
        return f"Account({self.facts.code!r}, {self.facts.name!r})"

    def entries(self) -> tuple[Entry, ...]:
        """Its entries, the newest first, each with its link in the chain."""
        return tuple(self._transport.every("accounts", self.facts.code, "entries", kind=Entry))


class BudgetRequest:
    """A request for budget. facts: as of when they were last fetched."""

    def __init__(self, transport: Transport, facts: RequestFacts) -> None:
        self._transport, self.facts = transport, facts

    def __repr__(self) -> str:
        return f"BudgetRequest({self.facts.code!r}, {self.facts.state})"

    def grant(
        self,
        reason: str,
        *,
        epsilon: str | None = None,
        delta: str | None = None,
        rho: str | None = None,
        account: str | None = None,
        name: str | None = None,
        lapses_on: str | None = None,
        key: str | None = None,
    ) -> BudgetRequest:
        """Grant it: as asked, unless amounts are given. For custodians who did not ask for it themselves; the
        token needs the scope `grant`. account: code of one of the same people. name: of a new account.
        lapses_on: the day, as 2027-12-31, from which on the unspent part cannot be spent."""
        body = {
            "reason": reason,
            "epsilon": epsilon,
            "delta": delta,
            "rho": rho,
            "account": account,
            "name": name,
            "lapses_on": lapses_on,
        }
        given = {field: value for field, value in body.items() if value is not None}
        return self._decide("grant", given, key)

    def refuse(self, reason: str, *, key: str | None = None) -> BudgetRequest:
        """Refuse it; the steward reads the reason. The token needs the scope `grant`."""
        return self._decide("refuse", {"reason": reason}, key)

    def _decide(self, what: str, body: dict[str, str], key: str | None) -> BudgetRequest:
        address = ("budget-requests", self.facts.code, what)
        answer = self._transport.post(*address, body=body, key=key)
        self.facts = documents.read(answer.content, RequestFacts)
        return self
