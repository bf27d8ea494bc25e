"""Grants that expire: which part of each is unspent.

A movement is paid by the grants that expire first, then by those that never do. What a run still holds on the
day stays with the run; if the run gives it back later, it lapses then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from synthweb.ledger.amounts import CURRENCIES, Amount
from synthweb.ledger.models import LedgerEntry

Kind = LedgerEntry.Kind


@dataclass
class UnspentGrants:
    """The unspent part of every grant while entries are played through, by the grant's number in its
    account."""

    unspent: dict[int, Amount] = field(default_factory=dict)
    ends: dict[int, date | None] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)  # hash of a grant → its number
    _holds: dict[str, dict[int, Amount]] = field(
        default_factory=dict
    )  # run → its parts by grant

    def play(self, entry: LedgerEntry) -> None:
        """The next entry of the account."""
        amount = Amount(**{currency: getattr(entry, currency) for currency in CURRENCIES})
        if entry.kind == Kind.GRANT:
            self._numbers[entry.hash] = entry.sequence
            self.unspent[entry.sequence] = amount
            self.ends[entry.sequence] = entry.lapses_on
        elif entry.kind == Kind.HOLD:
            self._holds[entry.run_code] = self._take(amount)
        elif entry.kind == Kind.RELEASE:
            for number, part in self._holds.pop(entry.run_code, {}).items():
                self.unspent[number] += part
        elif entry.kind == Kind.LAPSE:
            number = self._numbers[entry.evidence]
            self.unspent[number] -= amount

    def unspent_of(self, grant_hash: str) -> Amount:
        """The unspent part of one grant; KeyError if no grant has that hash."""
        return self.unspent[self._numbers[grant_hash]]

    def end_of(self, grant_hash: str) -> date | None:
        """The day from which on one grant cannot be spent; None: it never ends."""
        return self.ends[self._numbers[grant_hash]]

    def due(self, today: date) -> list[int]:
        """The numbers of the grants that expired and are not fully spent or lapsed, in the order in which
        they expired."""
        return [
            number
            for number in self._in_order()
            if (end := self.ends[number]) is not None
            and end <= today
            and any(self.unspent[number].as_dict.values())
        ]

    def _in_order(self) -> list[int]:
        return sorted(self.unspent, key=lambda number: (self.ends[number] or date.max, number))

    def _take(self, amount: Amount) -> dict[int, Amount]:
        """The parts of an amount by grant."""
        parts: dict[int, Amount] = {}
        wanted = amount
        for number in self._in_order():
            part = Amount(
                **{
                    name: min(getattr(wanted, name), getattr(self.unspent[number], name))
                    for name in CURRENCIES
                }
            )
            if any(part.as_dict.values()):
                parts[number] = part
                self.unspent[number] -= part
                wanted -= part
        return parts


def play(entries: Iterable[LedgerEntry]) -> UnspentGrants:
    """All entries of an account, oldest first."""
    grants = UnspentGrants()
    for entry in entries:
        grants.play(entry)
    return grants
