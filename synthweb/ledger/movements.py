"""The two writes that every service of the ledger comes down to: moving the sums, and appending the entry
that says so. Both want the account locked, in the caller's transaction."""

from __future__ import annotations

from datetime import date

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from synthweb.ledger import chain
from synthweb.ledger.amounts import CURRENCIES, Amount
from synthweb.ledger.models import BudgetAccount, LedgerEntry


def lock(pk: int) -> BudgetAccount:
    # NO KEY: rows that refer to the account (runs, coverages) may be written meanwhile; plain FOR UPDATE
    # would make two submissions, each with its run row written, wait for each other.
    no_key = transaction.get_connection().features.has_select_for_no_key_update
    return BudgetAccount.objects.select_for_update(no_key=no_key).get(pk=pk)


def move(
    account: BudgetAccount,
    *,
    cap: Amount | None = None,
    held: Amount | None = None,
    charged: Amount | None = None,
) -> bool:
    """Add to the sums, on the condition that the cap still covers them; False if it does not."""
    cap, held, charged = cap or Amount(), held or Amount(), charged or Amount()
    changes: dict[str, object] = {}
    conditions: dict[str, object] = {}
    # One conditional UPDATE decides and writes. Sums that are read and compared in Python would
    # let two submissions spend the same budget.
    for name in CURRENCIES:
        more = getattr(held, name) + getattr(charged, name) - getattr(cap, name)
        conditions[f"{name}_cap__gte"] = F(f"{name}_held") + F(f"{name}_charged") + more
        # Nobody gives back or charges more than is held.
        conditions[f"{name}_held__gte"] = -getattr(held, name)
        for part, amount in (("cap", cap), ("held", held), ("charged", charged)):
            if getattr(amount, name):
                changes[f"{name}_{part}"] = F(f"{name}_{part}") + getattr(amount, name)
    if BudgetAccount.objects.filter(pk=account.pk, **conditions).update(**changes) == 0:
        return False
    account.refresh_from_db()
    return True


def append(
    account: BudgetAccount,
    kind: str,
    amount: Amount,
    *,
    actor: str,
    lapses_on: date | None = None,
    **facts: str,
) -> LedgerEntry:
    """The next link of the account's chain; the account is locked."""
    # The lock makes this the last entry; a unique constraint stands behind it.
    last = LedgerEntry.objects.filter(account=account).order_by("-sequence").first()
    entry = LedgerEntry(
        account=account,
        sequence=last.sequence + 1 if last else 1,
        kind=kind,
        actor=actor,
        lapses_on=lapses_on,
        at=timezone.now(),
        previous_hash=last.hash if last else chain.first_hash(account),
        **amount.as_dict,
        **facts,
    )
    entry.hash = chain.seal(entry, account_code=account.code)
    entry.save()
    return entry
