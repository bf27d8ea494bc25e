"""The ledger's hash chains, one per account, and the proof that an account's sums are what its entries say.

A chain starts from the hash of what the account can never change: its code, organisation, rule, unit and
relation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC

from django.db import transaction

from synthweb.ledger import lapses
from synthweb.ledger.amounts import CURRENCIES, Amount
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib import chain, hashing
from synthweb.lib.chain import ChainLink, ChainVerdict

__all__ = ["ChainVerdict", "fields", "first_hash", "identity", "seal", "verify"]

Kind = LedgerEntry.Kind


def identity(account: BudgetAccount) -> dict[str, object]:
    """What was fixed when the account was opened."""
    return {
        "account": account.code,
        "organisation": account.organisation.code,
        "rule": account.rule,
        "relation": account.relation,
        "max_records": account.max_records,
        "unit_column": account.unit_column,
        "invariants": account.invariants,
        "unit_spelling": account.unit_spelling,
        "identifier_rules": account.identifier_rules,
    }


def first_hash(account: BudgetAccount) -> str:
    """The hash before the first entry: over what was fixed when the account was opened."""
    return hashing.digest(identity(account))


def fields(entry: LedgerEntry, *, account_code: str) -> dict[str, object]:
    """What an entry's hash covers, besides its number and the hash before it."""
    # These names never change: the hashes of stored entries cover them.
    return {
        "account": account_code,
        "kind": str(entry.kind),
        # Exact counts have no loss that a number could state.
        **({} if entry.kind == Kind.OUTSIDE else _amounts(entry)),
        "dataset": entry.dataset_code,
        "run": entry.run_code,
        "actor": entry.actor,
        "reason": entry.reason,
        "evidence": entry.evidence,
        # Only of a grant that expires.
        **({} if entry.lapses_on is None else {"lapses_on": entry.lapses_on.isoformat()}),
        "at": entry.at,
    }


def _amounts(entry: LedgerEntry) -> dict[str, object]:
    return {currency: getattr(entry, currency) for currency in CURRENCIES}


def seal(entry: LedgerEntry, *, account_code: str) -> str:
    """The hash that belongs to `entry`."""
    return chain.seal(
        sequence=entry.sequence,
        fields=fields(entry, account_code=account_code),
        previous_hash=entry.previous_hash,
    )


@transaction.atomic
def verify(account: BudgetAccount) -> ChainVerdict:
    """Recompute the chain, replay every movement, and compare the sums with the account's columns."""
    no_key = transaction.get_connection().features.has_select_for_no_key_update
    account = BudgetAccount.objects.select_for_update(no_key=no_key).get(
        pk=account.pk
    )  # sums and entries of one moment
    replay = _Replay(account)
    verdict = chain.walk(replay.links(), first=first_hash(account))
    return ChainVerdict(
        length=verdict.length, head=verdict.head, faults=(*verdict.faults, *replay.faults())
    )


class _Replay:
    """Plays the entries through, as the services should have done."""

    def __init__(self, account: BudgetAccount) -> None:
        self.account = account
        self.cap, self.held, self.charged = Amount(), Amount(), Amount()
        self.holds: dict[str, Amount] = {}
        self.resolved: set[str] = set()
        self.problems: list[str] = []
        self.grants = lapses.UnspentGrants()

    def links(self) -> Iterator[ChainLink]:
        entries = LedgerEntry.objects.filter(account=self.account).order_by("sequence")
        for entry in entries.iterator(chunk_size=2000):
            self._play(entry)
            yield ChainLink(
                sequence=entry.sequence,
                fields=fields(entry, account_code=self.account.code),
                previous_hash=entry.previous_hash,
                hash=entry.hash,
            )

    def faults(self) -> list[str]:
        """After the last entry: what went wrong on the way, and which columns differ from the sums."""
        differing = [
            (
                f"{currency}_{part} is {getattr(self.account, f'{currency}_{part}')}, the entries add up to "
                f"{total}"
            )
            for part, amount in (
                ("cap", self.cap),
                ("held", self.held),
                ("charged", self.charged),
            )
            for currency, total in amount.as_dict.items()
            if getattr(self.account, f"{currency}_{part}") != total
        ]
        return [*self.problems, *differing]

    def _play(self, entry: LedgerEntry) -> None:
        amount = Amount(**{currency: getattr(entry, currency) for currency in CURRENCIES})
        where = f"entry {entry.sequence}"
        if not amount.fits(self.account.rule):
            self.problems.append(
                f"{where}: counts what an account under the rule {self.account.rule} does not"
            )
        if entry.kind == Kind.GRANT:
            self.cap += amount
        elif entry.kind == Kind.HOLD:
            self._hold(entry.run_code, amount, where)
        elif entry.kind == Kind.LAPSE:
            self._lapse(entry, amount, where)
        elif entry.kind == Kind.OUTSIDE:
            if amount != Amount():
                self.problems.append(f"{where}: exact counts have an amount")
        else:
            self._resolve(entry, amount, where)
        # After every entry: a later grant would hide that an account was overspent.
        if (self.cap - self.held - self.charged).is_negative_somewhere:
            self.problems.append(f"{where}: held and charged are above the cap")
        with contextlib.suppress(KeyError):  # a LAPSE of no grant, which is a problem already
            self.grants.play(entry)

    def _lapse(self, entry: LedgerEntry, amount: Amount, where: str) -> None:
        try:
            unspent = self.grants.unspent_of(entry.evidence)
            end = self.grants.end_of(entry.evidence)
        except KeyError:
            unspent, end = Amount(), None
        if end is None or entry.at.astimezone(UTC).date() < end:
            self.problems.append(f"{where}: no grant had expired")
        elif unspent != amount:
            self.problems.append(f"{where}: another amount lapses than was unspent")
        self.cap -= amount

    def _hold(self, run_code: str, amount: Amount, where: str) -> None:
        if run_code in self.holds:
            self.problems.append(f"{where}: run {run_code} holds a second time")
        self.holds[run_code] = amount
        self.held += amount

    def _resolve(self, entry: LedgerEntry, amount: Amount, where: str) -> None:
        if entry.run_code in self.resolved:
            self.problems.append(
                f"{where}: run {entry.run_code} was charged or released before"
            )
        if self.holds.get(entry.run_code) != amount:
            self.problems.append(f"{where}: run {entry.run_code} does not hold that amount")
        # Played as stored, right or wrong: the columns are compared with these sums.
        self.resolved.add(entry.run_code)
        self.held -= amount
        if entry.kind == Kind.CHARGE:
            self.charged += amount
