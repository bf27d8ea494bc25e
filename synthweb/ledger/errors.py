"""What the ledger refuses, and why.

Conflict
└── LedgerConflict
    ├── Overspend          the account has less left than asked; `remaining` and `requested` are exact
    ├── Earmarked          what is left is set aside for a purpose
    ├── ShareReached       the plan that a run names has less left for this year
    ├── YearlyLimitReached the account has a limit for this calendar year
    ├── OlderThanCheckpoint  a signed checkpoint is ahead of the account: its database was set back
    ├── AlreadyResolved    the hold was charged or released before, the other way
    ├── NothingHeld        there is no hold of that run
    ├── DifferentHold      the run holds something else already
    ├── NotCovered         the dataset does not spend from that account
    ├── UnitMismatch       account and plan protect different units, or under different relations
    ├── RuleMismatch       the amount is in a currency that the account does not count
    ├── AlreadyDecided     the request was granted or refused before
    ├── AlreadyApproved    the custodian approved the same before: a second person is needed
    ├── OpenRequest        the dataset has a request waiting
    ├── SameContent        another dataset with the same content has a budget already
    └── ChainBroken        the account's entries do not fit together: nothing is signed
Forbidden
├── NotCustodian           only a custodian of the organisation decides
└── OwnRequest             nobody decides what they asked for themselves
"""

from __future__ import annotations

from synthweb.ledger.amounts import Amount, shortfalls
from synthweb.lib.errors import Conflict, Forbidden


class LedgerConflict(Conflict):
    """The state of the ledger does not allow it."""


class Overspend(LedgerConflict):
    """The account has less left than asked."""

    code = "overspend"

    def __init__(self, *, remaining: Amount, requested: Amount, rule: str) -> None:
        self.remaining, self.requested = remaining, requested
        self.shortfalls = shortfalls(remaining=remaining, requested=requested, rule=rule)
        super().__init__(
            "; ".join(shortfall.sentence for shortfall in self.shortfalls)
            or f"The budget has {remaining.text(rule)} left, and this costs {requested.text(rule)}",
            repair="spend less, or ask for more budget",
            # The form shows the sentence at the first currency that runs out.
            field=next((shortfall.currency for shortfall in self.shortfalls), None),
        )


class Earmarked(LedgerConflict):
    """The remainder of the account is set aside for a purpose."""

    code = "earmarked"


class ShareReached(LedgerConflict):
    """The share of this year in a plan does not cover the run."""

    code = "share-reached"


class YearlyLimitReached(LedgerConflict):
    """The account has a limit for this calendar year."""

    code = "yearly-limit-reached"


class OlderThanCheckpoint(LedgerConflict):
    """A signed checkpoint that was kept elsewhere names an entry that the account does not have."""

    code = "older-than-checkpoint"


class AlreadyResolved(LedgerConflict):
    code = "already-resolved"


class NothingHeld(LedgerConflict):
    code = "nothing-held"


class DifferentHold(LedgerConflict):
    code = "different-hold"


class NotCovered(LedgerConflict):
    code = "not-covered"


class UnitMismatch(LedgerConflict):
    code = "unit-mismatch"


class RuleMismatch(LedgerConflict):
    code = "rule-mismatch"


class AlreadyDecided(LedgerConflict):
    code = "already-decided"


class AlreadyApproved(LedgerConflict):
    code = "already-approved"


class OpenRequest(LedgerConflict):
    code = "open-request"


class SameContent(LedgerConflict):
    code = "same-content"


class NotCustodian(Forbidden):
    code = "not-custodian"


class OwnRequest(Forbidden):
    code = "own-request"


class ChainBroken(LedgerConflict):
    code = "chain-broken"
